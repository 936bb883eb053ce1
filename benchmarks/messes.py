"""Are tables read as they come? Some 40 files with what exports and people do to tables, and what is read of each.

    python -m benchmarks.messes

Each mess is written into a folder that is removed, and read as `train` reads it. It says what should come of it: so
many rows, with these columns of the text and the label, this first text and these notes; or the words of a refusal.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.experiment import arguments, running
from glassformer.data.sources import SourceConfig, read_sources
from glassformer.data.splits import ValidationConfig
from glassformer.errors import UsageError
from glassformer.targets.tasks import find_task
from tests.workbooks import ERROR, xlsx

GOOD = ("Große Freude über die Lieferung", "Sehr schöne Schuhe", "Prima, gern wieder", "Alles kam früh an")
BAD = ("Leider beschädigt geliefert", "Die Größe passt nicht", "Nie wieder, schade ums Geld", "Hilfe kam zu spät")
TEXTS = [text for pair in zip(GOOD, BAD, strict=True) for text in pair]
LABELS = ["gut", "schlecht"] * len(GOOD)
STARS = ["5", "1", "5", "2", "4", "1", "5", "2"]
RUSSIAN = ("всё очень хорошо", "очень плохо", "спасибо вам", "больше никогда")
JAPANESE = ("とても良い商品でした", "すぐに壊れてしまった", "また買いたいです", "二度と買いません")
NAMES = ["Kommentar", "Kategorie", "Sterne"]
ROWS = [list(row) for row in zip(TEXTS, LABELS, STARS, strict=True)]
N = len(ROWS)


@dataclass(frozen=True, kw_only=True)
class Read:
    """What a mess should be read as. The notes hold at least these words."""

    rows: int = N
    text: str = "Kommentar"
    label: str = "Kategorie"
    first: str = TEXTS[0]
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refused:
    """The words that the refusal of a mess should hold."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Mess:
    """A file, and what should come of it.

    Attributes:
        settings: of `SourceConfig`.
    """

    name: str
    file: str
    content: bytes
    expected: Read | Refused
    settings: Mapping[str, Any] = field(default_factory=dict)


