import csv
import io
import itertools
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.rows import iterate_rows, read_batches
from glassformer.errors import UsageError
from tests.workbooks import xlsx

BODY = "good,1,yes\nbad,2,no\nfine,3,yes\nawful,4,no\n"
TABLE = "Comment,Days,Happy\n" + BODY
SEMICOLONS = TABLE.replace(",", ";")
PLAIN = [tuple(row.split(",")) for row in BODY.splitlines()]


def read(content: str) -> tuple[list[str], list[tuple[str, ...]], list[str]]:
    notes: list[str] = []
    (frame,) = iterate_rows(io.BytesIO(content.encode()), rows_per_batch=99, on_note=notes.append)
    return frame.columns, frame.rows(), notes


@pytest.mark.parametrize(
    ("content", "left_out"),
    [
        (f"Feedback 2024\n\n{TABLE}", "1 row above the header, which is row 3: row 1 ('Feedback 2024')"),
        (f"Feedback 2024,,\n{TABLE}", "1 row above the header, which is row 2: row 1 ('Feedback 2024')"),
        (f'"Feedback, 2024"\n{TABLE}', "1 row above the header, which is row 2: row 1 ('Feedback, 2024')"),
        (f"Feedback, 2024\n{TABLE}", "1 row above the header, which is row 2: row 1 ('Feedback')"),
        (f"Feedback, 2024\n{SEMICOLONS}", "1 row above the header, which is row 2: row 1 ('Feedback, 2024')"),
        (f"A\nB\n\n{TABLE}", "2 rows above the header, which is row 4: row 1 ('A'), row 2 ('B')"),
        (f",,\n \n{TABLE}", None),
        (TABLE.replace("\n", "\n,days,\n", 1), "1 row of units below the header: row 2 ('days')"),
        (TABLE.replace("\n", "\n(w),(1-9),(y/n)\n", 1), "1 row of units below the header: row 2 ('(w)')"),
        (f"{TABLE}Total,10,\n", "1 row at the end: row 6 ('Total')"),
        (f"{TABLE}\nSumme:,10,\n", "1 row at the end: row 7 ('Summe:')"),
        (f"{TABLE}合計,10,\n平均,2.5,\n", "2 rows at the end: row 6 ('合計'), row 7 ('平均')"),
        (f"{TABLE}Source: the shop\n", "1 row at the end: row 6 ('Source: the shop')"),
        (f"{TABLE}\nthe shop\n", "1 row at the end: row 7 ('the shop')"),
        (f"{TABLE},2.5,\n", "1 row at the end: row 6 ('2.5')"),
    ],
)
def test_what_stands_around_a_table_is_left_out_and_said(content: str, left_out: str | None) -> None:
    columns, rows, notes = read(content)
    assert (columns, rows) == (["Comment", "Days", "Happy"], PLAIN)
    notes = [note for note in notes if "separated" not in note and "are counted" not in note]
    assert notes == ([f"left out: {left_out}"] if left_out else [])


@pytest.mark.parametrize(
    "content",
    [
        "text\nhello; world\nfine; really\nwell; so\n",
        "text\nTotal\nsum\n",
        ",text\n0,hello\n1,bye\n",
        "text,\ngood day,yes\nbad day,no\n",
        "text,label\na,1\nb,0\nc,1\ntotal,1\n",
        "text,label\na,1\nb,0\nc,1\nd,\n",
        "text,label\na b,1\nb,0\nc,1\n,\nd,\n",
        "text,label\na,x\nb,y\nc,x\nTotal,x\n",
        "text,n\na,1\nb,n/a\nc,\nd,4\nmedia,9\nminimal,4\n",
        "text,label\na,\nb,0\nc,1\nd,1\nMin,1\n",
        "name,text,stars\nAnna,a,3\nBert,b,4\nKim,c,4\nMax,,5\n",
        "text,a,b\nx,,\ny,1,2\nz,,\n",
        "text,a,b\nx,,\nTotal,1,\nz,1,2\n",
        "text,unit\ngood,kg\nbad,m\n",
        "text,kind,by\ngood day,a,x\nbad day,b,y\nno day,a,x\nfine day,,\nnew day,,\n",
    ],
)
def test_a_real_row_is_kept(content: str) -> None:
    _, rows, notes = read(content)
    lines = content.splitlines()
    assert len(rows) == len(lines) - 1, rows
    assert rows[-1][0] == lines[-1].split(",")[0]
    assert not any("left out" in note for note in notes)


