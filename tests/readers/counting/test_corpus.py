from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.inputs import SEPARATOR, mark
from glassformer.readers.counting import corpus
from glassformer.readers.counting.corpus import Corpus
from glassformer.readers.counting.ngrams import NGRAMS, Family, words_of

TEXT = st.text(st.sampled_from("abA .é不"), max_size=14)
ROWS = st.builds(
    lambda values, texts: "".join(mark("c", value) for value in values) + SEPARATOR.join(texts),
    st.lists(st.sampled_from("xy"), max_size=2),
    st.lists(TEXT, min_size=1, max_size=3),
)
TEXTS = st.lists(TEXT, max_size=12) | st.lists(ROWS, max_size=12)


def one_after_another(family: Family, texts: list[str], fewest: int, step: int) -> tuple[list[str], list[Counter[str]]]:
    """The n-grams in the order in which they first occur, and the counts of each text."""
    counted = [Counter(NGRAMS[family](words_of(text))) for text in texts]
    texts_with = Counter(ngram for counts in counted[::step] for ngram in counts)  # keeps the order
    return [ngram for ngram, n in texts_with.items() if n >= fewest], counted


@given(texts=TEXTS, fewest=st.integers(1, 3), step=st.integers(1, 3), at_once=st.sampled_from([1, 4, 1_000]))
@pytest.mark.parametrize("family", list(NGRAMS))
def test_all_texts_at_once_are_counted_like_each_text(
    family: Family, texts: list[str], fewest: int, step: int, at_once: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "_WORDS_AT_ONCE", at_once)
        found = Corpus.of(texts).count(family, fewest, step=step)
    ngrams, counted = one_after_another(family, texts, fewest, step)
    assert found.named(np.arange(len(found.sizes))) == ngrams
    assert found.sizes.tolist() == [len(ngram.encode()) for ngram in ngrams]
    assert found.named(np.arange(1, len(ngrams), 2)) == ngrams[1::2]
    expected = [[counts[ngram] for ngram in ngrams] for counts in counted]
    assert found.matrix.toarray().tolist() == expected
    assert found.matrix.has_sorted_indices
    assert found.matrix.dtype == np.float32


def test_distinct_values() -> None:
    assert corpus.distinct(np.array([3, 1, 3, 2, 1])).tolist() == [1, 2, 3]
    assert corpus.distinct(np.array([], int)).tolist() == []
