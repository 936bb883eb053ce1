"""Labels with levels that stand in several columns."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.table import Table, read_table
from glassformer.errors import UsageError
from glassformer.labels.labelled import is_labelled, read_labelled
from glassformer.labels.mend import mend, read_changes
from glassformer.labels.truth import truth_of

FRAME = pl.DataFrame(
    {
        "text": [f"text number {row}" for row in range(6)],
        "aisle": ["food", "food", "drink", "drink", None, "food"],
        "kind": [1, 2, None, 7, None, None],
    }
)


def read(file: Path, levels: str = " > ") -> Table:
    return read_table(file, label="aisle", lower=("kind",), levels=levels)


def changed(table: Table, folder: Path, new: dict[int, str]) -> dict[int, str | None]:
    shown = table.frame.select("row", "text", "label").cast({"row": pl.String})
    shown.with_columns(
        new_label=pl.col("row").replace_strict({str(row): name for row, name in new.items()}, default="")
    )[["row", "text", "label", "new_label"]].write_csv(folder / "filled.csv")
    return read_changes(folder / "filled.csv", truth_of(table))


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv"])
def test_each_level_goes_in_its_column_with_its_type(kind: str, tmp_path: Path) -> None:
    source, out = tmp_path / f"t.{kind}", tmp_path / f"out.{kind}"
    if kind == "jsonl":
        FRAME.write_ndjson(source)
    else:
        FRAME.write_parquet(source) if kind == "parquet" else FRAME.write_csv(source)
    table = read(source)
    assert table.frame["label"].to_list() == ["food > 1", "food > 2", "drink", "drink > 7", "food"]
    mend(source, out, truth_of(table), changed(table, tmp_path, {1: "drink", 3: "food > 2", 6: "drop"}))
    expected = [
        ("text number 0", "drink", None),
        ("text number 1", "food", 2),
        ("text number 2", "food", 2),
        ("text number 3", "drink", 7),
        ("text number 4", None, None),
    ]
    if kind == "parquet":
        assert pl.read_parquet(out).rows() == expected
    elif kind == "jsonl":
        assert [tuple(json.loads(line).values()) for line in out.read_text(encoding="utf-8").splitlines()] == expected
    else:
        strings = [tuple("" if value is None else str(value) for value in row) for row in expected]
        assert pl.read_csv(out, infer_schema=False).fill_null("").rows() == strings


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_rows_to_add_and_to_fill_have_their_levels_in_the_columns(kind: str, tmp_path: Path) -> None:
    source, out = tmp_path / f"t.{kind}", tmp_path / f"out.{kind}"
    FRAME.write_parquet(source) if kind == "parquet" else FRAME.write_ndjson(source)
    file = tmp_path / "labelled.csv"
    cells = [("text number 4", "drink", "7"), ("a new text", "food", "2"), ("one more", "food > 1", ""), ("no", "", "")]
    rows = [(row, *each, "", 0.5) for row, each in enumerate(cells)]
    names = ["row", "text", "aisle", "kind", "suggested_label", "probability"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(file)
    table = read(source)
    assert is_labelled(file, table)
    assert not is_labelled(file, replace(table, lower=("kind", "shelf")))
    labelled = read_labelled(file, truth_of(table))
    assert mend(source, out, truth_of(table), labelled.filled, labelled).rows == 8
    new = (pl.read_parquet(out) if kind == "parquet" else pl.read_ndjson(out)).rows()
    assert new[4] == ("text number 4", "drink", 7)
    assert new[6:] == [("a new text", "food", 2), ("one more", "food", 1)]


def test_a_cell_that_holds_the_separator_cannot_be_told_from_two_levels(tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    FRAME.with_columns(kind=pl.lit("a > b")).write_csv(source)
    refusal = r"t\.csv: the columns 'aisle', 'kind' hold 'food', 'a > b', and joined by ' > ' .*`levels=' :: '`"
    with pytest.raises(UsageError, match=refusal):
        read(source)
    table = read(source, "/")
    mend(source, tmp_path / "out.csv", truth_of(table), changed(table, tmp_path, {1: "drink/a > b"}))
    assert pl.read_csv(tmp_path / "out.csv").row(0) == ("text number 0", "drink", "a > b")


@pytest.mark.parametrize("cells", [("C:", "D"), ("C:", ":D")])
def test_a_separator_that_arises_where_two_cells_meet_is_refused(cells: tuple[str, str], tmp_path: Path) -> None:
    source = tmp_path / "t.csv"
    FRAME.with_columns(aisle=pl.lit(cells[0]), kind=pl.lit(cells[1])).write_csv(source)
    with pytest.raises(UsageError, match=r"t\.csv: .* joined by '::' these are other levels\. .*`levels=' > '`"):
        read(source, "::")
    assert read(source).cells_of(f"{cells[0]} > {cells[1]}") == [*cells]
    FRAME.with_columns(aisle=pl.lit("C"), kind=pl.lit(":D")).write_csv(source)
    assert read(source, "::").cells_of("C:::D") == ["C", ":D"], "it is split at the first place"