def test_a_row_that_is_cut_off_at_the_end_is_refused() -> None:
    with pytest.raises(UsageError, match="row 6 of the file has 2 fields where the header has 3"):
        read(f"{TABLE}more,5")
    with pytest.raises(UsageError, match=r"row 6 of the file has 1 field where the header has 3"):
        read(f"{TABLE}more")


NAMES = ["Nr", "Rückmeldung", "Bewertung", "Datum"]
UNITS = ["", "", "(Sterne)", "(TT.MM.)"]
TITLES = [["Export, März 2024"], ["Erstellt von", "Anna"], ["Filiale Nord"]]
ENDS: dict[str, list[list[str]]] = {
    "": [],
    "total": [["Summe", "9", "", ""]],
    "totals": [["Average", "5", "", ""], ["Min", "1", "", ""], ["Max", "9", "", ""]],
    "note": [["", "", "", ""], ["Quelle: Kundendienst"]],
    "both": [["Tổng cộng", "9", "", ""], ["Quelle: Kundendienst", "", "", ""]],
}


def page(titles: int, padded: bool, blank: str, units: bool) -> list[list[str]]:
    """Return what stands above the rows: titles, perhaps a blank row, the header and perhaps units."""
    above = [[*title, *[""] * (len(NAMES) - len(title))] if padded else title for title in TITLES[:titles]]
    gaps: dict[str, list[list[str]]] = {"none": [], "padded": [[""] * len(NAMES)], "bare": [[]]}
    gap = gaps[blank] if titles else []
    return [*above, *gap, NAMES, *([UNITS] if units else [])]


@pytest.mark.parametrize(
    ("titles", "rows", "separator"),
    [(0, 4, ","), (1, 4, ";"), (2, 4, ","), (3, 4, "\t"), (1, 7, ","), (2, 50, ";")],
)
def test_all_that_stands_around_a_table_is_told_from_it_in_any_combination(
    titles: int, rows: int, separator: str
) -> None:
    body = [
        [str(at), f"Die Lieferung, {at} war gut", "gut" if at % 3 else "schlecht", f"2024-03-{at % 27 + 1:02d}"]
        for at in range(rows)
    ]
    wrong = []
    for padded, blank, units, again, end in itertools.product(
        (False, True), ("none", "padded", "bare"), (False, True), ("never", "header", "page"), ENDS
    ):
        start = page(titles, padded, blank, units)
        second = {"never": [], "header": [NAMES], "page": start}[again]
        table = [*start, *body[: rows // 2], *second, *body[rows // 2 :], *ENDS[end]]
        buffer = io.StringIO(newline="")
        csv.writer(buffer, delimiter=separator).writerows(table)
        try:
            columns, found, notes = read(buffer.getvalue())
            right = columns == NAMES and list(map(list, found)) == body
            right = right and sum("left out" in note for note in notes) == bool(titles) + units + bool(second) + bool(
                end
            )
        except UsageError:
            right = False
        if not right:
            wrong.append((padded, blank, units, again, end))
    assert wrong == []


@pytest.mark.parametrize(
    ("titles", "again", "end"), [(1, "page", "both"), (3, "header", "totals"), (2, "page", "note")]
)
def test_a_sheet_is_read_as_a_text_is(titles: int, again: str, end: str, tmp_path: Path) -> None:
    body = [[str(at), f"Die Lieferung {at} war gut", "gut" if at % 3 else "schlecht", "1.3.2024"] for at in range(9)]
    start = page(titles, False, "bare", True)
    sheet: list[Sequence[object]] = [*start, *body[:4], *(start if again == "page" else [NAMES]), *body[4:], *ENDS[end]]
    path = tmp_path / "a.xlsx"
    path.write_bytes(xlsx({"S": sheet}))
    frame = pl.concat(read_batches(path, rows_per_batch=99))
    assert [frame.columns, *map(list, frame.rows())] == [NAMES, *body]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (
            "Export 2024,,\nFrage,Art,Ort\ngut,a,x\ngut,b,y\nja,Art,y\n",
            "'Export 2024', and names no column for 'Art' in",
        ),
        ("Umfrage,\nFrage,Art\ngut,a\nso,b\n", "'Umfrage', and names no column for 'Art' in row 2 of the file"),
        ("Umfrage,\nFrage,Art\ngut,\nso,\nna,\n", "'Umfrage', and names no column for 'Art' in row 2 of the file"),
    ],
)
def test_a_title_is_not_taken_for_the_header_without_a_word(content: str, named: str) -> None:
    with pytest.raises(UsageError, match=f"the first row that is not blank is {named}"):
        read(content)


