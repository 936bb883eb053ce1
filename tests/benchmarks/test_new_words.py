from typing import Any

import numpy as np
import pytest

from benchmarks.new_words import OURS, UNKNOWN, over_words, summary


def test_intervals_are_over_words() -> None:
    """Two texts of word 0, of which one is right; three of word 2, all right; word 1 is the first in no text.

    Two words are drawn: both word 0 in a quarter of all draws, so that half is right, or both word 2, and all is.
    """
    found = over_words(np.array([1.0, 1, 0, 1, 1]), np.array([0, 2, 0, 2, 2]))
    assert found.value == pytest.approx(4 / 5)
    assert (found.low, found.high) == (0.5, 1.0)


def test_texts_of_one_word_say_no_more_than_one_text_of_it() -> None:
    rng = np.random.default_rng(3)
    values, first = rng.random(40), np.arange(40)
    once = over_words(values, first)
    often = over_words(np.repeat(values, 25), np.repeat(first, 25))
    assert (often.value, often.low, often.high) == pytest.approx((once.value, once.low, once.high))
    assert once.high - once.low > 0.1


def a_run(unknown: str, ours: str, **more: Any) -> dict[str, Any]:
    return {"first": [0, 2, 0, 2, 2], "correct": {UNKNOWN: unknown, OURS: ours}, "map": {}} | more


def test_figures_of_all_seeds() -> None:
    """Ours less the unknown token, both seeds' means: .5 and 0 in word 0's texts, 0, .5 and 0 in word 2's."""
    runs = [
        a_run("00111", "10110", learned=["a", "b", "c"], cosines={OURS: [0.25, 0.5, 0.75]}),
        a_run("01100", "01111", learned=["a", "c"], cosines={OURS: [0.75, 0.25]}),
    ]
    found = summary(runs)
    assert (found["test_texts"], found["test_words"], found["learned"]) == (5, 2, [3, 2])
    ours = found["conditions"][OURS]
    assert ours["by_seed"] == [3 / 5, 4 / 5]
    assert ours["accuracy"]["value"] == pytest.approx(7 / 10)
    assert ours["above_unknown"] == pytest.approx({"value": 1 / 5, "low": 1 / 6, "high": 1 / 4})
    assert ours["ours_above_it"] == {"value": 0, "low": 0, "high": 0}
    assert found["conditions"][UNKNOWN]["ours_above_it"] == ours["above_unknown"]
    assert ours["cosine"]["value"] == pytest.approx(1 / 2)
    assert "cosine" not in found["conditions"][UNKNOWN]
