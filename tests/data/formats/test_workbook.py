import io
import zipfile
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.formats import sheets, workbook
from glassformer.data.rows import iterate_rows
from glassformer.data.shards import files_of
from glassformer.data.table import read_table
from glassformer.errors import UsageError
from tests.workbooks import (
    ERROR,
    FORMULA,
    TRUE,
    UNCOMPUTED,
    WRITERS,
    Cell,
    compound,
    styled,
    write_workbook,
    xlsx,
    zipped,
)

ROWS = [["text", "label"], ["café, au lait", "yes"], ["two\nlines", "no"], ["<3", "yes"]]


def rows_of(address: Path | str, *, notes: list[str] | None = None) -> pl.DataFrame:
    found: list[str] = [] if notes is None else notes
    return pl.concat(iterate_rows(Path(address), rows_per_batch=2, on_note=found.append))


@pytest.mark.parametrize("kind", WRITERS)
def test_the_only_sheet_and_a_named_one(kind: str, tmp_path: Path) -> None:
    path = write_workbook(tmp_path / f"a{kind}", {"Notes": [], "Data": ROWS})
    expected = pl.DataFrame(ROWS[1:], schema=ROWS[0], orient="row")
    assert rows_of(path).equals(expected)
    assert rows_of(f"{path}#Data").equals(expected)
    assert read_table(Path(f"{path}#Data")).source == f"{path}#Data"


@pytest.mark.parametrize("kind", WRITERS)
def test_several_sheets_are_listed_with_what_to_type(kind: str, tmp_path: Path) -> None:
    path = write_workbook(tmp_path / f"a{kind}", {"March": ROWS, "April 2": [*ROWS, ["x", "y"]], "Empty": []})
    with pytest.raises(UsageError, match="has 2 sheets that are not empty; name one of them") as caught:
        rows_of(path)
    assert caught.value.listing == (f"  {path}#March    4 rows, 2 columns", f"  {path}#April 2  5 rows, 2 columns")
    assert rows_of(f"{path}#April 2").height == 4
    with pytest.raises(UsageError, match=r"has no sheet 'march'\. Did you mean 'March'\?") as caught:
        rows_of(f"{path}#march")
    assert caught.value.listing[0] == f"  {path}#March    4 rows, 2 columns"
    with pytest.raises(UsageError, match=r"a\.\w+#Empty is empty"):
        rows_of(f"{path}#Empty")


def test_values_are_those_that_a_person_sees(tmp_path: Path) -> None:
    cells = {
        "whole": (3, "3"),
        "half": (3.5, "3.5"),
        "sum": (0.1 + 0.2, "0.3"),
        "long": (123456789012, "123456789012"),
        "date": (styled("date", 45000), "2023-03-15"),
        "datetime": (styled("datetime", 45000.5), "2023-03-15 12:00:00"),
        "hours": (styled("hours", 1.25), "30:00:00"),
        "time": (styled("time", 0.5), "12:00:00"),
        "truth": (TRUE, "TRUE"),
        "formula": (FORMULA, "X"),
        "error": (ERROR, ""),
        "empty": (None, ""),
        "spaces": ("  two  ", "  two  "),
    }
    path = tmp_path / "a.xlsx"
    path.write_bytes(xlsx({"S": [list(cells), [cell for cell, _ in cells.values()]]}))
    notes: list[str] = []
    row = rows_of(path, notes=notes).row(0, named=True)
    assert row == {name: seen for name, (_, seen) in cells.items()}
    assert notes == ["1 cell holds an error such as #REF! and is read as empty"]
    write_workbook(tmp_path / "a.ods", {"S": [["text", "n"], ["#N/A", 1], ["#1 of 3", "#REF!"]]})
    assert rows_of(tmp_path / "a.ods", notes=notes).rows() == [("", "1"), ("#1 of 3", "")]
    assert notes[1:] == ["2 cells hold an error such as #REF! and are read as empty"]


def test_a_workbook_under_the_extension_of_another_kind(tmp_path: Path) -> None:
    for name, content in {"a.xls": xlsx({"S": ROWS}), "b.xlsx": WRITERS[".ods"]({"S": ROWS})}.items():
        (tmp_path / name).write_bytes(content)
        assert rows_of(tmp_path / name).height == 3


