import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.table import read_table
from glassformer.errors import UsageError
from glassformer.labels.labelled import is_labelled, read_labelled, rows_to_label
from glassformer.labels.mend import mend
from glassformer.labels.truth import truth_of

CHOSEN = pl.DataFrame({"row": [3, 1], "suggested_label": ["1", "0"], "probability": [0.6, 0.5]}).cast(
    {"row": pl.UInt32}
)


def frames() -> tuple[pl.DataFrame, pl.DataFrame]:
    """A table, and texts without labels that have most of its columns. All columns have different types."""
    rows = pl.int_range(4, eager=True)
    frame = pl.DataFrame(
        {
            "text": pl.select(pl.format("text number {}", rows)).to_series(),
            "label": rows % 2,
            "stars": rows.cast(pl.UInt8),
            "price": rows * 1.5,
            "cost": rows.cast(pl.Decimal(10, 2)),
            "paid": rows > 1,
            "shop": pl.Series(["Ulm", "Bonn", "Ulm", "007"], dtype=pl.Categorical),
            "day": [date(2024, 1, 2)] * 4,
            "at": pl.Series([datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)] * 4),
            "clock": [time(3, 4, 5)] * 4,
            "tags": [["a"]] * 4,
            "mine": ["x"] * 4,
        }
    )
    more = frame.drop("label", "mine").with_columns(text=pl.format("new {}", "text"))
    return frame, more.with_columns(stars=pl.Series([None, 1, 2, 3]))


def filled(folder: Path, kind: str, labels: list[str]) -> Path:
    """Write the files, choose two rows, and label them."""
    frame, more = frames()
    for name, content in {"table": frame, "more": more}.items():
        if kind == "parquet":
            content.write_parquet(folder / f"{name}.parquet")
        else:
            content.select(pl.exclude("cost", "shop", "clock")).write_ndjson(folder / f"{name}.jsonl")
    table = read_table(folder / f"table.{kind}")
    pool = read_table(folder / f"more.{kind}", text="text", labelled=False)
    rows = rows_to_label(folder / f"more.{kind}", pool, table, CHOSEN)
    assert rows["row"].to_list() == [3, 1]
    rows.with_columns(label=pl.Series(labels)).write_csv(folder / "filled.csv")
    return folder / "filled.csv"


def test_new_rows_of_parquet_have_the_types_of_the_table(tmp_path: Path) -> None:
    file = filled(tmp_path, "parquet", ["1.0", "0"])
    source, out = tmp_path / "table.parquet", tmp_path / "out.parquet"
    table = read_table(source)
    assert is_labelled(file, table)
    assert mend(source, out, truth_of(table), {2: None}, read_labelled(file, truth_of(table))).rows == 5
    was, more = frames()
    new = pl.read_parquet(out)
    assert new.schema == was.schema
    assert new[:3].equals(was[[0, 2, 3]])
    assert new[3:]["label"].to_list() == [1, 0]
    assert new[3:]["mine"].to_list() == new[3:]["tags"].to_list() == [None, None]  # lists are not kept
    kept = ["text", "stars", "price", "cost", "paid", "shop", "day", "at", "clock"]
    assert new[3:].select(kept).rows() == more[[2, 0]].select(kept).rows()
    assert new["cost"][3] == Decimal(2)


def test_new_rows_of_json_have_the_kinds_of_the_table(tmp_path: Path) -> None:
    file = filled(tmp_path, "jsonl", ["1", "0"])
    source, out = tmp_path / "table.jsonl", tmp_path / "out.jsonl"
    table = read_table(source)
    assert mend(source, out, truth_of(table), {}, read_labelled(file, truth_of(table))).rows == 6
    before, after = source.read_text().splitlines(), out.read_text().splitlines()
    assert after[:4] == before
    first, second = map(json.loads, after[4:])
    more = json.loads((tmp_path / "more.jsonl").read_text().splitlines()[2])
    assert first == more | {"label": 1, "mine": None}
    assert list(first) == list(json.loads(before[0]))
    assert (second["label"], second["stars"]) == (0, None)


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_cell_that_does_not_fit_is_refused(kind: str, tmp_path: Path) -> None:
    file = filled(tmp_path, kind, ["1", "0"])
    pl.read_csv(file, infer_schema=False).with_columns(stars=pl.Series(["2", "many"])).write_csv(file)
    truth = truth_of(read_table(tmp_path / f"table.{kind}"))
    with pytest.raises(UsageError, match="csv, row 2: 'many' does not fit the column 'stars', which holds "):
        mend(tmp_path / f"table.{kind}", tmp_path / f"out.{kind}", truth, {}, read_labelled(file, truth))
    assert not (tmp_path / f"out.{kind}").exists()


def test_which_of_the_two_kinds_a_file_is(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    pl.DataFrame({"text": ["a b", "c d"], "new_label": ["x", "y"]}).write_csv(table)
    columns = ["row", "text", "new_label", "suggested_label", "probability"]
    pl.DataFrame({name: ["1"] for name in columns}).write_csv(tmp_path / "to-label.csv")
    assert is_labelled(tmp_path / "to-label.csv", read_table(table, label="new_label"))
    pl.DataFrame({name: ["1"] for name in [*columns, "label"]}).write_csv(tmp_path / "findings.csv")
    pl.read_csv(table).rename({"new_label": "label"}).write_csv(tmp_path / "other.csv")
    assert not is_labelled(tmp_path / "findings.csv", read_table(tmp_path / "other.csv"))


def test_a_table_with_a_column_of_the_file_to_label_is_refused(tmp_path: Path) -> None:
    for name in ("table.csv", "more.csv"):
        pl.DataFrame({"row": ["a text", "b text"], "label": ["x", "y"]}).write_csv(tmp_path / name)
    table = read_table(tmp_path / "table.csv", text="row")
    with pytest.raises(UsageError, match="the file to label has its own column 'row'; rename that of the table"):
        rows_to_label(tmp_path / "more.csv", table, table, CHOSEN)
