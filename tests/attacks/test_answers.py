"""Unusual texts, tables and arrays for a trained model, on the command line and from Python."""

import csv
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassformer import TextClassifier
from tests.attacks.answer import answered, harmless, nothing_lost
from tests.cli.terminal import glassformer
from tests.trained import Trained, write_csv

ODD = {
    "nul": "good\0film",
    "bell-and-escape": "good\a\x1b[31m film\x1b]0;owned\x07",
    "c1": "good\x9b31mfilm",
    "right-to-left": "good\u202efilm\u2066",
    "carriage-returns": "good\rfilm\r",
    "line-separators": "good\u2028\u2029\x85\x0b\x0cfilm",
    "byte-order-marks": "\ufeff\ufeffgood",
    "zero-width": "\u200b\u200d\u2060",
    "combining": "e" + "\u0301" * 10_000,
    "unassigned": "\U000e0fff\ufdd0\uffff",
    "special-tokens": "<pad><unk><cls> <cls>",
    "quotes": "\"'`,;\t|\\",
    "json": '{"answers": [',
    "digits": "9" * 5000,
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in ODD.items()])
def test_an_odd_text_is_answered_in_one_line_and_exactly_in_json(text: str, reviews: Trained) -> None:
    piped = text.replace("\n", " ").encode()
    plain = glassformer("predict", reviews.folder, stdin=piped)
    assert plain.code == 0
    assert plain.out.count("\n") == 1
    harmless(plain)
    lines = glassformer("predict", reviews.folder, "--jsonl", stdin=piped + b"\n")
    expected = text.removeprefix("\ufeff").removesuffix("\r")
    assert json.loads(lines.out)["text"] == expected
    assert lines.out.count("\n") == 1
    harmless(lines)


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in ODD.items() if name != "nul"])
def test_an_odd_cell_comes_back_exactly(text: str, reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [(text, "1"), ("good", "2")], ("text", "id"))
    said = glassformer("predict", reviews.folder, "--file", table, "--out", tmp_path / "a.csv")
    assert said.code == 0
    harmless(said)
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert [row[:2] for row in rows[1:]] == [[text, "1"], ["good", "2"]]


def test_a_token_of_megabytes_is_answered_soon_and_not_echoed(reviews: Trained) -> None:
    began = time.monotonic()
    said = glassformer("predict", reviews.folder, stdin=b"x" * 2_000_000 + b"\ngood film\n")
    assert said.code == 0
    assert len(said.out) < 1000
    assert len(said.err) < 1000
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"\xff\xfe bad\ngood\nx", ("line 1", "UTF-16"), id="no-utf16"),
        pytest.param(b"", ("the pipe was empty",), id="empty"),
    ],
)
def test_a_pipe_that_is_no_text_is_refused(content: bytes, words: tuple[str, ...], reviews: Trained) -> None:
    answered(glassformer("predict", reviews.folder, stdin=content), *words)


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"text": ["good"], "prediction": ["x"]}, id="prediction"),
        pytest.param({"text": ["good"], "confidence": ["x"]}, id="confidence"),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--json",), ("--jsonl",)])
def test_a_column_of_the_user_s_is_never_replaced(
    columns: dict[str, list[str]], flags: tuple[str, ...], reviews: Trained, tmp_path: Path
) -> None:
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    with nothing_lost(tmp_path):
        answered(glassformer("predict", reviews.folder, "--file", tmp_path / "t.csv", *flags), "already has", "rename")


def test_answers_that_cannot_be_finished_leave_those_of_yesterday(reviews: Trained, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_bytes(b"text,n\n" + b"good film,1\n" * 5000 + b"bad,2,3\n")
    (tmp_path / "a.csv").write_text("of yesterday")
    with nothing_lost(tmp_path):
        out = ("--out", tmp_path / "a.csv")
        answered(glassformer("predict", reviews.folder, "--file", table, *out), "already there", "--overwrite")
        answered(glassformer("predict", reviews.folder, "--file", table, *out, "--overwrite"), "row 5,002 of the file")


@pytest.fixture(scope="module")
def fitted(reviews: Trained) -> TextClassifier:
    return TextClassifier.load(reviews.folder)


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param("good", id="one-string"),
        pytest.param(b"good", id="bytes"),
        pytest.param(["good", b"bad"], id="bytes-within"),
        pytest.param(["good", None], id="none"),
        pytest.param(["good", float("nan")], id="nan"),
        pytest.param(["good", ["bad"]], id="list-within"),
        pytest.param(["\ud800"], id="surrogate"),
        pytest.param([object()], id="object"),
        pytest.param({"good": 1}, id="mapping"),
        pytest.param({"good"}, id="set"),
        pytest.param(7, id="number"),
        pytest.param(None, id="nothing"),
        pytest.param(np.zeros((2, 3)), id="matrix"),
        pytest.param(np.array(7), id="no-dimension"),
        pytest.param(pl.DataFrame({"a": ["good"], "b": ["bad"]}), id="frame"),
        pytest.param(["x" * 10_000_000, 7], id="ten-megabytes"),
    ],
)
def test_what_is_no_list_of_texts_is_refused_in_a_sentence(texts: Any, fitted: TextClassifier) -> None:
    for ask in (fitted.predict, fitted.predict_proba, fitted.unknown_words):
        with pytest.raises(ValueError, match=r"text") as refused:
            ask(texts)
        message = str(refused.value)
        assert len(message) < 300
        assert "--" not in message  # Python has no flags


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in ODD.items()])
def test_an_odd_text_is_answered_in_python(text: str, fitted: TextClassifier) -> None:
    probabilities = fitted.predict_proba([text, "good film"])
    assert np.isfinite(probabilities).all()
    assert probabilities.sum(axis=1) == pytest.approx(1)
