import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.headers import Row, unique_names, without_repeats
from glassformer.data.rows import batches_of, iterate_rows


@pytest.mark.parametrize(
    ("header", "names", "note"),
    [
        ("text,text", ["text", "text_2"], "1 column without a name of its own: column 2 ('text') is 'text_2'"),
        ("text,text,text_2", ["text", "text_3", "text_2"], "column 2 ('text') is 'text_3'"),
        (",text", ["column_1", "text"], "1 column without a name of its own: column 1 is 'column_1'"),
        ("a,, ", ["a", "column_2", "column_3"], "2 columns without a name of their own: column 2 is 'column_2', 3 is"),
        ("column_2,", ["column_2", "column_3"], "column 2 is 'column_3'"),
        ("a,b", ["a", "b"], None),
    ],
)
def test_each_column_gets_a_name_of_its_own(header: str, names: list[str], note: str | None) -> None:
    notes: list[str] = []
    assert unique_names(header.split(","), notes.append) == names
    assert len(notes) == (note is not None)
    assert note is None or note in notes[0]


def test_a_header_that_is_repeated_is_left_out_and_counted() -> None:
    notes: list[str] = []
    table = b"text,label\na,1\nb,2\ntext,label\nc,1\ntext,label\n"
    (frame,) = iterate_rows(io.BytesIO(table), rows_per_batch=9, on_note=notes.append)
    assert frame.rows() == [("a", "1"), ("b", "2"), ("c", "1")]
    assert notes == [
        "left out: 2 × the header again, in rows 4, 6 of the file",
        "rows are counted from 1 below the header: row 3 is row 5 of the file",
    ]
    (frame,) = iterate_rows(io.BytesIO(b"text\na\ntext\n"), rows_per_batch=9)
    assert frame["text"].to_list() == ["a", "text"]


cells = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=9)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    names = cells.filter(lambda name: bool(name.strip()))
    header = draw(st.lists(names, min_size=2, max_size=4, unique=True))
    rows = st.lists(cells, min_size=len(header), max_size=len(header)).filter(lambda row: row != header)
    return [header, *draw(st.lists(rows, min_size=1, max_size=6))]


@given(tables())
def test_a_table_without_a_mess_is_unchanged(table: list[list[str]]) -> None:
    notes: list[str] = []
    header = table[0]
    assert unique_names(header, notes.append) == header
    numbered = [Row(number, cells) for number, cells in enumerate(table, 1)]
    assert list(without_repeats(iter(numbered[1:]), numbered[0], on_note=notes.append)) == numbered[1:]
    assert notes == []
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows(table)
    (frame,) = iterate_rows(io.BytesIO(buffer.getvalue().encode()), rows_per_batch=9)
    assert [frame.columns, *map(list, frame.rows())] == table


def test_each_of_several_files_says_what_it_leaves_out(tmp_path: Path) -> None:
    files, notes = [tmp_path / "a.csv", tmp_path / "b.csv"], list[str]()
    for file, before in zip(files, (2, 3), strict=True):
        rows = [f"a film number {number},{number % 2}" for number in range(6)]
        file.write_text("\n".join(["text,label", *rows[:before], "text,label", *rows[before:]]) + "\n")
    assert sum(batch.height for batch in batches_of(files, rows_per_batch=100, on_note=notes.append)) == 12
    assert [note for note in notes if "left out" in note] == [
        "left out: 1 × the header again, in row 4 of the file",
        "b.csv: left out: 1 × the header again, in row 5 of the file",
    ]
