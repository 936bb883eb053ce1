import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.rows import iterate_rows
from glassformer.data.table import read_table
from glassformer.errors import UsageError
from glassformer.labels.mend import default_out, mend, read_changes
from glassformer.labels.truth import truth_of
from tests.workbooks import write_workbook

ROWS = [
    ("a lovely film, truly", "good"),
    ("", "good"),  # not usable, and kept
    ('she said "no"', "bad"),
    ("two\nlines", "bad"),
    ("=1+1 is a formula", "good"),
    ("the last one", "good"),
]


def fixes(folder: Path, lines: Sequence[tuple[object, str, str, str]]) -> Path:
    file = folder / "fixed.csv"
    pl.DataFrame(lines, schema=["row", "text", "label", "new_label"], orient="row", strict=False).cast(
        pl.String
    ).write_csv(file)
    return file


def original(folder: Path, name: str = "reviews.csv") -> Path:
    frame = pl.DataFrame(ROWS, schema=["text", "label"], orient="row").with_columns(id=pl.int_range(6) / 2)
    file = folder / name
    if name.endswith(".jsonl.gz"):
        file.write_bytes(gzip.compress(frame.write_ndjson().encode()))
    elif name.endswith("jsonl"):
        file.write_text(frame.write_ndjson(), encoding="utf-8")
    elif name.endswith("parquet"):
        frame.write_parquet(file)
    else:
        frame.write_csv(file, separator="\t" if name.endswith("tsv") else ";", include_bom=True)
    return file


CHANGES = [(1, ROWS[0][0], "good", "bad"), (4, "two lines", "bad", "drop"), (6, ROWS[5][0], "good", "")]


@pytest.mark.parametrize("name", ["reviews.csv", "reviews.tsv", "reviews.jsonl", "reviews.jsonl.gz", "reviews.parquet"])
def test_the_mended_table_has_the_format_and_all_other_cells_of_the_original(name: str, tmp_path: Path) -> None:
    source = original(tmp_path, name)
    table = truth_of(read_table(source))
    changes = read_changes(fixes(tmp_path, CHANGES), table)
    assert changes == {1: "bad", 4: None}
    out = default_out(source)
    assert out.name == name.replace("reviews", "reviews-mended")
    mended = mend(source, out, table, changes)
    assert (mended.rows, mended.relabelled, mended.dropped) == (5, 1, 1)
    if name.endswith("parquet"):
        was, frame = pl.read_parquet(source), pl.read_parquet(out)
        assert was.schema == frame.schema
        assert frame["label"].to_list() == ["bad", "good", "bad", "good", "good"]
        assert frame["id"].to_list() == [0, 0.5, 1, 2, 2.5]
        return
    before, after = (_text_of(file) for file in (source, out))
    if "jsonl" in name:
        lines = [json.loads(line) for line in after.splitlines()]
        assert [line["label"] for line in lines] == ["bad", "good", "bad", "good", "good"]
        assert after.splitlines()[1:] == [*before.splitlines()[1:3], *before.splitlines()[4:]]
    else:
        separator = "\t" if name.endswith("tsv") else ";"
        one, last = f"a lovely film, truly{separator}good", f'"two\nlines"{separator}bad{separator}1.5\n'
        assert after == before.replace(one, one.replace("good", "bad")).replace(last, "")


def _text_of(file: Path) -> str:
    stored = file.read_bytes()
    return (gzip.decompress(stored) if file.suffix == ".gz" else stored).decode()


