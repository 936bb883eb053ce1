"""Frames of pandas and Spark whose cells or columns are odd."""

import datetime as dt
import decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import glassformer
from glassformer.errors import UsageError
from tests.attacks.answer import LONGEST_ANSWER
from tests.cli.terminal import glassformer as run
from tests.matrix.samples import rows, write
from tests.trained import Trained

SECRET = "a secret of maria's"
MIXED: dict[str, list[Any]] = {
    "mended-number-of-numpy": [np.int64(3), SECRET],
    "mended-fraction-of-numpy": [np.float32(0.5), SECRET],
    "mended-too-large": [1, 10**40],
    "mended-too-large-beside-a-text": [SECRET, 10**40],
    "mended-a-time-first": [dt.datetime(2020, 1, 1), SECRET],
    "a-date-last": [SECRET, dt.date(2020, 1, 1)],
    "truth": [SECRET, True],
    "mended-a-large-decimal": [decimal.Decimal("1e400")],
    "decimals": [decimal.Decimal("1.5"), SECRET],
    "words-of-numpy": [np.str_("good"), SECRET],
    "categories": list(pd.Categorical(["good", SECRET])),
}
REFUSED: dict[str, list[Any]] = {
    "mended-a-list-beside-a-text": [SECRET, ["good"]],
    "mended-a-record-beside-a-text": [{"a": 1}, SECRET],
    "mended-an-object-beside-a-text": [SECRET, object()],
    "bytes-beside-a-text": [SECRET, b"good"],
    "lists": [["good"], ["bad"]],
    "half-of-a-pair": [SECRET, "\ud800"],
    "mended-no-float": [SECRET, 10**400],
    "mended-of-5,000-digits": [1, 10**5_000],
}
NO_FRAMES: dict[str, Any] = {
    "mended-none": None,
    "mended-number": 3,
    "mended-text": SECRET,
    "mended-series": [pd.Series([SECRET])],
    "mended-of-polars": [pl.DataFrame({"text": [SECRET]})],
    "mended-rows": [{"text": SECRET}],
}
SCHEMAS: dict[str, tuple[Any, str]] = {
    "mended-none": (None, "give a frame of Spark"),
    "mended-of-pandas": (pd.DataFrame({"text": [SECRET]}), "give a frame of Spark"),
    "mended-of-polars": (pl.DataFrame({"text": [SECRET]}), "give a frame of Spark"),
    "mended-without-text": (SimpleNamespace(dtypes=[("words", "string")]), "there is no column 'text'"),
    "mended-without-columns": (SimpleNamespace(dtypes=[]), "the columns are none"),
    "mended-answered": (SimpleNamespace(dtypes=[("text", "string"), ("confidence", "double")]), "'confidence'"),
    "mended-twice": (SimpleNamespace(dtypes=[("text", "string"), ("text", "string")]), "several columns 'text'"),
}


def cases(table: dict[str, Any]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.mended if name.startswith("mended") else ()) for name in table]


def said(refused: pytest.ExceptionInfo[UsageError], *words: str) -> None:
    """The message is short and holds these words, and no text: it may end in the log of a cluster."""
    message = str(refused.value)
    assert len(message) <= LONGEST_ANSWER
    assert message.isprintable()
    assert "secret" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize("name", cases(MIXED))
def test_a_column_of_several_types_loses_no_cell(name: str, reviews: Trained) -> None:
    (found,) = glassformer.score(reviews.folder)([pd.DataFrame({"text": pd.Series(MIXED[name], dtype=object)})])
    assert found["prediction"].notna().all()


@pytest.mark.parametrize("name", cases(REFUSED))
def test_cells_that_are_no_texts(name: str, reviews: Trained) -> None:
    with pytest.raises(UsageError) as refused:
        list(glassformer.score(reviews.folder)([pd.DataFrame({"text": pd.Series(REFUSED[name], dtype=object)})]))
    said(refused, "the column 'text' holds")


@pytest.mark.parametrize("name", cases(NO_FRAMES))
def test_what_is_no_list_of_frames(name: str, reviews: Trained) -> None:
    with pytest.raises(UsageError) as refused:
        list(glassformer.score(reviews.folder)(NO_FRAMES[name]))
    said(refused, "frames of pandas are answered, not a value of type")


@pytest.mark.parametrize("name", cases(SCHEMAS))
def test_a_frame_that_no_job_could_answer(name: str, reviews: Trained) -> None:
    frame, words = SCHEMAS[name]
    with pytest.raises(UsageError) as refused:
        glassformer.score(reviews.folder).schema(frame)
    said(refused, words)


@pytest.mark.mended
@pytest.mark.parametrize("given", [3, ["text"], ""], ids=["number", "list", "nothing"])
def test_a_column_that_has_no_name(given: Any, reviews: Trained) -> None:
    with pytest.raises(UsageError) as refused:
        glassformer.score(reviews.folder, text=given)
    said(refused, "give the name of a column")


@pytest.fixture(scope="module")
def of_columns(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("columns")
    table = write(folder / "shops.csv", rows("classes", "text with columns"))
    assert run("train", table, "--out", folder / "m", "--columns", "shop,price", "--epochs", "0").code == 0
    return folder / "m"


@pytest.mark.mended
def test_a_missing_column_is_named_without_the_cells_of_others(of_columns: Any) -> None:
    score = glassformer.score(of_columns)
    with pytest.raises(UsageError) as refused:
        list(score([pd.DataFrame({"text": [SECRET], "shop": ["Ulm"]})]))
    said(refused, "there is no column 'price'", "the columns are 'text', 'shop'")
    with pytest.raises(UsageError) as refused:
        glassformer.score(of_columns, text="words")
    said(refused, "leave it out")


@pytest.mark.parametrize("cells", [[], [None], [None, float("nan"), ""]], ids=["none", "missing", "empty"])
def test_a_partition_without_texts(cells: list[Any], reviews: Trained, of_columns: Any) -> None:
    for model in (reviews.folder, of_columns):
        score = glassformer.score(model)
        (found,) = score([pd.DataFrame({name: pd.Series(cells, dtype=object) for name in ("text", "shop", "price")})])
        assert [*found.columns][3:] == [*score.added]
        assert found["prediction"].isna().tolist() == [True] * len(cells)
