from collections.abc import Sequence

import numpy as np
import pytest

from glassformer.data.arrays import DoubleArray
from glassformer.explanation.faithfulness import measure_faithfulness
from glassformer.explanation.words import TextInWords

WORTH = {"superb": 3.0, "warm": 1.0, "dull": -2.0}
TEXT = TextInWords.cut("a superb and warm film if a bit dull")
SHARES = np.array([WORTH.get(word.text, 0.0) for word in TEXT.words])


def margins(texts: Sequence[str]) -> DoubleArray:
    """A model that adds up the worth of words."""
    return np.array([sum(WORTH.get(word, 0.0) for word in text.split()) for text in texts])


def test_the_true_reasons_beat_random_ones() -> None:
    found = measure_faithfulness(TEXT, SHARES, margins)
    assert found is not None
    assert found.score > 0.9
    assert found.comprehensiveness == pytest.approx((3 + 4 + 4 + 4) / 4)  # of 9 words 1, 2, 3 and 5 are deleted
    assert found.sufficiency == pytest.approx(2 - (3 + 4 + 4 + 4) / 4)
    assert found.random_comprehensiveness < 2


def test_the_opposite_of_the_reasons_does_worse_than_chance() -> None:
    found = measure_faithfulness(TEXT, -SHARES, margins)
    assert found is not None
    assert found.score < 0.1


def test_a_model_that_ignores_the_text_makes_all_rankings_equal() -> None:
    found = measure_faithfulness(TEXT, SHARES, lambda texts: np.ones(len(texts)))
    assert found is not None
    assert (found.comprehensiveness, found.sufficiency, found.score) == (0, 0, 0.5)


def test_three_words_are_too_few() -> None:
    assert measure_faithfulness(TextInWords.cut("not good !"), np.zeros(3), margins) is None