def test_labels_that_are_numbers_keep_their_type(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": [f"text number {number}" for number in range(4)], "label": [0, 1, 1, 0]})
    lines = fixes(tmp_path, [(1.0, "text number 0", "0", "1.0"), (2, "text number 1", "1.0", "0")])
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.jsonl")
    for name in ("a.parquet", "a.jsonl"):
        table = truth_of(read_table(tmp_path / name))
        mend(tmp_path / name, tmp_path / f"out-{name}", table, read_changes(lines, table))
    assert pl.read_parquet(tmp_path / "out-a.parquet")["label"].to_list() == [1, 0, 1, 0]
    assert [json.loads(line)["label"] for line in (tmp_path / "out-a.jsonl").read_text().splitlines()] == [1, 0, 1, 0]


def test_a_column_of_json_may_hold_numbers_and_words(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    rows = [{"text": f"text number {number}", "label": (1, "a b")[number % 2]} for number in range(4)]
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    table = truth_of(read_table(source))
    lines = fixes(tmp_path, [(1, "text number 0", "1", "a b"), (2, "text number 1", "a b", "1")])
    mend(source, tmp_path / "out.jsonl", table, read_changes(lines, table))
    found = [json.loads(line)["label"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found == ["a b", "1", 1, "a b"]


def test_what_a_spreadsheet_changes_does_no_harm(tmp_path: Path) -> None:
    """Its quote before a formula, and another line break."""
    table = truth_of(read_table(original(tmp_path)))
    lines = [(5, "'=1+1 is a formula", "good", " DROP "), (4, "two\r\nlines", "bad ", "bad")]
    assert read_changes(fixes(tmp_path, lines), table) == {5: None}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([(3, "another text", "bad", "good")], "row 1: row 3 of .* has another text: 'she said \"no\"'"),
        ([(3, ROWS[2][0], "good", "bad")], "row 1: row 3 of .* has the label 'bad', not 'good'"),
        ([(2, "", "good", "drop")], "row 1: .* has no usable row 2. Is it a file for another table"),
        ([(700, "x", "good", "")], "row 1: .* has no usable row 700"),
        ([("one", "x", "good", "")], "row 1: 'one' is not the number of a row"),
        ([(1, ROWS[0][0], "good", "baad")], "row 1: 'baad' is not a label of .* Did you mean 'bad'"),
        ([(1, ROWS[0][0], "good", "Bad")], "'Bad' is not a label of .* Did you mean 'bad'"),
        ([(1, ROWS[0][0], "good", "dorp")], "'dorp' is not a label of .* Did you mean 'drop'"),
        ([(1, ROWS[0][0], "good", "neutral")], "Known: 'bad', 'good'; drop leaves out the row"),
        ([(1, ROWS[0][0], "good", "bad"), (1, ROWS[0][0], "good", "drop")], "row 2 asks for 'drop' .* row 1 for ano"),
        ([(1, ROWS[0][0], "good", "")], "the column new_label is empty, so there is nothing to mend"),
    ],
)
def test_a_file_that_does_not_match_is_refused(
    lines: list[tuple[object, str, str, str]], says: str, tmp_path: Path
) -> None:
    table = truth_of(read_table(original(tmp_path)))
    with pytest.raises(UsageError, match=says):
        read_changes(fixes(tmp_path, lines), table)


def test_all_rows_that_are_refused_are_said_at_once(tmp_path: Path) -> None:
    table = truth_of(read_table(original(tmp_path)))
    lines = [(1, ROWS[0][0], "good", label) for label in ("bad", "drop", *["baad"] * 22)]
    with pytest.raises(UsageError, match=r"row 2 asks for 'drop' .* row 1 for another") as error:
        read_changes(fixes(tmp_path, lines), table)
    *others, more = error.value.listing
    assert len(others) == 20
    assert all(f"row {number}: 'baad' is not a label of" in said for number, said in enumerate(others, 3))
    assert more == "  and 2 more"


@pytest.mark.parametrize(("name", "written"), [("a.xlsx#S", "a-mended.xlsx"), ("a.arrow", "a-mended.parquet")])
def test_what_is_not_written_is_mended_as_another_kind(name: str, written: str, tmp_path: Path) -> None:
    source = tmp_path / name
    if name.endswith("arrow"):
        pl.DataFrame(ROWS, schema=["text", "label"], orient="row").write_ipc(source)
    else:
        write_workbook(tmp_path / "a.xlsx", {"S": [("text", "label"), *ROWS], "T": [("a",)]})
    out = default_out(source)
    assert out == tmp_path / written
    mend(source, out, truth_of(read_table(source)), {1: "bad", 4: None})
    frame = pl.concat(iterate_rows(out, rows_per_batch=9))
    assert frame.height == 5
    assert frame["label"][0] == "bad"


def test_other_files_and_kinds_are_refused(tmp_path: Path) -> None:
    source = original(tmp_path)
    table = truth_of(read_table(source))
    with pytest.raises(UsageError, match="has no column 'row', so it is not a file that `glassformer labels` wrote"):
        read_changes(source, table)
    with pytest.raises(UsageError, match="No such file"):
        read_changes(tmp_path / "fixd.csv", table)
    with pytest.raises(UsageError, match=r"the mended table of .* is written as"):
        mend(source, tmp_path / "out.jsonl", table, {1: "bad"})
    book = write_workbook(tmp_path / "a.xlsx", {"S": [("text", "label"), *ROWS]})
    with pytest.raises(UsageError, match=r"the mended table of .* is written as \.xlsx or csv"):
        mend(book, tmp_path / "out.parquet", table, {1: "bad"})
    assert mend(book, tmp_path / "out.csv", truth_of(read_table(book)), {1: "bad"}).rows == 6
    with pytest.raises(UsageError, match="unpack it first"):
        mend(tmp_path / "a.csv.zip", tmp_path / "out.csv", table, {1: "bad"})


def test_default_names() -> None:
    names = {"a.csv": "a-mended.csv", "a.b.csv.gz": "a.b-mended.csv.gz", "x/a.jsonl.xz": "x/a-mended.jsonl"}
    assert {name: str(default_out(Path(name))) for name in names} == names