def test_a_header_of_two_rows_is_that_of_the_merged_cells() -> None:
    columns, rows, notes = read("Stand heute,,\nFall,Werte,\nFall,gut,schlecht\nso so,x,\nna ja,,x\nsehr,x,\n")
    assert (columns, rows[0]) == (["Fall", "gut", "schlecht"], ("so so", "x", ""))
    assert "2 rows above the header, which is row 3" in notes[0]
    with pytest.raises(UsageError, match="names no column for 'so'"):
        read("Fall,Werte,\nFall,gut,so\nFall,x,\nna ja,,x\n")


@pytest.mark.parametrize("columns", ["text,label", "id,text,label"])
def test_a_text_without_a_label_and_again_with_one_is_no_header(columns: str) -> None:
    before = ["", *"123456"] if columns.startswith("id") else [""] * 7
    texts = ["late,", "late,Lieferung", "torn,", "torn,Rechnung", "row,Rechnung", "no,Lieferung"]
    rows = [f"{number},{text}" if number else text for number, text in zip(before[1:], texts, strict=True)]
    found, _, notes = read("\n".join([columns, *rows, ""]))
    assert (found, notes) == (columns.split(","), [])


def test_rows_that_occur_twice_are_no_header() -> None:
    _, rows, notes = read("Frage,Art\nsehr gut,a\nschlecht,b\nsehr gut,a\nschlecht,b\n")
    assert rows == [("sehr gut", "a"), ("schlecht", "b")] * 2
    assert notes == []


def test_a_question_may_be_a_name() -> None:
    question = "Wie war Ihr Aufenthalt bei uns, und was sollen wir daran noch besser machen?"
    columns, rows, _ = read(f'Umfrage 2024\n\nTag,"{question}",Filiale\n1.3.2024,gut,Bonn\n2.3.2024,so so,Köln\n')
    assert columns == ["Tag", question, "Filiale"]
    assert rows == [("1.3.2024", "gut", "Bonn"), ("2.3.2024", "so so", "Köln")]


NUMBERED = "".join(f"wort {at},{at % 5}\n" for at in range(6))


@pytest.mark.parametrize(
    ("content", "columns", "rows"),
    [
        ("Export 2024,\n\ntext,label\nabc,\ndef,\nghi,\n", ["text", "label"], 3),
        ("Export 2024,,\ntext,label,note\nabc,,\ndef,,\nghi,,\n", ["text", "label", "note"], 3),
        (f",note\nKommentar x,k.A.\n{NUMBERED}", ["column_1", "note"], 7),
        (",phrase,kind\na b,how?,x\nc,so,y\na b,how?,x\nd,so,y\n", ["column_1", "phrase", "kind"], 4),
        ("beschr,gruppe,\na b,g,\na c,h,\na b,g,\n", ["beschr", "gruppe", "column_3"], 3),
        ("beschr,gruppe,\na b,g,\na c,h,stray\na d,h,\n", ["beschr", "gruppe", "column_3"], 3),
        ("beschr,gruppe,\n" + "a b,g,\n" * 59 + "a c,h,stray\n", ["beschr", "gruppe", "column_3"], 60),
        (f"Umfrage\nvon,Anna\ntext,label\n{NUMBERED}", ["text", "label"], 6),
        (f"Umfrage,\nvon,Anna\ntext,label\n{NUMBERED}", ["text", "label"], 6),
        (f"von,Anna\ntext,label\n{NUMBERED}", ["text", "label"], 6),
        ("Person,,Angabe,\nNr,Tag,text,ziel\n" + "1,1.3.2024,wort,a\n" * 6, ["Nr", "Tag", "text", "ziel"], 6),
        ("von,Anna\n\ntext,label\nabc,x\ndef,y\n", ["text", "label"], 2),
        ("wort,art\ntitle,tag\nabc,x\ndef,y\n", ["wort", "art"], 3),
        ("english,german\ntext,label\nabc,x\ndef,y\n", ["english", "german"], 3),
    ],
)
def test_a_row_is_taken_for_the_header_below_titles_alone(content: str, columns: list[str], rows: int) -> None:
    found, kept, _ = read(content)
    assert (found, len(kept)) == (columns, rows)


