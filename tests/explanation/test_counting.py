import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.explanation.exact import counted_shares
from glassformer.explanation.words import TextInWords
from glassformer.readers.counting.ngrams import NGRAMS, words_of
from glassformer.readers.counting.reader import CountingReader, NgramWeights

TEXTS = st.lists(st.sampled_from(["not", "Good", "½", "good!", "goodgood", "film", "<"]), max_size=8).map(" ".join)


def reader(n_classes: int) -> CountingReader:
    """Weights for all n-grams of a few texts."""
    random = np.random.default_rng(0)
    outputs = 1 if n_classes == 2 else n_classes
    families = []
    for family in NGRAMS:
        ngrams = tuple(dict.fromkeys(NGRAMS[family](words_of("not good film ½ good ! not not good"))))
        idf, tfidf, presence = (
            random.normal(size=(len(ngrams), *size)).astype(np.float32) for size in ((), (outputs,), (outputs,))
        )
        families.append(
            NgramWeights(
                family=family,
                ngrams=ngrams,
                idf=np.abs(idf) + np.float32(0.1),
                tfidf=tfidf,
                presence=presence if family == "words" else None,
            )
        )
    bias = random.normal(size=outputs).astype(np.float32)
    return CountingReader(families=tuple(families), bias=bias, n_classes=n_classes, settings={})


@pytest.mark.parametrize("n_classes", [2, 3])
@given(text=TEXTS)
def test_the_shares_add_up_to_the_logits(n_classes: int, text: str) -> None:
    found = counted_shares(reader(n_classes), TextInWords.cut(text))
    logits = reader(n_classes).scores([text])[0]
    assert found.words.sum(axis=0) + found.bias == pytest.approx(logits, abs=1e-5)
    assert found.logits.sum(axis=0) + found.bias == pytest.approx(logits, abs=1e-5)


def test_a_pair_of_words_is_shared_by_both() -> None:
    pair = NgramWeights(
        family="words",
        ngrams=("not good", "<start> not"),
        idf=np.ones(2, np.float32),
        presence=np.array([[-3.0], [1.0]], np.float32),
    )
    counting = CountingReader(families=(pair,), bias=np.zeros(1, np.float32), n_classes=2, settings={})
    found = counted_shares(counting, TextInWords.cut("Not good, not good"))
    assert found.words[:, 1].tolist() == pytest.approx([-0.375 + 0.5, -0.375, 0, -0.375, -0.375])
    assert found.ngrams == [("words", "not good"), ("words", "<start> not")]
    assert found.counts.tolist() == [2, 1]