def table(rows: Sequence[Sequence[str]], separator: str = ",", end: str = "\n") -> str:
    """Return rows as CSV."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=separator, lineterminator=end).writerows(rows)
    return buffer.getvalue()


def _encodings() -> list[Mess]:
    plain = table([NAMES, *ROWS])
    russian = table([["текст", "оценка"], *([text, mark] for text, mark in zip(RUSSIAN, "дндн", strict=True))])
    japanese = table([["本文", "分類"], *([text, mark] for text, mark in zip(JAPANESE, "良悪良悪", strict=True))])
    told = Read(rows=4, text="текст", label="оценка", first=RUSSIAN[0])
    mixed = plain.encode() + table([["Schöne Grüße zurück", "gut", "5"]]).encode("cp1252")
    return [
        Mess("UTF-8 with a byte order mark", "a.csv", b"\xef\xbb\xbf" + plain.encode(), Read()),
        Mess(
            "UTF-16 with tabs, as Excel saves Unicode text",
            "a.csv",
            table([NAMES, *ROWS], "\t", "\r\n").encode("utf-16"),
            Read(said=("UTF-16", "separated by tab")),
        ),
        Mess(
            "Windows-1252 with semicolons, as German Excel saves CSV",
            "a.csv",
            table([NAMES, *ROWS], ";", "\r\n").encode("cp1252"),
            Read(said=("Windows-1252", "separated by semicolon")),
        ),
        Mess(
            "Shift-JIS",
            "a.csv",
            japanese.encode("cp932"),
            Read(rows=4, text="本文", label="分類", first=JAPANESE[0], said=("Shift-JIS",)),
        ),
        Mess("KOI8-R that the user names", "a.csv", russian.encode("koi8-r"), told, {"encoding": "koi8-r"}),
        Mess(
            "an encoding that the file is not in",
            "a.csv",
            plain.encode("cp1252"),
            Refused(("line 2: byte 4 of the line, 0xdf", "does not fit UTF-8")),
            {"encoding": "utf-8"},
        ),
        Mess("two encodings, pasted together", "a.csv", mixed, Refused((f"line {N + 2}", "mixes encodings"))),
        Mess("a NUL byte", "a.csv", plain.replace("Prima", "Pri\0ma").encode(), Refused(("line 6", "NUL byte"))),
    ]


def _lines() -> list[Mess]:
    plain = table([NAMES, *ROWS])
    mixed = "".join(line + ("\r\n" if place % 2 else "\n") for place, line in enumerate(plain.splitlines()))
    quoted = [['Er sagte "nie wieder", und ging', "schlecht", "1"], ["Gut;\nund schnell", "gut", "5"]]
    unclosed = plain.replace('"', "").replace("Sehr schöne", '"Sehr schöne')
    packed = gzip.compress(plain.encode(), mtime=0)
    return [
        Mess("lines that end in both ways", "a.csv", mixed.encode(), Read()),
        Mess("lines of old Macs", "a.csv", plain.replace("\n", "\r").encode(), Read()),
        Mess("the separator in a line of its own", "a.csv", b"sep=;\r\n" + table([NAMES, *ROWS], ";").encode(), Read()),
        Mess(
            "quotes, separators and line breaks in cells",
            "a.csv",
            table([NAMES, *quoted, *ROWS], ";").encode(),
            Read(rows=N + 2, first=quoted[0][0]),
        ),
        Mess("a quote that is never closed", "a.csv", unclosed.encode(), Refused(("row 4", "quote"))),
        Mess(
            "a comma in a text without quotes",
            "a.csv",
            plain.replace('"', "").encode(),
            Refused(("row 6 of the file has 4 fields where the header has 3", "double quotes")),
        ),
        Mess(
            "a last row that is cut off",
            "a.csv",
            plain.encode() + b"Das war leider,schle",
            Refused((f"row {N + 2} of the file has 2 fields",)),
        ),
        Mess("gzip under the name of a CSV", "a.csv", packed, Refused(("add the extension .gz",))),
    ]  # fmt: skip


def _around() -> list[Mess]:
    title, blank = ["Rückmeldungen, März 2024"], ["", "", ""]
    by = [["Erstellt von", "Anna", ""], ["Am", "1. März", ""]]
    index = [["", *NAMES], *([str(place), *row] for place, row in enumerate(ROWS))]
    merged: list[Sequence[object]] = [["Rückmeldung", None, "Wertung"], NAMES, *ROWS]
    twice = [["Kommentar", "Kategorie", "Kommentar"], *ROWS]
    padded, units = [*title, "", ""], ["", "", "(1–5)"]
    page, again = [padded, blank, NAMES, units], "the header again, in row"
    footer = [["Durchschnitt", "", "3,1"], ["Min", "", "1"], ["Max", "", "5"]]
    above = "above the header, which is row"
    return [
        Mess("a title and an empty row above the header", "a.csv", table([title, [], NAMES, *ROWS]).encode(),
             Read(said=(f"left out: 1 row {above} 3",))),
        Mess("who exported it above the header", "a.csv", table([*by, blank, NAMES, *ROWS], ";").encode(),
             Read(said=(f"left out: 2 rows {above} 4: row 1 ('Erstellt von'), row 2 ('Am')",))),
        Mess("empty first rows", "a.csv", table([blank, blank, NAMES, *ROWS]).encode(), Read()),
        Mess("a row of units", "a.csv", table([NAMES, ["", "", "(1–5)"], *ROWS]).encode(),
             Read(said=("left out: 1 row of units below the header: row 2 ('(1–5)')",))),
        Mess("totals at the end", "a.csv", table([NAMES, *ROWS, ["Summe", "", "25"]]).encode(),
             Read(said=(f"left out: 1 row at the end: row {N + 2} ('Summe')",))),
        Mess("average, least and most at the end", "a.csv", table([NAMES, *ROWS, *footer], ";").encode(),
             Read(said=(f"left out: 3 rows at the end: row {N + 2} ('Durchschnitt'), row {N + 3} ('Min')",))),
        Mess("a title with a comma above semicolons", "a.csv", table([NAMES, *ROWS], ";").join(
            ["Rückmeldungen, März 2024\n\n", ""]).encode(), Read(said=(f"left out: 1 row {above} 3", "semicolon"))),
        Mess("a title in all columns, and the header again", "a.csv",
             table([padded, blank, NAMES, *ROWS[:4], NAMES, *ROWS[4:]], ";").encode(),
             Read(said=(f"left out: 1 row {above} 3", f"{again} 8"))),
        Mess("pages with title, units and header, and totals at the end", "a.csv",
             table([*page, *ROWS[:4], *page, *ROWS[4:], ["Summe", "", "25"]], ";").encode(),
             Read(said=(f"left out: 1 row {above} 3", "1 row of units", f"{again} 11", "1 row at the end"))),
        Mess("a title above columns without names", "a.csv", table([["Export", ""], ["Frage", "Art"], *(
            row[:2] for row in ROWS)], ";").encode(), Refused(("'Export', and names no column for 'Art' in row 2",))),
        Mess("a note at the end", "a.csv", table([NAMES, *ROWS, [], ["Quelle: Kundendienst"]]).encode(),
             Read(said=(f"left out: 1 row at the end: row {N + 3} ('Quelle: Kundendienst')",))),
        Mess("the header again in the middle", "a.csv", table([NAMES, *ROWS[:4], NAMES, *ROWS[4:]]).encode(),
             Read(said=("left out: 1 × the header again, in row 6 of the file",))),
        Mess("the index of a data frame", "a.csv", table(index).encode(), Read(said=("column 1 is 'column_1'",))),
        Mess("a name that occurs twice", "a.csv", table(twice).encode(), Read(said=("is 'Kommentar_2'",))),
        Mess("a workbook with a title and merged cells in the header", "a.xlsx",
             xlsx({"S": [["Rückmeldungen"], [], *merged]}, merged=["A1:C1", "A3:B3"]),
             Read(said=(f"left out: 2 rows {above} 4",))),
        Mess("a workbook of two sheets", "a.xlsx", xlsx({"März": [NAMES, *ROWS], "April": [NAMES, *ROWS]}),
             Refused(("has 2 sheets that are not empty; name one of them",))),
        Mess("a workbook with an error in a cell", "a.xlsx", xlsx({"S": [NAMES, *ROWS[:-1], [*ROWS[-1][:2], ERROR]]}),
             Read(said=("1 cell holds an error",))),
    ]  # fmt: skip


def _columns() -> list[Mess]:
    compound = [["Nr", "Kunden_Kommentar", "ticket category"], *([str(i), *row[:2]] for i, row in enumerate(ROWS))]
    days = [
        ["Datum", *NAMES[:2], "Preis"],
        *([f"0{i + 1}.03.2024", *row[:2], f"{i},5{i}"] for i, row in enumerate(ROWS)),
    ]
    question = "Was können wir besser machen?"
    branches = ["Ware", "Ware", "Versand", "Versand"] * 2
    levels = [NAMES[:2], *([row[0], f"{branch} > {row[1]}"] for branch, row in zip(branches, ROWS, strict=True))]
    return [
        Mess("dates and decimal commas beside the text", "a.csv", table(days, ";").encode(), Read()),
        Mess("compound column names", "a.csv", table(compound).encode(),
             Read(text="Kunden_Kommentar", label="ticket category", said=("by its name and content",))),
        Mess("a question above the texts", "a.csv", table([[question, *NAMES[1:]], *ROWS]).encode(),
             Read(text=question)),
        Mess("a column of labels beside another of categories", "a.csv", table(
            [["Kommentar", "Stimmung", "Filiale"], *([*row[:2], place] for row, place in zip(ROWS, "ABAABBBA",
             strict=True))]).encode(), Read(label="Stimmung", said=("'Stimmung' (by its name)",))),
        Mess("a table in which no row has a label", "a.csv",
             table([NAMES[:2], *([text, ""] for text in TEXTS)]).encode(), Refused(("`glassformer desk TABLE`",))),
        Mess("labels with levels", "a.csv", table(levels).encode(), Read(said=("levels",))),
        Mess("no header", "a.csv", table([row[:2] for row in ROWS]).encode(),
             Refused(("the first row looks like data",))),
        Mess("no labels", "a.csv", table([["Kommentar"], *([text] for text in TEXTS)]).encode(),
             Refused(("no column looks like labels",))),
        Mess("a JSON array", "a.json",
             json.dumps([dict(zip(NAMES, row, strict=True)) for row in ROWS]).encode(), Read()),
    ]  # fmt: skip


def messes() -> list[Mess]:
    """Return all of them."""
    return [*_encodings(), *_lines(), *_around(), *_columns()]


def judged(mess: Mess, folder: Path) -> dict[str, Any]:
    """Write a mess into a folder, read it, and return what came of it and whether that is right."""
    path = folder / mess.file
    path.write_bytes(mess.content)
    expected = mess.expected
    try:
        found = find_task(SourceConfig(train=str(path), **mess.settings))
        train = read_sources(found.source, ValidationConfig(), None).train
    except UsageError as error:
        sentence = " ".join((error.message, *error.listing)).replace(f"{folder}/", "")
        right = isinstance(expected, Refused) and all(word in sentence for word in expected.words)
        return {"mess": mess.name, "right": right, "refused": sentence}
    notes = [*train.notes, *([found.said] if found.said else [])]
    said = "\n".join(notes)
    is_read = {"rows": train.frame.height, "text": train.text_column, "label": train.label_column}
    first = train.frame["text"][0]
    right = isinstance(expected, Read) and all(
        (
            is_read == {"rows": expected.rows, "text": expected.text, "label": expected.label},
            first == expected.first,
            all(word in said for word in expected.said),
        )
    )
    return {"mess": mess.name, "right": right, "read": {**is_read, "first": first}, "notes": notes}


def main() -> None:
    """Read all messes, and write one JSON file."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment, tempfile.TemporaryDirectory() as folder:
        found = []
        for number, mess in enumerate(messes()):
            place = Path(folder) / str(number)
            place.mkdir()
            found.append(judged(mess, place))
        wrong = [each["mess"] for each in found if not each["right"]]
        experiment.write(
            "messes", {"messes": len(found), "right": len(found) - len(wrong), "wrong": wrong, "each": found}
        )


if __name__ == "__main__":
    main()
