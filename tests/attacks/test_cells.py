"""Cells of dates, levels and databases that cannot be, or say the same in two ways."""

from pathlib import Path

import pytest

from tests.attacks.answer import answered, nothing_lost
from tests.cli.terminal import glassformer
from tests.trained import write_csv

KINDS = ("bread", "fruit")

NO_DATES: dict[str, str] = {
    "after-9999": "9999-12-31 23:00-05:00",
    "before-1": "0001-01-01 00:00+05:00",
    "year-0": "0000-01-01",
    "mysql": "0000-00-00",
    "zone": "2024-03-01 12:00+99:99",
    "empty": "",
    "number": "1e300",
    "arabic-digits": "٢٠٢٤-٠١-٠١",
    "far-away": "2024-03-01" + " " * 5_000 + "x",
}
MENDED_DATES = {"after-9999", "before-1", "year-0", "zone"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.mended] if name in MENDED_DATES else []) for name in NO_DATES]
)
def test_a_time_that_is_none(name: str, tmp_path: Path) -> None:
    rows = [(f"a nice {KINDS[n % 2]} {n}", KINDS[n % 2], f"2024-02-{n + 1:02}") for n in range(12)]
    table = write_csv(tmp_path / "t.csv", [*rows, ("old bread", "bread", NO_DATES[name])], ("text", "label", "day"))
    with nothing_lost(tmp_path):
        answered(glassformer("train", table, "--out", tmp_path / "m", "--time", "day"), "t.csv", "row 13", "'day'")


@pytest.mark.mended
def test_a_cell_with_what_stands_between_two_levels(tmp_path: Path) -> None:
    rows = [(f"a nice {KINDS[n % 2]} {n}", "food", KINDS[n % 2]) for n in range(12)]
    table = write_csv(tmp_path / "t.csv", [*rows, ("a loaf", "food > bread", "")], ("text", "aisle", "kind"))
    levels = ("--label", "aisle", "--label", "kind")
    with nothing_lost(tmp_path):
        answered(glassformer("train", table, "--out", tmp_path / "m", *levels), "'aisle'", "'food > bread'", "--levels")


@pytest.mark.mended
@pytest.mark.parametrize(
    "value", ["MAP {DATE '2024-05-01': 1}", "MAP {INTERVAL 1 DAY: ['a']}", "{'a': [MAP {TIME '12:00': 1}]}"]
)
def test_a_value_that_json_lacks(value: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "t.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT 'a text' AS text, {value} AS label FROM range(12)")
    with nothing_lost(tmp_path):
        answered(glassformer("train", file, "--out", tmp_path / "m"), "every row has the label")
