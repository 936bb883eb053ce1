"""How a trained model behaves on the documents' sentences: negation, unknown words, word order, label order.

"Transformers from Scratch with Pytorch" tries these on its command line. The training sentences here are made from a
few patterns of the same kind; the sentences asked about are not among them.
"""

from itertools import product

import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from glassformer.data.sources import Sources
from glassformer.data.table import Table
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.answers import LabelAnswers
from glassformer.targets.labels.target import labels_of
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model

ASKED = {
    "i am bad": "negative",
    "this is good": "positive",
    "this is happy": "positive",
    "i am not at all happy": "negative",
    "i am not at all bad": "positive",
    "this was not happy": "negative",
}
ORDER_DECIDES = {"i am good not bad": "positive", "i am bad not good": "negative"}


def labelled() -> dict[str, str]:
    """Every pattern filled with every word, but for the sentences that are asked about later."""
    signs = {"good": 1, "happy": 1, "right": 1, "bad": -1, "sad": -1, "wrong": -1}
    signed: dict[str, int] = {}
    for start, (word, sign) in product(("i am", "i was", "this is", "this was", "we are"), signs.items()):
        for middle, turn in (("", 1), ("very ", 1), ("not ", -1), ("not at all ", -1), ("not very ", -1)):
            signed[f"{start} {middle}{word}"] = sign * turn
        for other, other_sign in signs.items():
            if other_sign != sign:
                signed[f"{start} {word} not {other}"] = sign
    left_out = ASKED | ORDER_DECIDES
    return {text: "positive" if sign > 0 else "negative" for text, sign in signed.items() if text not in left_out}


def train(sentences: dict[str, str]) -> Predictor:
    frame = pl.DataFrame({"text": list(sentences), "label": list(sentences.values())}).with_row_index("row", offset=1)
    table = Table(frame=frame, source="sentences", text_column="text", label_column="label", multilabel=False)
    recipe = load_recipe("bui-dang-corrected", overrides={"validation.fraction": 0.0, "training.epochs": 6})
    return Predictor(train_model(Sources(train=table), recipe))


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return train(labelled())


def answers(predictor: Predictor, texts: list[str]) -> LabelAnswers:
    return predictor.answer(texts)


def test_the_documents_sentences_are_answered_as_it_prints(predictor: Predictor) -> None:
    assert dict(zip(ASKED, answers(predictor, list(ASKED)).predictions(), strict=True)) == ASKED


def test_the_same_words_in_another_order_are_answered_otherwise(predictor: Predictor) -> None:
    """No bag of words can fit both: their counts are equal."""
    first, second = CountVectorizer().fit_transform(ORDER_DECIDES).toarray()
    assert first.tolist() == second.tolist()
    found = answers(predictor, list(ORDER_DECIDES)).predictions()
    assert dict(zip(ORDER_DECIDES, found, strict=True)) == ORDER_DECIDES


def test_an_unknown_word_is_named_and_the_rest_is_answered(predictor: Predictor) -> None:
    """The document's program refuses "it is happy", as "it" is not in its data file; ours answers, and says so."""
    found = answers(predictor, ["it is happy", "this is good"])
    assert dict(found.unknown) == {"it": 1}
    assert found.predictions()[1] == "positive"


def test_capitals_are_the_same_words(predictor: Predictor) -> None:
    """The document shows an answer to "I am bad"; its program as printed would refuse it, as it knows only "i"."""
    found = answers(predictor, ["I am bad", "i am bad"])
    assert not found.unknown
    assert found.probs[0].tolist() == pytest.approx(found.probs[1].tolist(), abs=1e-6)


def test_the_order_of_the_labels_in_the_data_changes_no_answer(predictor: Predictor) -> None:
    sentences = labelled()
    begins_with_positive = dict(sorted(sentences.items(), key=lambda item: item[1], reverse=True))
    other = train(begins_with_positive)
    assert (
        labels_of(other.trained.config.target).labels
        == labels_of(predictor.trained.config.target).labels
        == ("negative", "positive")
    )
    assert dict(zip(ASKED, answers(other, list(ASKED)).predictions(), strict=True)) == ASKED
