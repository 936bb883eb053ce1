"""Broken, disguised, endless or unusual tables.

Each is read, or refused in a sentence that names the place.
"""

import bz2
import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from glassformer import errors
from tests.attacks.answer import answered, harmless, nothing_lost
from tests.cli.terminal import glassformer
from tests.trained import Trained, review_rows, write_csv

GOOD = b"text,label\n" + b"".join(f"{text},{number % 2}\n".encode() for number, (text, _) in enumerate(review_rows(40)))
BOMB = 2**24 + 10  # one byte more than a line may have


def zipped(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def parquet(**columns: list[object]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


PARQUET = parquet(text=["a text", "another"] * 50, label=["a", "b"] * 50)
LINES = b"".join(json.dumps({"text": f"text {n}", "label": n % 2}).encode() + b"\n" for n in range(20))

CANNOT_BE_READ: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "empty": ("t.csv", b"", ("t.csv is empty",)),
    "white-space": ("t.csv", b" \n\t\n\n", ("is empty",)),
    "blank-header": ("t.csv", b",,,\n,,,\n", ("is empty",)),
    "bom-alone": ("t.csv", b"\xef\xbb\xbf", ("is empty",)),
    "header-alone": ("t.csv", b"text,label\n", ("no rows",)),
    "header-and-blank-rows": ("t.csv", b"text,label\n" + b"\n" * 5_000, ("no rows",)),
    "separators-alone": ("t.csv", b"text,label\n" + b",\n" * 5_000, ("no usable row", "5,000 × empty text")),
    "nul-byte": ("t.csv", GOOD + b"a\0b,1\n", ("line 42", "NUL")),
    "nul-bytes-alone": ("t.csv", b"\0" * 5_000, ("t.csv",)),
    "ragged-short": ("t.csv", GOOD + b"alone\n", ("row 42 of the file", "1 field where the header has 2")),
    "ragged-long": ("t.csv", GOOD + b"a,b,c\n", ("row 42 of the file", "3 fields")),
    "comma-in-a-text": ("t.csv", b"text,label\nwell, well,1\n", ("row 2 of the file", "double quotes")),
    "open-quote": (
        "t.csv",
        b'text,label\n"never closed,1\n' + GOOD,
        ("row 2 of the file", "a quote that opens there is not closed"),
    ),
    "open-quote-in-the-header": ("t.csv", b'"text,label\n' + GOOD, ("row 1 of the file",)),
    "lines-that-end-in-two-ways": ("t.csv", GOOD + b"a,1\rb,0\r", ("row 42 of the file", "in a carriage return alone")),
    "text-after-a-quote": ("t.csv", GOOD + b'"a"b,1\n', ("row 42 of the file",)),
    "mixed": ("t.csv", GOOD + "café,1\n".encode("latin-1") + "olé,1\n".encode(), ("line 42", "0xe9", "mixes")),
    "latin-1-after-utf-8": ("t.csv", "é,l\na,1\n".encode() + GOOD * 9 + b"\xe9,1\n", ("line 372", "line 1 is (é)")),
    "cut-utf-16": ("t.csv", GOOD.decode().encode("utf-16")[:-1], ("line 41", "does not fit UTF-16")),
    "workbook": ("t.csv", zipped("xl/workbook.xml", b"<x/>"), ("Excel workbook", ".xlsx")),
    "workbook-by-name": ("t.xlsx", zipped("xl/workbook.xml", b"<x/>"), ("may be damaged",)),
    "picture": ("t.csv", b"\x89PNG\r\n\x1a\n\0\0", ("a picture",)),
    "pdf": ("t.csv", b"%PDF-1.7\n", ("a PDF",)),
    "database": ("t.csv", b"SQLite format 3\0", ("SQLite",)),
    "program": ("t.csv", b"\x7fELF\x02\x01\x01\0\0\0", ("t.csv, line 1",)),
    "noise": ("t.csv", bytes(range(128, 256)) * 40, ("no rows",)),
    "gz-named-csv": ("t.csv", gzip.compress(GOOD), ("compressed by gzip", ".gz")),
    "parquet-named-csv": ("t.csv", PARQUET, ("Parquet", ".parquet")),
    "csv-named-gz": ("t.csv.gz", GOOD, ("may be damaged",)),
    "cut-gz": ("t.csv.gz", gzip.compress(GOOD)[:-20], ("may be damaged",)),
    "gz-with-a-wrong-checksum": ("t.csv.gz", gzip.compress(GOOD)[:-8] + b"\0" * 8, ("may be damaged",)),
    "cut-bz2": ("t.csv.bz2", bz2.compress(GOOD)[:-20], ("may be damaged",)),
    "no-bz2": ("t.csv.bz2", GOOD, ("may be damaged",)),
    "no-xz": ("t.csv.xz", GOOD, ("may be damaged",)),
    "gz-of-nothing": ("t.csv.gz", gzip.compress(b""), ("is empty",)),
    "gz-of-gz": ("t.csv.gz", gzip.compress(gzip.compress(GOOD)), ("compressed by gzip",)),
    "empty-gz": ("t.csv.gz", b"", ("is empty",)),
    "gz-bomb": ("t.csv.gz", gzip.compress(b"text,label\n" + b"x" * BOMB, 1), ("line 2 is longer than 16 MiB",)),
    "gz-bomb-in-a-header": ("t.csv.gz", gzip.compress(b"x" * BOMB, 1), ("line 1 is longer than 16 MiB",)),
    "gz-bomb-in-a-quote": (
        "t.csv.gz",
        gzip.compress(b'text,label\n"' + (b"abc,def " * 1_000 + b"\n") * (BOMB // 8_000), 1),
        ("row 2 of the file", "longer than 16,777,216 characters", "quote never closed"),
    ),
    "gz-bomb-of-json": ("t.jsonl.gz", gzip.compress(b'{"text": "' + b"x" * BOMB, 1), ("line 1 is longer",)),
    "gz-bomb-of-blank-lines": ("t.csv.gz", gzip.compress(b"\n" * 300_000, 1), ("is empty",)),
    "zip-bomb": ("t.zip", zipped("t.csv", b"x" * BOMB), ("line 1 is longer than 16 MiB",)),
    "zip-of-zip": ("t.zip", zipped("t.zip", b"PK"), ("'t.zip'", "an archive itself")),
    "empty-zip": ("t.zip", b"PK\x05\x06" + b"\0" * 18, ("holds no table",)),
    "no-zip": ("t.zip", GOOD, ("may be damaged",)),
    "no-parquet": ("t.parquet", GOOD, ("may be damaged",)),
    "cut-parquet": ("t.parquet", PARQUET[:-30], ("may be damaged",)),
    "parquet-without-a-footer": ("t.parquet", PARQUET[:50] + b"PAR1", ("may be damaged",)),
    "parquet-marks-alone": ("t.parquet", b"PAR1PAR1", ("may be damaged",)),
    "empty-parquet": ("t.parquet", b"", ("may be damaged",)),
    "parquet-without-rows": ("t.parquet", parquet(text=[], label=[]), ("no rows",)),
    "cut-json-array": ("t.json", b"[" + LINES.replace(b"\n", b",\n"), ("ends after row 20", "cut short")),
    "pretty-json": ("t.json", json.dumps({"text": "a", "label": 1}, indent=2).encode(), ("row 1 (line 1)",)),
    "cut-json": ("t.jsonl", LINES[:-9], ("row 20 (line 20)",)),
    "deep-json": ("t.jsonl", b'{"text": %s}' % (b"[" * 100_000), ("row 1 (line 1)", "nested too deeply")),
    "deep-json-objects": ("t.jsonl", b'{"a":' * 100_000, ("row 1 (line 1)", "nested too deeply")),
    "json-of-numbers": ("t.jsonl", b"1\n2\n", ("row 1 (line 1)", "One JSON object")),
    "json-null": ("t.jsonl", b"null\n", ("row 1 (line 1)",)),
    "half-a-surrogate": ("t.jsonl", b'{"text": "\\ud83d", "label": 1}\n', ("row 1 (line 1)",)),
    "csv-named-jsonl": ("t.jsonl", GOOD, ("row 1 (line 1)",)),
    "unknown-extension": ("t.dat", GOOD, ("extension",)),
    "document": ("t.docx", b"PK", ("is a document and no table", "spreadsheet program")),
    "document of Numbers": ("t.numbers", b"PK", ("is a document and no table", "spreadsheet program")),
    "workbook-cut-short": ("t.xlsx", b"PK\3\4" + b"x" * 1_000, ("t.xlsx is damaged: its end is missing",)),
    "no-extension": ("table", GOOD, ("extension",)),
    "zstd": ("t.csv.zst", b"(\xb5/\xfd", ("may be damaged",)),
}


@pytest.mark.parametrize(("name", "content", "words"), CANNOT_BE_READ.values(), ids=list(CANNOT_BE_READ))
def test_what_cannot_be_read(name: str, content: bytes, words: tuple[str, ...], tmp_path: Path) -> None:
    table, out = tmp_path / name, tmp_path / "model"
    table.write_bytes(content)
    with nothing_lost(tmp_path):
        answered(glassformer("train", table, "--out", out), name, *words)
    assert not out.exists()


def test_a_damaged_parquet_file_never_ends_in_a_traceback(tmp_path: Path) -> None:
    for place in range(4, len(PARQUET) - 4, max(1, len(PARQUET) // 30)):
        table = tmp_path / "t.parquet"
        table.write_bytes(PARQUET[:place] + bytes([PARQUET[place] ^ 0xFF]) + PARQUET[place + 1 :])
        outcome = glassformer("train", table, "--out", tmp_path / "model", "--text", "no such column")
        answered(outcome, str(table))


ODD_PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder": (Path.mkdir, "is a folder"),
    "fifo": (os.mkfifo, "is a pipe or a device"),
    "endless-device": (lambda path: path.symlink_to("/dev/zero"), "is a pipe or a device"),
    "empty-device": (lambda path: path.symlink_to("/dev/null"), "is a pipe or a device"),
    "link-to-nothing": (lambda path: path.symlink_to("nowhere.csv"), "No such file"),
    "link-to-itself": (lambda path: path.symlink_to(path.name), "t.csv"),
    "nothing": (Path.exists, "No such file"),
}


@pytest.mark.parametrize("command", ["train", "predict", "doctor", "evaluate"])
@pytest.mark.parametrize(("make", "words"), ODD_PLACES.values(), ids=list(ODD_PLACES))
def test_what_is_no_file(
    make: Callable[[Path], object], words: str, command: str, reviews: Trained, tmp_path: Path
) -> None:
    table = tmp_path / "t.csv"
    make(table)
    arguments = {
        "train": (table, "--out", tmp_path / "model"),
        "predict": (reviews.folder, "--file", table),
        "doctor": (table,),
        "evaluate": (reviews.folder, table, "--out", tmp_path / "e"),
    }
    answered(glassformer(command, *arguments[command]), words)


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    answered(glassformer("train", "a" * 5_000 + ".csv", "--out", tmp_path / "model"), "File name too long")


MISTYPED = (
    " postgresql://u:s3cret@127.0.0.1:1/db", "http:/u:s3cret@host/t.csv", "postgresql:u:s3cret@host/t",
    "//u:s3cret@host/t", "//u:a@b/s3cret@host/t.csv", "jdbc:postgresql://127.0.0.1:1/db?password=s3cret", "mysql://u:s3cret@host/db",
)  # fmt: skip


@pytest.mark.mended
@pytest.mark.parametrize("address", MISTYPED)
def test_a_password_in_an_address_that_is_mistyped(
    address: str, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "_NAMED", {})
    outcome = glassformer("predict", reviews.folder, "--file", address)
    answered(outcome)
    assert "s3cret" not in outcome.err


@pytest.mark.mended
@pytest.mark.parametrize("flag", ["--rules", "--costs", "--out", "--init", "--recipe"])
def test_a_password_in_an_address_where_none_is_read(
    flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "_NAMED", {})
    out = () if flag == "--out" else ("--out", tmp_path / "model")
    outcome = glassformer("train", tmp_path / "t.csv", *out, flag, "postgresql://u:s3cret@127.0.0.1:x/db")
    answered(outcome)
    assert "s3cret" not in outcome.err


def rows_of(*labels: str, each: int = 1) -> bytes:
    lines = [f"text number {n},{label}" for n, label in enumerate(labels * each)]
    return "\n".join(["text,label", *lines]).encode()


NOT_LEARNED: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "one-label": (rows_of("a", each=30), ("every row has the label 'a'",)),
    "no-label": (rows_of("", each=30), ("no row has a label", "glassformer desk TABLE")),
    "blank-texts": (b"text,label\n" + b" \t ,a\n\xc2\xa0,b\n" * 20, ("no usable row", "empty text")),
    "labels-of-a-million": (rows_of("a" * 10**6, "b", each=2), ("label of row 1 has 1,000,000 characters",)),
    "labels-nested": (rows_of("[" * 100_000, "b", each=9), ("label of row 1 has 100,000 characters",)),
    "very-many-labels": (rows_of(*map(str, range(10_500)), each=2), ("10,500 different labels", "10,000")),
    "labels-that-are-all-different": (rows_of(*[f"label {n}" for n in range(99)]), ("no column looks like labels",)),
    "labels-that-look-alike": (rows_of("a", "b", each=9) + "\nx,a\u200b".encode(), ("'a\\u200b'", "--fold-labels")),
    "decimal-labels": (rows_of(*[f"{n / 7}" for n in range(40)]), ("no column looks like labels", "decimal numbers")),
    "dates-for-labels": (rows_of("2024-01-01", "2024-01-02", each=20), ("no column looks like labels",)),
    "escape-codes-in-columns": (b"a\x1b[2J,b\x07\nx y z,p q r\n", ("'a\\x1b[2J'",)),
    "a-column-over-two-lines": (b'"a\nb","c\nd"\nx y z,p q r\n', ("'a\\nb'",)),
    "a-column-of-a-million": (b"%s,b\nx y z,p q r\n" % (b"a" * 10**6), ("which column holds the text",)),
    "very-many-columns": (
        ",".join(f"c{n}" for n in range(20_000)).encode() + b"\n" + b",".join([b"0.5"] * 20_000),
        ("which column holds the text",),
    ),
    "very-many-columns-twice": (",".join(["a"] * 100_000).encode() + b"\n", ("no rows",)),
    "no-header": (b"a good film with good actors,1\nanother,0\n" * 30, ("occurs", "first row", "which column")),
    "escape-codes-in-labels": (rows_of("a", "b", each=9) + b"\nx,\x1b]0;title\x07", ("'\\x1b]0;title\\x07'",)),
}


@pytest.mark.parametrize(("content", "words"), NOT_LEARNED.values(), ids=list(NOT_LEARNED))
def test_what_cannot_be_learned(content: bytes, words: tuple[str, ...], tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_bytes(content)
    outcome = glassformer("train", table, "--out", tmp_path / "model")
    answered(outcome)
    assert any(word in outcome.err for word in words) if words[0] == "occurs" else all(w in outcome.err for w in words)
    assert len(outcome.err) < 3_000
    assert not (tmp_path / "model").exists()


ODD_BUT_READ: dict[str, tuple[str, bytes, int]] = {
    "bom": ("t.csv", b"\xef\xbb\xbf" + GOOD, 40),
    "windows-lines": ("t.csv", GOOD.replace(b"\n", b"\r\n"), 40),
    "semicolons": ("t.csv", GOOD.replace(b",", b";"), 40),
    "bars": ("t.csv", GOOD.replace(b",", b"|"), 40),
    "told-separator": ("t.csv", b"sep=;\r\n" + GOOD.replace(b",", b";"), 40),
    "blank-rows": ("t.csv", GOOD.replace(b"\n", b"\n\n \n\t\n"), 40),
    "very-many-blank-rows": ("t.csv", GOOD + b"\n" * 50_000, 40),
    "blank-rows-above": ("t.csv", b"\n" * 50_000 + GOOD, 40),
    "no-last-line-end": ("t.csv", GOOD.rstrip(b"\n"), 40),
    "line-separators-within": ("t.csv", "text\na\u2028b\u0085c\x0cd\x0be\n".encode(), 1),
    "zero-width-texts": ("t.csv", "text,label\n\u200b\u200d,1\n\ufeff,2\n".encode(), 2),
    "right-to-left": ("t.csv", "text,label\n\u202egnp.exe,1\n".encode(), 1),
    "many-accents": ("t.csv", f"text,label\na{chr(0x301) * 5_000},1\n".encode(), 1),
    "emojis": ("t.csv", "text,label\n👩‍👩‍👧‍👦🏳️‍🌈,1\n".encode(), 1),
    "escape-codes": ("t.csv", b"text,label\n\x1b[2J\x1b]0;x\x07,1\n", 1),
    "no-such-characters": ("t.csv", "text,label\n\uffff\ufffe\U0010ffff,1\n".encode(), 1),
    "a-long-word": ("t.csv", b"text,label\n" + b"x" * 20_000 + b",1\n", 1),
    "huge-numbers": ("t.jsonl", b'{"text": "a", "n": %s, "m": 1e999, "k": -0}\n' % (b"9" * 5_000), 1),
    "numbers-for-texts": ("t.jsonl", b'{"text": 12}\n{"text": 1.5}\n{"text": true}\n{"text": [1]}\n', 4),
    "twice-the-same-key": ("t.jsonl", b'{"text": "a", "text": "b"}\n', 1),
    "typed-parquet": ("t.parquet", parquet(text=[1, 2], when=[1.5, None], who=[b"x", b"y"], what=[["a"], []]), 2),
    "json-of-very-many-keys": (
        "t.jsonl",
        b'{"text": "a", %s}\n' % b", ".join(b'"k%d": 1' % n for n in range(20_000)),
        1,
    ),
    "wide": ("t.csv", b"text," + b",".join(b"c%d" % n for n in range(2_000)) + b"\na" + b",1" * 2_000, 1),
    "quoted-everything": ("t.csv", b'"text","label"\n"say ""hi"", then\ngo, or ; not","1"\n', 1),
}


@pytest.mark.parametrize(("name", "content", "rows"), ODD_BUT_READ.values(), ids=list(ODD_BUT_READ))
def test_what_is_odd_but_can_be_answered(
    name: str, content: bytes, rows: int, reviews: Trained, tmp_path: Path
) -> None:
    table = tmp_path / name
    table.write_bytes(content)
    out = tmp_path / "answers.csv" if name != "t.parquet" else tmp_path / "answers.jsonl"
    outcome = glassformer("predict", reviews.folder, "--file", table, "--out", out)
    if b"when" in content:
        answered(outcome, "Binary")
        return
    assert outcome.code == 0, outcome.err
    assert f"{rows} row{'' if rows == 1 else 's'} answered" in outcome.out
    harmless(outcome)


@pytest.mark.parametrize(
    ("stdin", "words"),
    [
        pytest.param(b"", "is empty", id="nothing"),
        pytest.param(b"\n\n\n", "is empty", id="blank-lines"),
        pytest.param(b"x" * BOMB, "line 1 is longer than 16 MiB", id="endless-line"),
        pytest.param(GOOD.decode().encode("utf-16")[:-1], "does not fit UTF-16", id="cut-utf-16"),
        pytest.param(gzip.compress(GOOD), "compressed by gzip", id="gz"),
        pytest.param(b"\xff\xfe\xfd", "standard input", id="noise"),
        pytest.param(b'{"text": "a"}\n{"text"', "row 2 (line 2)", id="cut-json"),
    ],
)
def test_a_table_from_a_pipe(stdin: bytes, words: str, reviews: Trained) -> None:
    answered(glassformer("predict", reviews.folder, "--file", "-", stdin=stdin), words)


def test_an_endless_line_of_texts_from_a_pipe(reviews: Trained) -> None:
    answered(glassformer("predict", reviews.folder, stdin=b"x" * BOMB), "standard input, line 1 is longer than")


def test_figures_are_shown_where_the_report_cannot_be_written(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", review_rows(30))
    out = tmp_path / "reports"
    (out / "report.html").mkdir(parents=True)  # nobody, root included, can write a page over a folder
    for more in ((), ("--json",)):
        with nothing_lost(out):
            outcome = glassformer("evaluate", reviews.folder, table, "--out", out, *more)
        assert outcome.code == 1
        assert "accuracy" in outcome.out
        assert "error: the report cannot be written into" in outcome.err
        assert "--out" in outcome.err
        assert "Traceback" not in outcome.err
        harmless(outcome)
