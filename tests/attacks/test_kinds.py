"""Tables that are no plain text: Parquet, Arrow, workbooks, databases, archives, compressed and fastText files."""

import gzip
import io
import json
import lzma
import re
import sqlite3
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from datetime import time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from backports import zstd

from glassformer.data.formats import compressions
from tests.attacks.answer import LONGEST_ANSWER, answered, harmless, nothing_lost
from tests.cli.terminal import Outcome, glassformer
from tests.trained import Trained
from tests.workbooks import ERROR, FORMULA, ods, xls, xlsx

TEXTS = [f"{('good', 'bad')[n % 2]} film {n}" for n in range(20)]
LABELS = [f"{'ab'[n % 2]}" for n in range(20)]
CSV = ("text,label\n" + "".join(f"{text},{label}\n" for text, label in zip(TEXTS, LABELS, strict=True))).encode()
ROWS = [["text", "label"], *map(list, zip(TEXTS, LABELS, strict=True))]
OUT_OF_TIME = pl.Series([-(2**31) + 1, 5] * 10, dtype=pl.Int32).cast(pl.Date)

# Columns of odd types


ODD: dict[str, Any] = {
    "binary": [b"\xff\0", b"a"] * 10,
    "durations": [timedelta(days=1), timedelta(hours=2)] * 10,
    "dates-of-no-year": OUT_OF_TIME,
    "times-of-no-year": pl.Series([2**62, 5] * 10).cast(pl.Datetime("ms")),
    "times-of-a-zone-of-no-year": pl.Series([-(2**62), 5] * 10).cast(pl.Datetime("us", "Europe/Berlin")),
    "nanoseconds": pl.Series([-(2**62), 5] * 10).cast(pl.Datetime("ns")),
    "times-of-day": [time(1, 2, 3), time(4)] * 10,
    "decimals": [Decimal("1.5"), Decimal("-2.25")] * 10,
    "numbers-of-128-bits": pl.Series([2**100, 1] * 10, dtype=pl.Int128),
    "nothing": [None] * 20,
    "no-numbers": [float("nan"), float("inf")] * 10,
    "lists": [[1, 2], []] * 10,
    "records": [{"a": 1}, {"a": None}] * 10,
    "arrays": pl.Series([[1.0, 2.0]] * 20, dtype=pl.Array(pl.Float64, 2)),
    "categories": pl.Series(["x", "y"] * 10, dtype=pl.Categorical),
    "truth-values": [True, None] * 10,
}  # fmt: skip
WAYS: dict[str, Callable[[Path, Path], Outcome]] = {
    "beside": lambda table, model: glassformer("predict", model, "--file", table, "--out", table.with_suffix(".csv")),
    "in-json": lambda table, model: glassformer("predict", model, "--file", table, "--out", table.with_name("a.jsonl")),
    "as-text": lambda table, model: glassformer("predict", model, "--file", table, "--text", "odd"),
    "as-labels": lambda table, _: train(table, "--label", "odd", "--multilabel", ";"),
    "as-an-input": lambda table, _: train(table, "--label", "label", "--columns", "odd"),
}


def train(table: Path, *flags: object) -> Outcome:
    """Read a table to train on it, up to a setting that cannot be."""
    out = table.with_name("out")
    return glassformer("train", table, "--text", "text", "--out", out, *flags, "--set", "tokenizer.vocab_size=0")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ODD)
def test_a_column_of_an_odd_type_is_written_or_refused(name: str, way: str, reviews: Trained, tmp_path: Path) -> None:
    table = tmp_path / "t.arrow"
    pl.DataFrame({"text": TEXTS, "label": LABELS, "odd": ODD[name]}).write_ipc(table)
    with nothing_lost(table):
        outcome = WAYS[way](table, reviews.folder)
    if outcome.code:
        answered(outcome)
    assert "Traceback" not in outcome.err
    harmless(outcome)


