"""Frames and dictionaries in the place of texts."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from glassformer import TextClassifier
from glassformer.data.in_memory_rows import as_read, learned_rows
from glassformer.errors import InputError
from tests.estimators.samples import ALONE, BINARY, TEXTS, small

ROWS = [{"id": number, "review": text, "shop": "Ulm" if number % 3 else "Rom"} for number, text in enumerate(TEXTS)]
FRAME = pl.DataFrame(ROWS)


@pytest.fixture(scope="module")
def of_one_column() -> TextClassifier:
    return small(epochs=4, learning_rate=1e-2, text="review").fit(FRAME, BINARY)


def test_one_text_of_a_frame_is_a_text(of_one_column: TextClassifier, tmp_path: Path) -> None:
    """A model of one column reads plain texts too, as on the command line: there is nothing else in a row."""
    expected = small(epochs=4, learning_rate=1e-2).fit(TEXTS, BINARY).predict_proba(TEXTS)
    loaded = TextClassifier.load(of_one_column.save(tmp_path / "m"))
    assert (loaded.text, loaded.columns) == ("review", None)
    for ours in (of_one_column, loaded):
        for given in (FRAME, ROWS, TEXTS, FRAME["review"]):
            assert np.array_equal(ours.predict_proba(given), expected)
    assert of_one_column.score(FRAME, BINARY) == 1.0
    assert loaded.explain(ROWS[0]).text == TEXTS[0]
    assert loaded.explain(TEXTS[0]).label == 1


def test_a_frame_without_the_column_of_the_text(of_one_column: TextClassifier) -> None:
    with pytest.raises(InputError, match=r"the columns \['id', 'shop'\]; this model reads the text 'review'"):
        of_one_column.predict(FRAME["id", "shop"])
    with pytest.raises(InputError, match=r"rows\[1\] has no 'review'; this model reads the text 'review'"):
        of_one_column.predict([ROWS[0], {"text": "x"}])
    for rows in (FRAME, ROWS):
        with pytest.raises(InputError, match="name the column of the texts, as in `text='review'`"):
            small().fit(rows, BINARY)
    with pytest.raises(InputError, match="`text=` names 'body'"):
        small(text="body").fit(FRAME, BINARY)


def test_a_series_of_pandas_is_a_row() -> None:
    class Series:
        def to_dict(self) -> dict[str, Any]:
            return {"a": "x", "b": "y"}

    _, inputs, _ = learned_rows([{"a": "x", "b": "y"}], ["a", "b"], None)
    assert inputs is not None
    assert as_read([Series()], inputs, "a") == as_read([{"b": "y", "a": "x"}], inputs, "a")


def test_rows_of_several_inputs_keep_their_names(tmp_path: Path) -> None:
    pairs = FRAME.with_columns(answer=pl.col("review").str.to_uppercase())
    classifier = small(epochs=1, text=["review", "answer"], columns="shop")
    scores = cross_val_score(classifier, pairs, BINARY, cv=2)
    assert scores.shape == (2,)
    classifier.fit(pairs, BINARY)
    loaded = TextClassifier.load(classifier.save(tmp_path / "m"))
    assert (clone(loaded).text, loaded.columns) == (["review", "answer"], ["shop"])
    assert np.array_equal(loaded.predict_proba(pairs.to_dicts()), classifier.predict_proba(pairs))
    with pytest.raises(InputError, match="the frame has no column 'answer'; this model reads the texts 'review' and"):
        loaded.predict(FRAME)
    with pytest.raises(InputError, match=r"rows\[2\]: the text 'review' is 5, not a string"):
        loaded.predict([*pairs.to_dicts()[:2], {"review": 5, "answer": "x", "shop": None}])
    further = small(epochs=1, init=str(tmp_path / "m"), settings=None).set_params(preset=None)
    further.fit(pairs[:12].with_columns(shop=pl.lit("Wien")), BINARY[:12])  # a category that the weights do not know
    assert further.predictor_.trained.config.inputs == classifier.predictor_.trained.config.inputs
    with pytest.raises(InputError, match="the weights to start from read the texts 'review' and 'answer' and the col"):
        further.set_params(text="review").fit(pairs, BINARY)
    assert loaded.settings is None
    assert classifier.settings == ALONE
