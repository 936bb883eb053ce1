"""Rows of JSON that stand within one object, as servers give them, and cells that are objects."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.data.rows import read_batches
from glassformer.data.table import read_table
from glassformer.errors import UsageError

ROWS = [{"text": f"a {word} film", "label": word} for word in ("good", "bad", "good")]
ANSWER = {"status": "ok", "meta": {"pages": [{"n": 1}, {"n": 2}]}, "data": {"found": 3, "reviews": ROWS}}


def notes_and_rows(file: Path, content: str) -> tuple[list[str], list[dict[str, Any]]]:
    file.write_text(content, encoding="utf-8")
    notes: list[str] = []
    return notes, [
        row for batch in read_batches(file, rows_per_batch=2, on_note=notes.append) for row in batch.rows(named=True)
    ]


@pytest.mark.parametrize("indent", [None, 2], ids=["one line", "many lines"])
def test_the_longest_array_within_one_object_is_the_table(indent: int | None, tmp_path: Path) -> None:
    notes, rows = notes_and_rows(tmp_path / "t.json", json.dumps(ANSWER, indent=indent))
    assert rows == ROWS
    assert notes == ["the file is one JSON object; its rows are read from 'data.reviews'"]


@pytest.mark.parametrize("indent", [None, 2], ids=["one line", "many lines"])
def test_an_object_that_is_too_large_says_what_to_do(indent: int | None, tmp_path: Path) -> None:
    content = json.dumps({"rows": [{"text": "a" * 2**12}] * 2**12}, indent=indent)
    with pytest.raises(UsageError, match=r"(more|longer) than 16 MiB.*`jq -c '\.NAME\[\]'` gives each row"):
        notes_and_rows(tmp_path / "t.json", content)


def test_a_row_with_a_text_and_arrays_is_a_row(tmp_path: Path) -> None:
    row = {"text": "Superb", "people": [{"name": "Ann"}, {"name": "Bo"}]}
    notes, rows = notes_and_rows(tmp_path / "t.jsonl", json.dumps(row))
    assert (notes, len(rows), rows[0]["text"]) == ([], 1, "Superb")
    lines = "\n".join(json.dumps({"found": [{"n": 1}, {"n": 2}], "n": str(number)}) for number in range(3))
    assert len(notes_and_rows(tmp_path / "t.jsonl", lines)[1]) == 3


def test_a_line_that_is_no_json_is_named_though_it_begins_like_an_object(tmp_path: Path) -> None:
    for content in ('{"text": "a",\n\n"b"\n', '{"text": "a"\n{"text": "b"}\n'):
        with pytest.raises(UsageError, match=r"row 1 \(line 1\) is malformed"):
            notes_and_rows(tmp_path / "t.jsonl", content)


def test_objects_within_rows_are_columns(tmp_path: Path) -> None:
    rows = [{"n": n, "review": {"text": row["text"], "by": {"age": 40 + n}}} | row for n, row in enumerate(ROWS)]
    rows[1]["review"] = None
    rows[2]["review"] = {"late": "left out", "text": ["a", "list"]}  # in the second batch
    notes, read = notes_and_rows(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)))
    assert notes == ["left out where it stands: 'review.late'; the first 2 rows have no such value"]
    assert read == [
        {"n": "0", "review.text": "a good film", "review.by.age": "40", **ROWS[0]},
        {"n": "1", "review.text": None, "review.by.age": None, **ROWS[1]},
        {"n": "2", "review.text": '["a", "list"]', **ROWS[2]},
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a": {"b": 1}}, {"a": "no object"}),
        ({"a": {str(n): n for n in range(60)}}, {"a": {str(n): n for n in range(60, 120)}}),
        ({"a": {"b": 1}, "a.b": 2}, {"a": {"b": 3}}),
        ({"a": {}}, {"a": {}}),
        ({"a": {"b.c": 1, "b": {"c": 2}}}, {"a": None}),
        ({"a.b": {"c": 1}, "a": {"b.c": 2}}, {"a": None}),
    ],
    ids=["other values", "many keys", "a name that is taken", "empty ones", "one name for two", "a name of another"],
)
def test_other_objects_stay_as_they_are(first: dict[str, Any], second: dict[str, Any], tmp_path: Path) -> None:
    _, rows = notes_and_rows(tmp_path / "t.jsonl", f"{json.dumps(first)}\n{json.dumps(second)}")
    assert rows[0]["a"] == json.dumps(first["a"])


def test_late_keys_are_named_and_the_rest_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"a": {"b": n, **({f"k{n}": n} if n > 1 else {})}} for n in range(8)]
    notes, _ = notes_and_rows(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)))
    said = "left out where they stand: 'a.k2', 'a.k3', 'a.k4' and {} more; the first 2 rows have no such value"
    assert notes == [said.format(3)]
    monkeypatch.setattr("glassformer.data.formats.json_lines._MOST_LATE", 4)
    assert notes_and_rows(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)))[0] == [said.format("at least 1")]


def test_a_value_in_the_place_of_a_late_object_is_left_out_and_said(tmp_path: Path) -> None:
    rows = [{"a": {"b": 1}}, {"a": {"b": 2}}, {"a": "no object"}, {"a": {"c": 1}}]
    notes, read = notes_and_rows(tmp_path / "t.jsonl", "\n".join(map(json.dumps, rows)))
    assert notes == [
        "left out where it stands: 'a.c'; the first 2 rows have no such value",
        "left out where it stands: 'a', as a value that is no object; in the first 2 rows it is one",
    ]
    assert read == [{"a.b": "1"}, {"a.b": "2"}, {"a.b": None}, {"a.b": None}]


def test_records_of_parquet_keep_what_would_be_two_columns_of_one_name(tmp_path: Path) -> None:
    rows = [{"a": {"b": "1"}, "a.b": "2", "c": {"d.e": "3", "d": {"e": "4"}, "f": "5"}}]
    pl.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
    (batch,) = read_batches(tmp_path / "t.parquet", rows_per_batch=2)
    assert batch.row(0, named=True) == {"a": {"b": "1"}, "a.b": "2", "c.d.e": "3", "c.d": {"e": "4"}, "c.f": "5"}


def test_a_table_whose_text_and_label_are_within_objects_is_read(tmp_path: Path) -> None:
    rows = [{"review": {"text": row["text"]}, "by": {"label": row["label"]}} for row in ROWS]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = read_table(tmp_path / "t.jsonl")
    assert (table.text_column, table.label_column) == ("review.text", "by.label")
    pl.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").frame.equals(table.frame)


def test_cells_of_other_tables_that_are_objects_are_said(tmp_path: Path) -> None:
    rows = [{"text": json.dumps({"fr": row["text"]}), "label": json.dumps({"team": row["label"]})} for row in ROWS]
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv")
    said = [note for note in read_table(tmp_path / "t.csv").notes if "objects" in note]
    assert [note.partition(";")[0] for note in said] == [
        'the column \'text\' holds JSON objects such as {"fr": "a good film"}',
        'the column \'label\' holds JSON objects such as {"team": "good"}',
    ]
    assert said[1].endswith("To learn from 'team' alone, make it a column of its own")


@pytest.mark.parametrize("orient", ["columns", "index", "split", "list"])
def test_an_object_as_pandas_writes_it_is_read(orient: str, tmp_path: Path) -> None:
    by_column = {name: [row[name] for row in ROWS] for name in ("text", "label")}
    written: dict[str, Any] = {
        "columns": {name: {str(n): cell for n, cell in enumerate(cells)} for name, cells in by_column.items()},
        "index": {str(n): row for n, row in enumerate(ROWS)},
        "split": {"columns": ["text", "label"], "index": [0, 1, 2], "data": [[*row.values()] for row in ROWS]},
        "list": by_column,
    }
    notes, rows = notes_and_rows(tmp_path / "t.json", json.dumps(written[orient]))
    assert (rows, len(notes)) == (ROWS, 1)


@pytest.mark.parametrize(
    ("column", "cell", "says"),
    [
        ("annotations", [{"result": [{"value": {"choices": ["good"]}}]}], "export JSON-MIN or CSV"),
        (
            "messages",
            [{"role": "user", "content": "a film"}, {"role": "assistant", "content": "good"}],
            "conversations",
        ),
        ("entities", [{"label": "FILM", "start_offset": 0, "end_offset": 4}], "a label for each whole text"),
    ],
)
def test_exports_without_a_column_of_labels_say_what_to_do(
    column: str, cell: list[dict[str, Any]], says: str, tmp_path: Path
) -> None:
    rows = [{"text": f"film number {number}", column: cell, "done": number % 2} for number in range(20)]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(UsageError, match=f"the column '{column}' holds .*{says}"):
        read_table(path)
    assert read_table(path, label="done").label_column == "done"
