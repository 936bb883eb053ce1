import io

import pytest

from glassformer.data.rows import iterate_rows
from glassformer.errors import UsageError

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
        "text,label\na,x\nb,y\nc,x\nTotal,x\n",
        "text,a,b\nx,,\ny,1,2\nz,,\n",
        "text,a,b\nx,,\nTotal,1,\nz,1,2\n",
        "text,unit\ngood,kg\nbad,m\n",
        "text,kind,by\ngood day,a,x\nbad day,b,y\nno day,a,x\nfine day,,\nnew day,,\n",
    ],
)
def test_a_real_row_is_kept(content: str) -> None:
    _, rows, notes = read(content)
    lines = content.splitlines()
    assert len(rows) == len(lines) - 1
    assert rows[-1][0] == lines[-1].split(",")[0]
    assert not any("left out" in note for note in notes)


def test_a_row_that_is_cut_off_at_the_end_is_refused() -> None:
    with pytest.raises(UsageError, match="row 6 of the file has 2 fields where the header has 3"):
        read(f"{TABLE}more,5")
    with pytest.raises(UsageError, match=r"row 6 of the file has 1 field where the header has 3"):
        read(f"{TABLE}more")
