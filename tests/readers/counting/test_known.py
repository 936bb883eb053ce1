"""What is found at once is what `ngrams.py` lists one by one."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.inputs import SEPARATOR, mark
from glassformer.readers.counting.known import finder
from glassformer.readers.counting.ngrams import END, NGRAMS, START, Family, field_of, words_of

PLAIN = st.lists(st.sampled_from(["a", "b", "ana", "red", "½", "!"]), max_size=6).map(" ".join)
ROWS = st.tuples(st.sampled_from(["", mark("shop", "New York")]), st.lists(PLAIN, min_size=1, max_size=3)).map(
    lambda row: row[0] + SEPARATOR.join(row[1])
)


@pytest.mark.parametrize("family", list(NGRAMS))
@given(texts=st.lists(ROWS, max_size=4), known=ROWS)
def test_each_text_has_its_known_ngrams_wherever_it_stands(family: Family, texts: list[str], known: str) -> None:
    ngrams = list(dict.fromkeys(NGRAMS[family](words_of(known))))
    words = list(map(words_of, texts))
    found = finder(family, ngrams)(words)
    for text, (begin, end) in zip(words, pairwise(np.cumsum([0, *map(len, words)])), strict=True):
        of_text = found.ngrams[(found.first >= begin) & (found.first < end)]
        listed = [ngram for ngram in NGRAMS[family](text) if ngram in ngrams]
        assert Counter(ngrams[number] for number in of_text) == Counter(listed)


@given(row=ROWS)
def test_the_places_of_a_run_are_its_words(row: str) -> None:
    words = words_of(row)
    ngrams = list(dict.fromkeys(NGRAMS["words"](words)))
    for number, first, last in zip(*finder("words", ngrams)([words]), strict=True):
        covered = words[first : last + 1]
        assert " ".join(covered) == ngrams[number].removeprefix(f"{START} ").removesuffix(f" {END}")
        assert len(set(map(field_of, covered))) == 1


@given(row=ROWS)
def test_the_place_of_a_piece_is_its_word(row: str) -> None:
    words = words_of(row)
    ngrams = list(dict.fromkeys(NGRAMS["characters"](words)))
    for number, first, last in zip(*finder("characters", ngrams)([words]), strict=True):
        assert first == last
        assert ngrams[number] in NGRAMS["characters"]([words[first]])