def test_a_merged_cell_has_its_value_in_every_row(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    rows = [[], [None, "text", "label"], [None, "a", "x"], [None, "b"], [None, "c"], [None, "d", "y"], [None, "e"]]
    path.write_bytes(xlsx({"S": rows}, merged=["C3:C5", "B6:C6", "A3:A4", "F2:F4"]))
    assert rows_of(path)["label"].to_list() == ["x", "x", "x", "y", ""]


def test_a_merged_cell_of_libreoffice_has_its_value_in_every_row(tmp_path: Path) -> None:
    of_two = Cell(' table:number-rows-spanned="2" office:value-type="string"><text:p>x</text:p>')
    blank = Cell(' table:number-columns-repeated="2">')
    rows: list[list[object]] = [
        [],
        [None, None, "text", "label"],
        [blank, "a", of_two],
        [None, None, "b"],
        [None, None, "c", "y"],
    ]
    write_workbook(tmp_path / "a.ods", {"Cover": [[of_two], []], "S": rows})
    assert rows_of(f"{tmp_path}/a.ods#S")["label"].to_list() == ["x", "x", "y"]


def test_what_a_person_does_not_see_is_said(tmp_path: Path) -> None:
    path, notes = write_workbook(tmp_path / "a.xlsx", {"S": [*ROWS, ["x", UNCOMPUTED], ["y", FORMULA]]}), list[str]()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        for member in old.namelist():
            new.writestr(member, old.read(member).decode().replace('<row r="2">', '<row r="2" hidden="1" spans="1:2">'))
    assert rows_of(tmp_path / "b.xlsx", notes=notes)["label"].to_list()[-2:] == ["", "X"]
    assert notes == [
        "1 cell holds a formula without a value, and is read as empty: save the workbook in a spreadsheet program, "
        "which computes formulas",
        "1 row is hidden in the sheet, and read like the others",
    ]
    write_workbook(path, {"S": [["text", "label"], *[[text, UNCOMPUTED] for text in "abc"]]})
    with pytest.raises(UsageError, match="no row has a label") as caught:
        read_table(path)
    assert "3 cells hold a formula without a value" in caught.value.listing[0]


STRUCK = Cell(' t="inlineStr"><is><r><rPr><strike/></rPr><t>no </t></r><r><t>yes</t></r></is>')


@pytest.mark.parametrize(
    ("cell", "said"), [(STRUCK, True), (Cell(' s="5"><v>1</v>'), True), (styled("date", 1), False)]
)
def test_what_is_struck_through_is_said(cell: Cell, said: bool, tmp_path: Path) -> None:
    write_workbook(tmp_path / "a.xlsx", {"S": [*ROWS, ["x", cell]]})
    fonts, style = "<fonts><font/><font><strike/></font></fonts><cellXfs>", '<xf fontId="1"/></cellXfs>'
    with zipfile.ZipFile(tmp_path / "a.xlsx") as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        for member in old.namelist():
            content = old.read(member).decode().replace("<cellXfs>", fonts).replace("</cellXfs>", style)
            new.writestr(member, content)
    notes: list[str] = []
    assert rows_of(tmp_path / "b.xlsx", notes=notes).height == 4
    assert notes == ["some cells, or parts of them, are struck through, and read like the others"] * said


def test_the_numbers_of_rows_as_pandas_writes_them_are_an_index(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", {"S": [[None, "text"], [0, "a"], [1, "b"]]})
    assert rows_of(path).to_dicts() == [{"index": "0", "text": "a"}, {"index": "1", "text": "b"}]


def test_hidden_sheets_are_read_by_name_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(xlsx({"Lists": [["a"], ["b"]], "Data": ROWS}, hidden=["Lists"]))
    assert rows_of(path).height == 3
    assert rows_of(f"{path}#Lists").rows() == [("b",)]


def test_blank_rows_and_columns_without_a_name_are_left_out(tmp_path: Path) -> None:
    path = write_workbook(
        tmp_path / "a.xlsx", {"S": [[], [None, "text", None, "n"], [None, "x", None, 1], [], ["", " "]]}
    )
    assert rows_of(path).to_dicts() == [{"text": "x", "n": "1"}]


def test_what_stands_around_a_table_is_left_out_and_said(tmp_path: Path) -> None:
    around = [["Feedback of 2024"], [], *ROWS, [], ["Source: the shop"]]
    path, notes = write_workbook(tmp_path / "a.xlsx", {"S": around}), list[str]()
    assert rows_of(path, notes=notes).rows() == [tuple(row) for row in ROWS[1:]]
    assert notes == [
        "left out: 1 row above the header, which is row 3: row 1 ('Feedback of 2024')",
        "left out: 1 row at the end: row 8 ('Source: the shop')",
        "rows are counted from 1 below the header: row 1 is row 4 of the file",
    ]


def test_a_value_without_a_column_name_is_said(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", {"S": [["text"], [], ["good", "yes"], ["bad", "no"]]})
    with pytest.raises(UsageError, match="is 'text', and names no column for 'yes' in row 3 of the file"):
        rows_of(path)


def test_workbooks_of_a_folder_and_of_an_archive(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    first = write_workbook(tmp_path / "all" / "a.xlsx", {"S": ROWS})
    second = write_workbook(tmp_path / "all" / "b.xlsx", {"S": ROWS, "T": ROWS})
    with pytest.raises(UsageError, match=r"b\.xlsx has 2 sheets"):
        read_table(tmp_path / "all")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(first, "a.xlsx")
        archive.write(second, "b.xlsx")
    assert rows_of(f"{tmp_path}/all.zip#b.xlsx#T").height == 3
    with pytest.raises(UsageError, match="has 2 sheets") as caught:
        rows_of(f"{tmp_path}/all.zip#b.xlsx")
    assert caught.value.listing[1] == f"  {tmp_path}/all.zip#b.xlsx#T  4 rows, 2 columns"
    second.unlink()
    assert files_of(tmp_path / "all") == [first]
    assert read_table(tmp_path / "all").frame.height == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", b"", "a.xlsx is empty"),
        ("~$a.xlsx", b"\4Anna", r"'~\$a\.xlsx' is the file by which Excel marks .*; name the workbook: 'a\.xlsx'"),
        ("a.xls", b"text\tlabel\nx\t1\n", r"a\.xls is not a workbook.*give it the extension \.csv"),
        ("a.xlsx", compound("EncryptedPackage", b"x" * 4096), "a.xlsx is protected by a password"),
        ("a.xls", xlsx({"S": ROWS})[:99], "is damaged: its end is missing"),
        ("a.ods", xlsx({"S": ROWS})[:-99], "is damaged: its end is missing"),
        ("a.xlsx", zipped({"Index/Document.iwa": ""}), "is a document of Numbers, Pages or Keynote"),
        ("a.xlsx", xlsx({"S": []}), "is empty"),
        ("a.xlsx", xlsx({"S": [["text"]]}), "a header but no rows"),
    ],
)
def test_what_cannot_be_read_is_said(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        rows_of(tmp_path / name)


def test_a_workbook_that_takes_all_memory_ends_another_process(tmp_path: Path) -> None:
    write_workbook(tmp_path / "a.xlsx", {"S": [["a"]]})
    far = '<c r="XFD1048576"><v>1</v></c>'
    with zipfile.ZipFile(tmp_path / "a.xlsx") as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        for member in old.namelist():
            content = old.read(member).decode()
            new.writestr(member, content.replace("</sheetData>", f'<row r="1048576">{far}</row></sheetData>'))
    with pytest.raises(UsageError, match=r"b\.xlsx cannot be read: it takes too much memory, or is damaged"):
        rows_of(tmp_path / "b.xlsx")


@pytest.mark.parametrize(("times", "refused"), [(2**20, False), (2_000_000_000, True)])
def test_a_row_that_is_repeated_beyond_any_sheet_is_refused(times: int, refused: bool, tmp_path: Path) -> None:
    write_workbook(tmp_path / "a.ods", {"S": ROWS})
    empty = f'<table:table-row table:number-rows-repeated="{times}"><table:table-cell/></table:table-row></table:table>'
    with zipfile.ZipFile(tmp_path / "a.ods") as old, zipfile.ZipFile(tmp_path / "b.ods", "w") as new:
        for member in old.namelist():
            new.writestr(member, old.read(member).replace(b"</table:table>", empty.encode()))
    if refused:
        with pytest.raises(
            UsageError, match=r"b\.ods cannot .*: a row is repeated 2,000,000,000 times, and a sheet has"
        ):
            rows_of(tmp_path / "b.ods")
    else:
        assert rows_of(tmp_path / "b.ods").height == 3


def test_without_the_extra_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_workbook(tmp_path / "a.xlsx", {"S": ROWS})
    monkeypatch.setattr(workbook, "is_installed", lambda package: package != "python_calamine")
    with pytest.raises(UsageError, match=r"pip install .*\[excel\]'; or save the sheet as CSV"):
        rows_of(path)


@pytest.mark.parametrize("name", ["a.xlsx", "a.ods", "a.xls"])
def test_a_workbook_in_a_pipe_is_told_by_its_first_bytes(name: str, tmp_path: Path) -> None:
    path = write_workbook(tmp_path / name, {"S": ROWS})
    with path.open("rb") as piped:
        (frame,) = iterate_rows(piped, rows_per_batch=99)
    assert frame.rows() == [tuple(row) for row in ROWS[1:]]


def test_a_damaged_workbook_in_a_pipe_is_refused_by_the_name_of_the_pipe() -> None:
    piped = io.BufferedReader(io.BytesIO(b"PK\x03\x04 no archive"))
    with pytest.raises(UsageError, match="damaged") as caught:
        list(iterate_rows(piped, rows_per_batch=99))
    assert "standard input" in str(caught.value)


@pytest.mark.parametrize(
    ("members", "what"),
    [
        ({"[Content_Types].xml": "", "word/document.xml": ""}, "a Word document"),
        ({"[Content_Types].xml": "", "ppt/presentation.xml": ""}, "a PowerPoint presentation"),
        ({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": ""}, "a text document"),
    ],
)
def test_a_document_is_no_workbook(members: dict[str, str], what: str, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(zipped(members))
    with pytest.raises(UsageError, match=rf"a\.xlsx is {what} and not a workbook\. Copy its table"):
        rows_of(tmp_path / "a.xlsx")
    with (tmp_path / "a.xlsx").open("rb") as piped, pytest.raises(UsageError, match=f"^standard input is {what}"):
        list(iterate_rows(piped, rows_per_batch=99))


@pytest.mark.parametrize("styles", [b"<styleSheet>" + b" " * 2**25, b"<styleSheet><fonts>"], ids=["large", "cut"])
def test_styles_that_cannot_be_parsed_strike_nothing(styles: bytes) -> None:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/styles.xml", styles)
    with zipfile.ZipFile(raw) as archive:
        assert sheets._struck_styles(archive) == set()