@pytest.mark.parametrize(
    "content", ["beschr\na,x\nb,y\nc,z\na,x\n", "beschr,\na,x\nb,y\nc,z\na,x\n", f"beschr,\na,n/a\n{NUMBERED}"]
)
def test_a_row_that_may_be_data_is_not_taken_for_the_header(content: str) -> None:
    with pytest.raises(UsageError):
        read(content)


PAGES = (
    "Feedback 2024{0}\ntext,label\nabc,x\ndef,y\nFeedback 2024{0}\ntext,label\nFeedback 2025,\nFeedback 2026,\nghi,x\n"
)


@pytest.mark.parametrize(
    ("pad", "kept", "named"),
    [
        ("", ["Feedback 2025", "Feedback 2026"], "row 5 ('Feedback 2024')"),
        (",", ["Feedback 2026"], "row 5 ('Feedback 2024'), row 7 ('Feedback 2025')"),
    ],
)
def test_what_is_left_out_with_a_header_that_stands_again_is_named(pad: str, kept: list[str], named: str) -> None:
    _, rows, notes = read(PAGES.format(pad))
    assert [text for text, _ in rows] == ["abc", "def", *kept, "ghi"]
    assert f"left out: 1 × the header again, in row 6 of the file, and what stands around it: {named}" in notes


OF_QUALTRICS = 'How was it?,Days,Happy?\n"{""ImportId"":""a""}","{""ImportId"":""b""}",\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (TABLE.replace(BODY, OF_QUALTRICS + BODY), "2 rows below the header, as programs for surveys"),
        (f"Comment,,Happy\nOpen-Ended Response,Days,Response\n{BODY}", "1 row below the header, as programs for"),
        (TABLE.replace(BODY, f"-------,----,-----\n{BODY}\n(4 rows affected)\n"), "1 row of lines drawn around"),
        (TABLE.replace(BODY, f"-----+----+---\n{BODY}(4 rows)\n").replace(",", "|"), "1 row at the end: row 7"),
        (f"# by a tool, on Monday, of 1.2.3, and so on\n# 4 rows\n{TABLE}", "2 rows above the header, which is row 3"),
    ],
)
def test_what_programs_write_around_a_header_is_left_out(content: str, said: str) -> None:
    columns, rows, notes = read(content)
    assert (columns, rows) == (["Comment", "Days", "Happy"], PLAIN)
    assert said in " ".join(notes)


def test_a_table_in_a_frame_is_read() -> None:
    line = f"+{'-' * 9}+{'-' * 6}+{'-' * 7}+\n"
    body = [f"| {one:<7} | {two:<4} | {three:<5} |\n" for one, two, three in [("Comment", "Days", "Happy"), *PLAIN]]
    columns, rows, _ = read("".join([line, body[0], line, *body[1:], line, "4 rows in set (0.00 sec)\n"]))
    assert [name.strip() for name in columns[1:4]] == ["Comment", "Days", "Happy"]
    assert [tuple(cell.strip() for cell in row[1:4]) for row in rows] == PLAIN


def test_a_text_of_dashes_is_a_text() -> None:
    assert read("text\n---\ngood\nbad\n")[1] == [("---",), ("good",), ("bad",)]
    assert len(read("text,label\na,b\n---,--\nc,d\n")[1]) == 3
