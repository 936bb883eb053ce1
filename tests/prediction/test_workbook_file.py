import gc
import tempfile
import zipfile
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import python_calamine as calamine

from glassformer.errors import UsageError
from glassformer.prediction import workbook_file
from glassformer.prediction.workbook_file import new_workbook


def cells_of(path: Path) -> list[list[Any]]:
    return calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()


def written(path: Path, *frames: pl.DataFrame) -> list[list[Any]]:
    with new_workbook(path) as sheet:
        for frame in frames:
            sheet.write(frame)
    return cells_of(path)


def test_cells_stay_what_they_are(tmp_path: Path) -> None:
    texts = ["=1+1", "https://example.org", "007", "_x0041_", "a\nb 🎬", "5e3"]
    frame = pl.DataFrame(
        {"=text": texts, "number": [0.25, 1e300, -0.5, None, float("nan"), 2.0], "yes": [True, False, None] * 2}
    )
    found = written(tmp_path / "a.xlsx", frame[:2], frame[2:])
    assert found[0] == frame.columns
    assert [row[0] for row in found[1:]] == texts
    assert [row[1] for row in found[1:]] == [0.25, 1e300, -0.5, "", "", 2.0]
    assert [row[2] for row in found[1:]] == [True, False, ""] * 2


def test_a_column_of_numbers_that_were_read_as_texts_is_one_of_numbers(tmp_path: Path) -> None:
    plain = ["0", "-3", "-0.333333333333333", None, "123456789012345"]
    kept = {"zip": "01067", "price": "1.50", "long": "1234567890123456", "zero": "-0", "size": "1e5", "unit": "3 km"}
    columns = {"number": plain} | {name: ["5", text, "0", "1", "2"] for name, text in kept.items()}
    found = written(tmp_path / "a.xlsx", pl.DataFrame(columns), pl.DataFrame(columns).with_columns(number=pl.lit("7a")))
    assert [row[0] for row in found] == ["number", 0, -3, -0.333333333333333, "", 123456789012345, *["7a"] * 5]
    assert [row[1:] for row in found[2:3]] == [[*kept.values()]]
    assert all(isinstance(cell, str) for row in found for cell in row[1:])


def test_numbers_of_more_digits_than_excel_keeps_are_texts(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [999_999_999_999_999, 1_234_567_890_123_456_789], "at": [datetime(2024, 5, 1, 8)] * 2})
    assert written(tmp_path / "a.xlsx", frame)[1:] == [
        [999_999_999_999_999, "2024-05-01 08:00:00"],
        ["1234567890123456789", "2024-05-01 08:00:00"],
    ]


def test_decimal_numbers_are_numbers(tmp_path: Path) -> None:
    prices = [Decimal("12.50"), Decimal("-3"), Decimal("1234567890.1234567890"), None]
    frame = pl.DataFrame({"price": pl.Series(prices, dtype=pl.Decimal(38, 10)), "n": range(4)})
    found = written(tmp_path / "a.xlsx", frame)
    assert [row[0] for row in found[1:]] == [12.5, -3, "1234567890.1234567890", ""]


def test_infinite_numbers_are_texts(tmp_path: Path) -> None:
    found = written(tmp_path / "a.xlsx", pl.DataFrame({"number": [float("inf"), -float("inf"), 1.5]}))
    assert found[1:] == [["inf"], ["-inf"], [1.5]]


def test_more_than_a_zip_of_old_holds_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1_000)  # bytes of a file in it; in truth two gigabytes
    assert len(written(tmp_path / "a.xlsx", pl.DataFrame({"text": ["a text"] * 100}))) == 101


def test_what_a_sheet_cannot_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    longest = pl.DataFrame({"text": ["ok", "x" * 32_767, "🎬" * 16_384]})
    with pytest.raises(
        UsageError,
        match="row 3 has a cell of 32,768 characters as Excel counts them, and a cell of a workbook holds 32,767",
    ):
        written(tmp_path / "a.xlsx", longest)
    monkeypatch.setattr(workbook_file, "_ROWS", 3)
    with pytest.raises(UsageError, match=r"a workbook holds 3 rows and 16,384 columns; write answers as \.csv"):
        written(tmp_path / "a.xlsx", pl.DataFrame({"text": ["a", "b", "c"]}))
    assert [path.name for path in tmp_path.iterdir()] == ["a.xlsx"]
    assert len(written(tmp_path / "a.xlsx", pl.DataFrame({"text": ["a", "b"]}))) == 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # xlsxwriter leaves a file open
def test_an_error_of_the_disk_is_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        written(tmp_path / "gone" / "a.xlsx", pl.DataFrame({"text": ["a"]}))
    gc.collect()
