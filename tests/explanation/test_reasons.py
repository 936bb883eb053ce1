import dataclasses

import pytest

from glassformer.explanation.explain import explain
from glassformer.explanation.explanation import Explanation
from glassformer.explanation.reasons import reason_columns, reasons_table
from glassformer.explanation.shares import WordShare
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.explanation import AskedLabel
from tests.prediction.samples import small_trained_model


@pytest.fixture(scope="module")
def found() -> Explanation:
    shares = [("film", 0.5), (",", -0.25), ("film", -0.125), ('"', 1.0), ("1,5", -0.5)]
    words = [
        WordShare(word=word, start=place, end=place, shares={"counting": share})
        for place, (word, share) in enumerate(shares)
    ]
    explained = explain(Predictor(small_trained_model()), "the plot is thin", faithfulness=False)
    return dataclasses.replace(explained, words=tuple(words), unlike_training=True)


def test_a_word_is_listed_once_and_punctuation_stands_in_quotes(found: Explanation) -> None:
    empty, row = reasons_table(AskedLabel, [None, found]).to_dicts()
    assert list(row) == list(reason_columns(AskedLabel))
    assert row["words_for"] == """'"' +1.00, film +0.38"""
    assert row["words_against"] == "'1,5' −0.50, ',' −0.25"
    assert row["unlike_training"] is True
    assert set(empty.values()) == {None}


def test_words_can_be_records(found: Explanation) -> None:
    empty, row = reasons_table(AskedLabel, [None, found], nested=True).to_dicts()
    assert row["words_for"] == [{"word": '"', "share": 1.0}, {"word": "film", "share": 0.375}]
    assert row["words_against"] == [{"word": "1,5", "share": -0.5}, {"word": ",", "share": -0.25}]
    assert empty["words_for"] is None
