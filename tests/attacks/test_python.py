"""Frames, labels and names that Python programs give."""

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from glassformer import TextClassifier, TextRegressor, check_labels, score
from glassformer.errors import GlassformerError, InputError, UsageError
from tests.attacks.answer import LONGEST_ANSWER
from tests.trained import Trained

TEXTS = [f"a {('bad', 'good')[number % 2]} film {number}" for number in range(40)]
LABELS = ["a", "b"] * 20
QUICK: dict[str, Any] = {"epochs": 0, "device": "cpu", "settings": {"model.body": "none"}}
HUGE = 10**5_000
"""Python writes no number of so many digits."""


class Silent:
    """A class of another's that cannot be written."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.fixture(scope="module")
def fitted(reviews: Trained) -> TextClassifier:
    return TextClassifier.load(reviews.folder)


def in_a_sentence(refused: pytest.ExceptionInfo[GlassformerError], *words: str) -> None:
    message = str(refused.value)
    assert len(message) <= LONGEST_ANSWER
    assert message.isprintable()
    assert "--" not in message  # Python has no flags
    for word in words:
        assert word in message


FRAMES: dict[str, tuple[Any, str]] = {
    "no-columns": (pl.DataFrame(), "text"),
    "numbers": (pl.DataFrame({"text": [1, 2]}), "texts[0] is 1 (int), not a string"),
    "dates": (pl.DataFrame({"text": [dt.date(2020, 1, 1)]}), "texts[0]"),
    "mended-lists": (pl.DataFrame({"text": [["a"], ["b"]]}), "texts[0]"),
    "records": (pl.DataFrame({"text": [{"a": 1}]}), "texts[0]"),
    "bytes": (pl.DataFrame({"text": [b"a"]}), "texts[0]"),
    "objects": (pl.DataFrame({"text": pl.Series([object()], dtype=pl.Object)}), "texts[0]"),
    "missing": (pl.DataFrame({"text": ["a", None]}), "fill_null"),
    "decimals": (pl.DataFrame({"text": [decimal.Decimal("1.1")]}), "texts[0]"),
    "mended-lazy": (pl.LazyFrame({"text": ["a"]}), "list of texts"),
    "pandas-objects": (pd.DataFrame({"text": [object()]}), "texts[0]"),
    "pandas-missing": (pd.DataFrame({"text": ["a", pd.NA]}), "fillna"),
    "pandas-no-times": (pd.DataFrame({"text": [pd.NaT]}), "texts[0]"),
    "two-columns-of-a-name": (pd.DataFrame([["a", "b"]], columns=["text", "text"]), "text"),
    "columns-of-pairs": (
        pd.DataFrame([["a", "b"]], columns=pd.MultiIndex.from_product([["text"], ["x", "y"]])),
        "columns",
    ),
    "columns-of-numbers": (pd.DataFrame([["a", "b"]]), "columns"),
    "intervals": (pd.DataFrame({"text": pd.interval_range(0, 2)}), "texts[0]"),
    "mended-5000-digits": (pd.DataFrame({"text": [HUGE]}), "texts[0] is a value of type int"),
    "mended-digits-alone": ([HUGE], "texts[0] is a value of type int"),
    "mended-silent": ([Silent()], "texts[0] is "),
    "mended-silent-alone": (Silent(), "give a list of texts"),
    "records-of-numpy": (np.zeros(2, dtype=[("a", "i4")]), "texts[0]"),
    "path": (Path("/etc/passwd"), "give a list of texts"),
    "memory": (memoryview(b"ab"), "texts[0]"),
}


def cases(table: dict[str, Any]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.mended if name.startswith("mended") else ()) for name in table]


@pytest.mark.parametrize("name", cases(FRAMES))
def test_what_holds_no_texts(name: str, fitted: TextClassifier) -> None:
    given, words = FRAMES[name]
    with pytest.raises(InputError) as refused:
        fitted.predict(given)
    in_a_sentence(refused, words)


NO_LABELS: dict[str, tuple[Any, str]] = {
    "nan": ([float("nan")] * 40, "no text has a label"),
    "infinite": ([float("inf"), 1.0] * 20, "labels[0]"),
    "bytes": ([b"a", b"b"] * 20, "labels[0]"),
    "dates": ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)] * 20, "labels[0]"),
    "mappings": ([{"a": 1}, {"a": 2}] * 20, "labels[0]"),
    "lists-of-lists": ([[["a"]], [["b"]]] * 20, "labels[0]"),
    "half-of-a-pair": (["\ud800", "b"] * 20, "surrogate"),
    "objects": ([object() for _ in range(40)], "labels[0]"),
    "series-of-records": (pl.Series([{"a": 1}, {"a": 2}] * 20), "labels[0]"),
    "complex": (np.array([1j, 2j] * 20), "labels[0]"),
    "numbers-and-words": ([1, "1"] * 20, "several types"),
    "mended-5000-digits": ([HUGE, 1] * 20, "labels[0] is a value of type int"),
    "mended-masked": (np.ma.array(LABELS, mask=[True] * 40), "no text has a label"),
}


@pytest.mark.parametrize("name", cases(NO_LABELS))
def test_labels_that_cannot_be(name: str) -> None:
    labels, words = NO_LABELS[name]
    for learn in (TextClassifier(**QUICK).fit, check_labels):
        with pytest.raises(InputError) as refused:
            learn(TEXTS, labels)
        in_a_sentence(refused, words)


@pytest.mark.mended
def test_numbers_and_weights_of_thousands_of_digits(fitted: TextClassifier) -> None:
    with pytest.raises(InputError) as refused:
        TextRegressor(**QUICK).fit(TEXTS, [HUGE, 1] * 20)
    in_a_sentence(refused, "y[0] is a value of type int")
    with pytest.raises(InputError) as refused:
        fitted.score(TEXTS, ["very good"] * 40, sample_weight=[HUGE] * 40)
    in_a_sentence(refused, "sample_weight")


@pytest.mark.mended
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([5e-324] * 40, "zero, or nearly"),
        ([1e-44] * 40, "zero, or nearly"),
        ([1.0, *[1e-300] * 39], "there is 1 class"),
    ],
    ids=["smallest", "small", "of-one-row"],
)
def test_weights_that_round_to_nothing(weights: list[float], words: str) -> None:
    with pytest.raises(InputError) as refused:
        TextClassifier(**QUICK).fit(TEXTS, LABELS, sample_weight=weights)
    in_a_sentence(refused, words)


@pytest.mark.mended
def test_groups_with_half_of_a_pair() -> None:
    with pytest.raises(InputError) as refused:
        TextClassifier(**QUICK).fit(TEXTS, LABELS, groups=["\ud800", "b"] * 20)
    in_a_sentence(refused, "a group holds half of a surrogate pair")


@pytest.mark.mended
def test_a_sparse_column_of_labels_is_read() -> None:
    column = sparse.csr_matrix(np.arange(40)[:, None] % 2)
    with pytest.warns(DataConversionWarning):
        assert TextClassifier(**QUICK).fit(TEXTS, column).classes_.tolist() == [0, 1]


@pytest.mark.mended
def test_a_row_with_half_of_a_pair() -> None:
    rows = [{"text": text, "shop": "\ud800"} for text in TEXTS]
    with pytest.raises(InputError) as refused:
        TextClassifier(**QUICK, text="text", columns="shop").fit(rows, LABELS)
    in_a_sentence(refused, "surrogate")


NAMES: dict[str, Any] = {
    "mended-too-long": "x" * 5_000,
    "mended-number": 3,
    "mended-nothing": None,
    "mended-bytes": b"model",
    "mended-list": ["model"],
    "mended-half-of-a-pair": "\ud800",
    "mended-null-byte": "a\0b",
    "nowhere": "/nowhere",
}


@pytest.mark.parametrize("name", cases(NAMES))
def test_names_of_no_model(name: str, fitted: TextClassifier) -> None:
    given = NAMES[name]
    for ask in (TextClassifier.load, TextRegressor.load, score):
        with pytest.raises(UsageError) as refused:
            ask(given)
        in_a_sentence(refused)
    for setting in ("init", "recipe", "rules"):
        if given is None or (setting == "rules" and not isinstance(given, str)):
            continue
        with pytest.raises(UsageError) as refused:
            TextClassifier(**QUICK | {setting: given}).fit(TEXTS, LABELS)
        in_a_sentence(refused)
    if name != "nowhere":
        with pytest.raises(UsageError) as refused:
            fitted.save(given)
        in_a_sentence(refused)


@pytest.mark.mended
@pytest.mark.parametrize("given", [None, ["cpu"], 3.5, "x" * 5_000], ids=["nothing", "list", "number", "too-long"])
def test_no_device_and_no_method(given: Any, reviews: Trained, fitted: TextClassifier) -> None:
    with pytest.raises(UsageError) as refused:
        TextClassifier.load(reviews.folder, device=given)
    in_a_sentence(refused, "device")
    if given is not None:
        with pytest.raises(UsageError) as refused:
            fitted.explain("a good film", method=given)
        in_a_sentence(refused, "method")


@pytest.mark.mended
@pytest.mark.parametrize("given", ["0.9", None, [0.9]], ids=["text", "nothing", "list"])
def test_shares_and_temperatures_that_are_no_numbers(given: Any, fitted: TextClassifier) -> None:
    with pytest.raises(UsageError) as refused:
        fitted.distil(TEXTS, into="tiny", temperature=given)
    in_a_sentence(refused, "temperature")
    with pytest.raises(UsageError) as refused:
        fitted.label_sets(TEXTS, coverage=given)
    in_a_sentence(refused, "coverage")


@pytest.mark.mended
@pytest.mark.parametrize("given", [3, None, ["tiny"]], ids=["number", "nothing", "list"])
def test_students_and_foldings_that_cannot_be(given: Any, fitted: TextClassifier) -> None:
    with pytest.raises(UsageError) as refused:
        fitted.distil(TEXTS, into=given)
    in_a_sentence(refused)
    with pytest.raises(InputError) as refused:
        TextClassifier(**QUICK, fold_labels=given).fit(TEXTS, LABELS)
    in_a_sentence(refused, "fold_labels")


@pytest.mark.mended
@pytest.mark.parametrize("values", [[object()], [1j], pd.interval_range(0, 1)], ids=["objects", "complex", "intervals"])
def test_a_frame_of_spark_without_texts(values: Any, reviews: Trained) -> None:
    answer = score(reviews.folder)
    with pytest.raises(UsageError) as refused:
        list(answer([pd.DataFrame({"text": values})]))
    in_a_sentence(refused, "not text")