@pytest.mark.mended
@pytest.mark.parametrize("name", ["lists", "records", "arrays", "binary", "durations"])
def test_a_column_of_an_odd_type_beside_a_text_of_no_known_name(name: str, reviews: Trained, tmp_path: Path) -> None:
    table = tmp_path / "t.parquet"
    pl.DataFrame({"said": TEXTS, "odd": ODD[name]}).write_parquet(table)
    outcome = glassformer("predict", reviews.folder, "--file", table, "--out", tmp_path / "answers.jsonl")
    if name == "binary":
        answered(outcome, "'odd'")
    else:
        assert outcome.code == 0, outcome.err


# Files that are damaged or forged


def member(book: bytes, **changes: Callable[[bytes], bytes] | None) -> bytes:
    """A workbook with some of its files changed or left out, by their last names."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as read, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as write:
        for name in read.namelist():
            stem = name.rpartition("/")[2].partition(".")[0]
            if stem not in changes:
                write.writestr(name, read.read(name))
            elif (change := changes[stem]) is not None:
                write.writestr(name, change(read.read(name)))
    return made.getvalue()


def replaced(old: bytes, new: bytes, count: int = -1) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(old, new, count)


def cell(content: bytes) -> bytes:
    """A workbook whose second cell below the header is this."""
    old = b't="inlineStr"><is><t xml:space="preserve">bad film 1</t></is>'
    return member(BOOK, sheet1=replaced(old, content))


def entity(declared: bytes) -> Callable[[bytes], bytes]:
    return lambda content: b"<!DOCTYPE x [" + declared + b"]>" + content.replace(b"bad film 1<", b"&a;<")


def archive(*members: tuple[str, bytes], mode: int = 0) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            about = zipfile.ZipInfo(name)
            about.compress_type, about.create_system, about.external_attr = zipfile.ZIP_DEFLATED, 3, mode << 16
            file.writestr(about, content)
    return made.getvalue()


def patched(content: bytes, signature: bytes, at: int, new: bytes) -> bytes:
    """Other bytes in the last record of an archive that begins so."""
    place = content.rfind(signature) + at
    return content[:place] + new + content[place + len(new) :]


def columnar(write: str, frame: pl.DataFrame, **options: Any) -> bytes:
    made = io.BytesIO()
    getattr(frame, write)(made, **options)
    return made.getvalue()


FRAME = pl.DataFrame({"text": TEXTS, "label": LABELS})
STREAM, ARROW = columnar("write_ipc_stream", FRAME), columnar("write_ipc", FRAME)
PLAIN = columnar("write_parquet", FRAME, compression="uncompressed")
BOOK, SHEETS, OLD = xlsx({"s": ROWS}), ods({"s": ROWS}), xls({"s": ROWS})
JSON = b"".join(json.dumps({"text": text}).encode() + b"\n" for text in TEXTS)
HIDDEN = xlsx({"a": ROWS, "b": ROWS}, hidden=["b"])
READ = ""
"""In place of the words of a refusal: all rows are read."""
FILES: dict[str, tuple[str, bytes, str]] = {
    "arrow-stream-cut": ("t.arrow", STREAM[:-100], "damaged"),
    "arrow-stream-of-a-huge-part": ("t.arrow", STREAM[:4] + struct.pack("<i", 2**31 - 1) + STREAM[8:], "no rows"),
    "arrow-stream-of-a-negative-part": ("t.arrow", STREAM[:4] + struct.pack("<i", -5) + STREAM[8:], "damaged"),
    "arrow-of-a-huge-footer": ("t.arrow", ARROW[:-10] + struct.pack("<i", 2**31 - 1) + ARROW[-6:], "damaged"),
    "arrow-of-a-negative-footer": ("t.arrow", ARROW[:-10] + struct.pack("<i", -1) + ARROW[-6:], "damaged"),
    "arrow-no-utf-8": ("t.arrow", ARROW.replace(b"good", b"\xff\xfe\xfdo"), "damaged"),
    "parquet-no-utf-8": ("t.parquet", PLAIN.replace(b"good", b"\xff\xfe\xfdo"), "damaged"),
    "parquet-named-as-a-pattern": ("t[1]*.parquet", PLAIN, READ),
    "parquet-without-columns": ("t.parquet", columnar("write_parquet", pl.DataFrame()), "no rows"),
    "parquet-of-a-long-value": (
        "t.parquet", columnar("write_parquet", pl.DataFrame({"text": ["x" * 5_000_000]})), "longer than 4 MiB"),
    "xlsx-hidden-sheet": ("t.xlsx", HIDDEN, READ),
    "xlsx-all-hidden": ("t.xlsx", xlsx({"a": ROWS}, hidden=["a"]), READ),
    "xlsx-all-merged": ("t.xlsx", xlsx({"a": ROWS}, merged=["A1:XFD1048576"]), READ),
    "xlsx-merged-nowhere": ("t.xlsx", xlsx({"a": ROWS}, merged=["A0:ZZZZ99999999999"]), "damaged"),
    "xlsx-formulas": ("t.xlsx", xlsx({"a": [["text"], *[[FORMULA]] * 20]}), READ),
    "xlsx-errors": ("t.xlsx", xlsx({"a": [["text", "n"], *[[ERROR, n] for n in range(20)]]}), "0 of 20 rows"),
    "xlsx-with-macros": ("t.xlsm", BOOK, READ),
    "xlsx-entity-bomb": ("t.xlsx", member(BOOK, sheet1=entity(b'<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">')), "entity"),
    "xlsx-entity-of-a-file": ("t.xlsx", member(BOOK, sheet1=entity(b'<!ENTITY a SYSTEM "/etc/passwd">')), "entity"),
    "xlsx-cell-far-away": (
        "t.xlsx", member(BOOK, sheet1=replaced(b"</sheetData>", b'<row r="4294967295"><c r="ZZZZ4294967295"><v>1</v>'
                                               b"</c></row></sheetData>")), "damaged"),
    "xlsx-cell-of-row-0": ("t.xlsx", member(BOOK, sheet1=replaced(b'r="A1"', b'r="A0"')), "damaged"),
    "xlsx-cells-without-places": ("t.xlsx", member(BOOK, sheet1=lambda sheet: re.sub(rb' r="\w+"', b"", sheet)), READ),
    "xlsx-text-of-no-number": ("t.xlsx", cell(b't="s"><v>-1</v>'), "damaged"),
    "xlsx-number-too-large": ("t.xlsx", cell(b"><v>1e999</v>"), READ),
    "xlsx-date-far-away": ("t.xlsx", cell(b' s="1"><v>99999999999</v>'), READ),
    "xlsx-date-negative": ("t.xlsx", cell(b' s="1"><v>-99999999999</v>'), READ),
    "xlsx-style-of-none": ("t.xlsx", cell(b' s="999999"><v>5</v>'), READ),
    "xlsx-truth-of-7": ("t.xlsx", cell(b't="b"><v>7</v>'), "damaged"),
    "xlsx-nul": ("t.xlsx", cell(b't="inlineStr"><is><t>&#0;</t></is>'), "damaged"),
    "xlsx-no-utf-8": ("t.xlsx", cell(b't="inlineStr"><is><t>\xff\xfe</t></is>'), "damaged"),
    "xlsx-without-a-sheet": ("t.xlsx", member(BOOK, sheet1=None), "damaged"),
    "xlsx-sheet-outside": ("t.xlsx", member(BOOK, workbook=replaced(b"worksheets/sheet1.xml", b"../../etc/passwd")),
                           "damaged"),
    "xlsx-sheet-elsewhere": ("t.xlsx", member(BOOK, workbook=replaced(b"worksheets/", b"http://127.0.0.1:1/")),
                             "damaged"),
    "xlsx-nested": ("t.xlsx", member(BOOK, sheet1=replaced(b"<sheetData>", b"<a>" * 9_000 + b"<sheetData>")), READ),
    "ods-repeats-rows-below-0": (
        "t.ods", member(SHEETS, content=replaced(b"table-row>", b'table-row table:number-rows-repeated="-5">', 1)),
        "damaged"),
    "ods-without-content": ("t.ods", member(SHEETS, content=None), "damaged"),
    "ods-entity-of-a-file": ("t.ods", member(SHEETS, content=entity(b'<!ENTITY a SYSTEM "/etc/passwd">')), "entity"),
    "ods-encrypted": (
        "t.ods", member(SHEETS, manifest=replaced(b"/>", b"><manifest:encryption-data/></manifest:file-entry>")),
        "password"),
    "xls-sectors-of-a-huge-size": ("t.xls", OLD[:30] + b"\xff\xff" + OLD[32:], "damaged"),
    "xls-sectors-far-away": ("t.xls", OLD[:48] + b"\xff\xff\xff\x7f" + OLD[52:], "damaged"),
    "xls-table-far-away": ("t.xls", OLD[:76] + b"\xff\xff\xff\x7f" + OLD[80:], "damaged"),
    "zst-cut": ("t.jsonl.zst", zstd.compress(JSON)[:-9], "damaged"),
    "zst-and-noise": ("t.jsonl.zst", zstd.compress(JSON) + b"noise", "damaged"),
    "zst-of-two-parts": ("t.csv.zst", zstd.compress(CSV[:-99]) + zstd.compress(CSV[-99:]), READ),
    "zst-of-a-huge-window": (
        "t.jsonl.zst", zstd.compress(JSON, options={zstd.CompressionParameter.window_log: 31}), READ),
    "gz-and-noise": ("t.csv.gz", gzip.compress(CSV) + b"noise", "damaged"),
    "zip-up": ("t.zip", archive(("../t.csv", CSV)), "leads out"),
    "zip-from-the-root": ("t.zip", archive(("/etc/t.csv", CSV)), "leads out"),
    "zip-of-a-drive": ("t.zip", archive(("C:t.csv", CSV)), "leads out"),
    "zip-of-a-link": ("t.zip", archive(("t.csv", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777), "no rows"),
    "zip-of-a-pipe": ("t.zip", archive(("t.csv", CSV), mode=stat.S_IFIFO | 0o777), READ),
    "zip-of-a-name-that-steers": ("t.zip", archive(("a\nb\x1b[2J.csv", CSV)), READ),
    "zip-of-a-name-that-turns": ("t.zip", archive(("\u202evsc.csv", CSV)), READ),
    "zip-of-no-name": ("t.zip", archive(("", CSV)), "no table"),
    "zip-of-no-name-and-a-table": ("t.zip", archive(("", b""), ("t.csv", CSV)), READ),
    "zip-of-a-mark": ("t.zip", archive(("a#b.csv", CSV)), READ),
    "zip-of-a-long-name": ("t.zip", archive(("a" * 5_000 + ".csv", CSV)), READ),
    "zip-of-a-long-extension": ("t.zip", archive(("t." + "a" * 300 + ".parquet", PLAIN)), READ),
    "zip-of-1001-tables": ("t.zip", archive(*((f"{n}.csv", b"text\na\n") for n in range(1_001))), "1,001 tables"),
    "zip-behind-a-script": ("t.zip", b"#!/bin/sh\n" + archive(("t.csv", CSV)), READ),
    "zip-of-a-lower-size": ("t.zip", patched(archive(("t.csv", CSV)), b"PK\1\2", 24, struct.pack("<I", 5)), "damaged"),
    "zip-of-4-GB": ("t.zip", patched(archive(("t.csv", CSV)), b"PK\1\2", 24, b"\xfe\xff\xff\xff"), "would unpack"),
    "zip-packed-oddly": ("t.zip", patched(archive(("t.csv", CSV)), b"PK\1\2", 10, b"\x63\0"), "damaged"),
    "zip-far-away": ("t.zip", patched(archive(("t.csv", CSV)), b"PK\1\2", 42, b"\x63\0\0\1"), "damaged"),
    "fasttext-nothing-but-labels": ("t.txt", b"__label__a\n__label__b\n" * 20, "0 of 40 rows"),
    "fasttext-no-label": ("t.txt", b"just text\n" * 9, "texts without columns"),
    "fasttext-label-within": ("t.txt", b"hello __label__a world\n" * 9, "texts without columns"),
    "fasttext-nul": ("t.txt", b"__label__a a\0b\n" * 9, "NUL"),
    "fasttext-20000-labels": ("t.txt", b" ".join(b"__label__%d" % n for n in range(20_000)) + b" good\n" * 20, READ),
    "json-no-numbers": ("t.jsonl", b'{"text": NaN, "n": 1}\n{"text": "a", "n": -Infinity}\n' * 10, "10 of 20 rows"),
    "json-nul": ("t.jsonl", b'{"text": "a\\u0000b"}\n' * 20, READ),
    "json-odd-keys": ("t.jsonl", b'{"__proto__": 1, "": 2, "text": "a"}\n' * 20, READ),
    "json-a-column-each": ("t.json", b'{"text": ["a", "b"]}', READ),
    "json-empty-array": ("t.json", b"[]", "no rows"),
    "json-null-in-an-array": ("t.json", b"[null]", "row 1"),
    "json-arrays-in-an-array": ("t.json", b'[["text"], ["a"]]', "row 1"),
    "json-comma-too-many": ("t.jsonl", b'{"text": "a",}\n', "row 1"),
    "json-two-on-a-line": ("t.jsonl", b'{"text": "a"}{"text": "b"}\n', "row 1"),
    "json-comment": ("t.jsonl", b'// a\n{"text": "a"}\n', "row 1"),
    "csv-nul-in-the-header": ("t.csv", b"te\0xt\na\n", "NUL"),
    "csv-name-of-a-command": ("$HOME `id`.csv", CSV, READ),
    "csv-name-of-dots": ("....csv", CSV, READ),
    "csv-name-encoded": ("%2e%2e%00.csv", CSV, READ),
    "csv-name-of-spaces": ("  .csv", CSV, READ),
    "csv-surrogate": ("t.csv", b"text\n\xed\xa0\x80\n", READ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_forged_file_is_read_or_refused(name: str, reviews: Trained, tmp_path: Path) -> None:
    file, content, words = FILES[name]
    table = tmp_path / file
    table.write_bytes(content)
    with nothing_lost(table):
        outcome = glassformer("predict", reviews.folder, "--file", table, "--out", tmp_path / "answers.jsonl")
    harmless(outcome)
    if outcome.code == 0:
        assert (words or "answered") in outcome.out
        assert "root:" not in (tmp_path / "answers.jsonl").read_text(encoding="utf-8")
    else:
        answered(outcome, words or "it should be read")


BOMBS: dict[str, tuple[str, bytes]] = {
    "gz": ("t.csv.gz", gzip.compress(b"text\n" + (b"x" * 3_000 + b"\n") * 1_000)),
    "xz": ("t.csv.xz", lzma.compress(b"text\n" + (b"x" * 3_000 + b"\n") * 1_000)),
    "zst": ("t.csv.zst", zstd.compress(b"text\n" + (b"x" * 3_000 + b"\n") * 1_000)),
    "jsonl-zst": ("t.jsonl.zst", zstd.compress((b'{"text": "' + b"x" * 3_000 + b'"}\n') * 1_000)),
    "zst-in-a-zip": ("t.zip", archive(("t.csv.zst", zstd.compress(b"text\n" + (b"x" * 3_000 + b"\n") * 1_000)))),
    "parquet": ("t.parquet", columnar("write_parquet", pl.DataFrame({"text": ["x" * 3_000] * 1_000}))),
}


@pytest.mark.parametrize("name", BOMBS)
def test_short_rows_that_are_very_many_are_a_bomb_too(
    name: str, reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressions, "_MOST_SWOLLEN", 2**20)
    file, content = BOMBS[name]
    (tmp_path / file).write_bytes(content)
    words = "repeats few values" if name == "parquet" else "200 times its size"
    answered(glassformer("predict", reviews.folder, "--file", tmp_path / file), words)


# Databases

TABLE = (
    "BEGIN; CREATE TABLE t (text, label);"
    + "".join(f"INSERT INTO t VALUES ('{text}', '{label}');" for text, label in zip(TEXTS, LABELS, strict=True))
    + "COMMIT;"
)
DATABASES: dict[str, tuple[str, str, str]] = {
    "blob": (TABLE + "INSERT INTO t VALUES (x'ff00fe', 'a');", "", READ),
    "no-utf-8": (TABLE + "INSERT INTO t VALUES (CAST(x'fffe' AS TEXT), 'a');", "", "decode"),
    "view": (TABLE + "CREATE VIEW v AS SELECT * FROM t;", "v", READ),
    "view-of-nothing": (TABLE + "CREATE VIEW v AS SELECT a FROM nowhere;", "v", "no such table"),
    "view-of-a-long-value": ("CREATE VIEW v AS SELECT zeroblob(1000000000) AS text;", "", "too big"),
    "view-of-a-long-text": (
        "CREATE VIEW v AS SELECT replace(hex(zeroblob(6000000)), '0', 'xx') AS text;", "", "too big"),
    "name-with-a-quote": (TABLE + 'CREATE TABLE "a""b; drop" AS SELECT * FROM t;', 'a"b; drop', READ),
    "names-that-steer": ('CREATE TABLE "\x1b[2J\nerror: x" (text); CREATE TABLE b (text);', "", "2 tables"),
    "columns-without-names": (
        'CREATE TABLE t (text, "text ", "\x1b[2J", "", " "); INSERT INTO t VALUES (1, 2, 3, 4, 5);', "", READ),
    "no-table": ("PRAGMA user_version = 1;", "", "no table"),
    "300-tables": ("BEGIN;" + "".join(f"CREATE TABLE t{n} (text);" for n in range(300)) + "COMMIT;", "", "300 tables"),
    "two-statements": (TABLE, "select 1; drop table t", "one statement"),
    "attached-file": (TABLE, "attach '/etc/passwd' as x", "begin it with SELECT"),
    "file-that-is-read": (TABLE, "select readfile('/etc/passwd') as text", "no such function"),
    "file-that-is-written": (TABLE, "select writefile('/tmp/owned', 'x') as text", "no such function"),
    "extension-that-is-loaded": (TABLE, "select load_extension('/tmp/x.so') as text", "not authorized"),
    "change-behind-a-comment": (TABLE, "/* select */ delete from t", "begin it with SELECT"),
    "change-behind-a-with": (TABLE, "with x as (select 1) delete from t", "readonly"),
}  # fmt: skip


@pytest.mark.parametrize("name", DATABASES)
def test_a_forged_database_is_read_or_refused(name: str, reviews: Trained, tmp_path: Path) -> None:
    script, part, words = DATABASES[name]
    file, out = tmp_path / f"{name}.sqlite", tmp_path / "answers.jsonl"
    with sqlite3.connect(file) as connection:
        connection.executescript(script)
    connection.close()
    with nothing_lost(file):
        outcome = glassformer("predict", reviews.folder, "--file", f"{file}#{part}" if part else file, "--out", out)
    harmless(outcome)
    assert not out.exists() or "root:" not in out.read_text(encoding="utf-8")
    if words == READ:
        assert outcome.code == 0, outcome.err
    else:
        answered(outcome, words)


DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "page": lambda content: content[:4096] + b"\xff" * 4096 + content[8192:],
    "cut": lambda content: content[:6_000],
    "pages-of-no-size": lambda content: content[:16] + b"\0\0" + content[18:],
    "newer": lambda content: content[:18] + b"\x09\x09" + content[20:],
    "schema": lambda content: content.replace(b"CREATE TABLE t", b"CREATE TABLE ("),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_database_is_refused(name: str, reviews: Trained, tmp_path: Path) -> None:
    file = tmp_path / f"damaged-{name}.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(TABLE + f"INSERT INTO t VALUES ('{'x' * 9_000}', 'a');")
    connection.close()
    file.write_bytes(DAMAGES[name](file.read_bytes()))
    with nothing_lost(tmp_path):
        answered(glassformer("predict", reviews.folder, "--file", file), "The database says")


def test_an_error_stays_short(reviews: Trained, tmp_path: Path) -> None:
    names = [f"{'a' * 200}{number}" for number in range(50)]
    file = tmp_path / "t.parquet"
    pl.DataFrame({name: [1] for name in names}).write_parquet(file)
    outcome = glassformer("predict", reviews.folder, "--file", file)
    answered(outcome)
    assert len(outcome.err.splitlines()[-1]) < LONGEST_ANSWER
