import bz2
import csv
import gzip
import io
import json
import lzma
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data import lines, rows
from glassformer.data.encodings import reading_as
from glassformer.data.formats import delimited, json_lines
from glassformer.data.rows import iterate_rows, read_batches, with_columns
from glassformer.errors import UsageError

PLAIN = b'text,label\n"one, with a comma",a\n"two\nlines",b\n\nthree,a\n'
EXPECTED = {"text": ["one, with a comma", "two\nlines", "three"], "label": ["a", "b", "a"]}


def rows_of(path: Path, content: bytes, *, rows_per_batch: int = 2) -> pl.DataFrame:
    path.write_bytes(content)
    return pl.concat(iterate_rows(path, rows_per_batch=rows_per_batch))


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inner.csv", content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        ("", bytes),
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", zstd.compress),
        (".zip", zipped),
    ],
)
def test_csv_is_read_plain_and_compressed(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    assert rows_of(tmp_path / f"a.csv{suffix}", compress(PLAIN)).to_dict(as_series=False) == EXPECTED


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    frame = pl.DataFrame(EXPECTED)
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow", compression="zstd")
    frame.write_ipc_stream(tmp_path / "a.feather")
    lines = "".join(json.dumps(row) + "\n" for row in frame.iter_rows(named=True)).encode()
    for name, content in {
        "a.parquet": (tmp_path / "a.parquet").read_bytes(),
        "a.arrow": (tmp_path / "a.arrow").read_bytes(),
        "a.feather": (tmp_path / "a.feather").read_bytes(),
        "a.jsonl": lines,
        "a.ndjson": lines,
        "a.JSON": lines,
        "a.tsv": b'text\tlabel\n"one, with a comma"\ta\n"two\nlines"\tb\nthree\ta\n',
        "semicolon.csv": b'text;label\none, with a comma;a\n"two\nlines";b\nthree;a\n',
        "told.csv": b'sep=;\r\ntext;label\none, with a comma;a\n"two\nlines";b\nthree;a\n',
        "blank.csv": b"\n  \n" + PLAIN.replace(b"\n\n", b"\n \n\n") + b"   \n",
        "bom.csv": b"\xef\xbb\xbf" + PLAIN,
        "old mac.csv": PLAIN.replace(b"\n", b"\r"),
        "utf-16.csv": PLAIN.decode().encode("utf-16"),
        "unmarked.csv": PLAIN.decode().encode("utf-16-be"),
        "utf-32.csv": PLAIN.decode().encode("utf-32"),
        "windows.csv": PLAIN.replace(b"\n", b"\r\n").replace(b"two\r\nlines", b"two\nlines"),
    }.items():
        assert rows_of(tmp_path / name, content).to_dict(as_series=False) == EXPECTED, name


def test_batches_have_the_size_asked_for(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": [str(number) for number in range(7)]})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.ipc")
    for name in ("a.csv", "a.parquet", "a.ipc"):
        batches = list(iterate_rows(tmp_path / name, rows_per_batch=3))
        assert [batch.height for batch in batches] == [3, 3, 1]
        assert pl.concat(batches).equals(frame)


def test_a_stream_is_json_lines_or_csv_by_its_first_character() -> None:
    as_csv = pl.concat(iterate_rows(io.BytesIO(b"text|n\nx|1\n"), rows_per_batch=5))
    as_json = pl.concat(iterate_rows(io.BytesIO(b'{"text": "x", "n": 1}\n'), rows_per_batch=5))
    assert as_csv.equals(as_json)


def test_json_values_become_text(tmp_path: Path) -> None:
    record = b'{"text": "\\u00e9", "yes": true, "none": null, "nan": NaN, "many": ["a", 1], "half": 0.5}\n'
    row = rows_of(tmp_path / "a.jsonl", record).row(0, named=True)
    assert row == {"text": "é", "yes": "true", "none": None, "nan": None, "many": '["a", 1]', "half": "0.5"}


def test_an_array_over_many_lines_is_not_decoded_again_for_each_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counting(json.JSONDecoder):
        read = 0

        def raw_decode(self, s: str, idx: int = 0) -> Any:
            Counting.read += len(s) - idx
            return super().raw_decode(s, idx)

    monkeypatch.setattr(json_lines, "_DECODER", Counting(parse_int=str))
    records = [{"text": f"text {number}", "parts": [{"at": place} for place in range(400)]} for number in range(3)]
    content = json.dumps(records, indent=2).encode()
    assert rows_of(tmp_path / "a.json", content)["text"].to_list() == ["text 0", "text 1", "text 2"]
    assert Counting.read < 6 * len(content)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_malformed_row_of_a_long_line_is_called_so_without_reading_on(encoding: str) -> None:
    row = '{"text": "good", "label": "b"}'
    content = f'[{{"text": "a" "label": "b"}}{f", {row}" * 60_000}]'.encode(encoding)
    stream = io.BytesIO(content)
    with pytest.raises(UsageError, match=r"row 1 \(line 1\) is malformed: Expecting ',' delimiter"):
        list(iterate_rows(stream, rows_per_batch=10))
    assert stream.tell() < 2**20 < len(content)


def test_json_keys_may_be_missing_but_not_appear_late(tmp_path: Path) -> None:
    frame = rows_of(tmp_path / "a.jsonl", b'{"a": "1", "b": "2"}\n{"b": "3"}\n{"a": "4"}\n', rows_per_batch=2)
    assert frame.rows() == [("1", "2"), (None, "3"), ("4", None)]
    with pytest.raises(UsageError, match="key 'c' appears for the first time after row 1"):
        rows_of(tmp_path / "a.jsonl", b'{"a": "1"}\n{"c": "3"}\n', rows_per_batch=1)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n \n\n", "is empty"),
        ("a.csv", b"text,label\n", "a header but no rows"),
        ("a.csv", b'text,n\n"x\ny",1\nz\n', r"row 3 of the file \(line 4\) has 1 field where the header has 2"),
        ("a.csv", b"text,n\nx,1\ny,2,3\n", r"row 3 of the file has 3 fields"),
        ("a.csv", b";;;\n;;;\n", "is empty"),
        ("a.csv", b'{"a": 1, "b": 2}\n', "JSON; give it the extension .jsonl"),
        ("a.csv", b"\n<!DOCTYPE html>\n<html>\n", "a web page or XML"),
        ("a.csv", b"@relation a\n", "ARFF"),
        ("a.csv", b"__label__a b\n", "the extension .txt"),
        ("a.csv", b"a~b\nx, y~1\n", "separated by comma, semicolon, tab, bar, and the header"),
        ("a.csv", b"PK\x03\x04 a workbook", "an Excel workbook; give it the extension .*xlsx"),
        ("a.csv", gzip.compress(PLAIN, mtime=0), "compressed by gzip"),
        ("a.jsonl", b'{"a": %s}\n' % (b"[" * 100_000), r"row 1 \(line 1\) is malformed: it is nested too deeply"),
        ("a.csv", b'text,n\nx,1\n"y" z,2\n', r"row 3 of the file is malformed"),
        ("a.csv", b'text,n\nx,1\n"never closed,2\nmore,3\n', r"row 3 of the file: a quote that opens there is not"),
        ("a.csv", b"\x7fELF" + b"\2\0\0\0\x40\0\0\0" * 9, "a.csv is not a text file: "),
        ("a.csv", bytes(range(1, 256)), r"line 2: .* so this is not a text file"),
        ("a.csv", "STT;Mã phiếu;Ngày;Điểm;Khoa;Ý kiến\n".encode("utf-16-le"), "a header but no rows"),
        ("a.csv", b'te"xt,"la"bel\nx,1\n', r"row 1 of the file is malformed"),
        ("a.csv", b"text,n\nol\xc3\xa9,1\ncaf\xe9,2\n", r"line 3: byte 4 .*0xe9, is not UTF-8, and line 2 is \(é\)"),
        ("a.csv", b"text,n\nx\0,1\n", "line 2: a NUL byte"),
        ("a.csv", "text,n\nx,1\n".encode("utf-16") + b"x", "line 3: the byte 0x78 does not fit UTF-16, as it begins"),
        ("a.jsonl", b'{"a": 1}\n\n{"a": \n', r"row 2 \(line 3\) is malformed"),
        ("a.jsonl", b'[{"a": 1}, "b"]\n', r"row 2 \(line 1\) is malformed: not an object"),
        ("a.json", b'[\n{"a": 1},\n{"a":\n tru}]', r"row 2 \(line 3\) is malformed: Expecting value"),
        ("a.json", b'[\n{"a":\n1},\n\n{"a": 2},\n["a"]\n]', r"row 3 \(line 6\) is malformed: not an object"),
        ("a.json", b'[{"a": "\xc3\xa9"},' + b'{"a": "b"},' * 7_000 + b'{"a": "\xe9"}]', "line 1: .* and line 1 is"),
        ("a.json", b"[" + b'{"a": "b"},' * 7_000 + b'{"a": "\xc3\xa9"},\n{"a": "\xe9"}]', "line 2: .* and line 1 is"),
        ("a.json", b'[{"a": "b"},' + b'{"a": "b"},' * 7_000 + b'{"a": "\0"}]', "line 1: a NUL byte"),
        ("a.json", b'[{"a": 1},\n]', r"row 2 \(line 2\) is malformed: Expecting value"),
        ("a.json", b'[{"a": 1} {"a": 2}]', r"row 2 \(line 1\) is malformed: a comma or \] is expected, not {"),
        ("a.json", b'[{"a": 1},\n{"a": 2}\n', "ends after row 2, and its array does not; it may be cut short"),
        ("a.json", b'[{"a": 1}]\n[{"a": 2}]', "goes on after its array"),
        ("a.json", b"[]", "no rows"),
        ("a.jsonl", b'{"a": "\\ud83d"}\n', r"row 1 \(line 1\) is malformed.*surrogate"),
        ("a.jsonl", b"[" * 100_000, r"row 1 \(line 1\) is malformed"),
        ("a.jsonl", b"{}\n", "at least one key"),
        ("a.csv.gz", gzip.compress(PLAIN, mtime=0)[:-9], "cannot be read, it may be damaged"),
        ("a.csv.gz", PLAIN, "cannot be read, it may be damaged"),
        ("a.csv.bz2", PLAIN, "cannot be read, it may be damaged"),
        ("a.csv.xz", PLAIN, "cannot be read, it may be damaged"),
        ("a.zip", PLAIN, "cannot be read, it may be damaged"),
        ("a.parquet", PLAIN, "cannot be read, it may be damaged"),
        ("a.csv.zst", PLAIN, "cannot be read, it may be damaged"),
        ("a.arrow", PLAIN, "cannot be read, it may be damaged"),
        ("reviews", PLAIN, "extension"),
        ("a.parquet.gz", PLAIN, "extension"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=f"(?s){message}") as caught:
        rows_of(tmp_path / name, content)
    assert name in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").touch()
    with pytest.raises(UsageError) as nothing_like_it:
        next(iterate_rows(tmp_path / "nothere.csv", rows_per_batch=1))
    assert "Near names" not in str(nothing_like_it.value)
    for path, message in {
        tmp_path / "review.csv": r"No such file: .*Near names.*: reviews\.csv",
        tmp_path / "nowhere" / "a.csv": "the folder .*nowhere does not exist",
        tmp_path: "is a folder",
    }.items():
        with pytest.raises(UsageError, match=message):
            next(iterate_rows(path, rows_per_batch=1))


def test_a_batch_with_none_of_the_columns_keeps_its_rows() -> None:
    assert with_columns(pl.DataFrame({"a": [1, 2, 3]}), ["b", "c"]).rows() == [(None, None)] * 3


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(cells=st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=5), size=st.integers(1, 4))
def test_what_a_csv_writer_writes_is_read_back(cells: list[tuple[str, str, str]], size: int) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL).writerows([("p", "q", "r"), *cells])
    stream = io.BytesIO(buffer.getvalue().encode())
    assert pl.concat(iterate_rows(stream, rows_per_batch=size)).rows() == cells


@pytest.fixture
def short_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (lines, delimited):
        monkeypatch.setattr(module, "LONGEST", 1_000)
    monkeypatch.setattr(rows, "LONGEST_VALUE", 900)


@pytest.mark.usefixtures("short_rows")
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"text,n\n%s,1\n" % (b"x" * 2_000), "line 2 is longer than"),
        ("a.csv", b'text,n\n"%s",1\n' % (b"x\n" * 2_000), r"row 2 of the file is malformed: it is longer than 1,000"),
        ("a.csv", b"text,n\n" + b"x,1\n" * 99 + b'"%s' % (b"x,1\n" * 999), r"row 101 of the file.*never closed"),
        ("a.csv.gz", gzip.compress(b"text,n\n%s,1\n" % (b"x" * 2_000), mtime=0), "line 2 is longer than"),
        ("a.csv.xz", lzma.compress(b"x" * 2_000), "line 1 is longer than"),
        ("a.zip", zipped(b"x" * 2_000), "line 1 is longer than"),
        ("a.jsonl", b'{"a": "%s"}\n' % (b"x" * 2_000), "line 1 is longer than"),
        ("a.jsonl", b'{"a": "x"}\n' * 3 + b'{"a": "%s"}\n' % (b"x" * 950), "row 4: the value of 'a' is longer than"),
        ("a.csv", b"text,n\nx,1\n%s,1\n" % (b"x" * 950), "row 2: the value of 'text' is longer than"),
    ],
)
def test_a_row_that_is_too_long_to_be_held(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=f"(?s){message}"):
        rows_of(tmp_path / name, content)


@pytest.mark.usefixtures("short_rows")
def test_many_short_rows_and_a_long_value_of_parquet(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "a.csv", b"text\n" + b"x\n" * 5_000, rows_per_batch=5_000).height == 5_000
    pl.DataFrame({"text": ["x"] * 4 + ["x" * 1_001]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(UsageError, match=r"row 5: the value of 'text' is longer than"):
        list(iterate_rows(tmp_path / "a.parquet", rows_per_batch=2))


def test_digits_that_are_no_number_for_python(tmp_path: Path) -> None:
    frame = rows_of(tmp_path / "a.jsonl", b'{"a": %s, "b": 12, "c": [12]}\n' % (b"9" * 5_000))
    assert frame.row(0) == ("9" * 5_000, "12", "[12]")


def test_pipes_and_devices_are_no_tables(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("a.csv", "zero.csv"):
        with pytest.raises(UsageError, match="is a pipe or a device"):
            next(iterate_rows(tmp_path / name, rows_per_batch=1))
    with pytest.raises(UsageError, match="cannot be read: File name too long"):
        next(iterate_rows(tmp_path / ("a" * 300 + ".csv"), rows_per_batch=1))


@pytest.mark.parametrize("kept", [4_000, 100, 0], ids=["later rows gone", "nearly all gone", "empty"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl"])
def test_a_file_that_another_program_writes(tmp_path: Path, suffix: str, kept: int) -> None:
    """Cut short where a row ends, the file looks whole."""
    path = tmp_path / f"texts{suffix}"
    rows = [f'{{"text": "good {row}"}}\n' if suffix == ".jsonl" else f"good {row}\n" for row in range(20_000)]
    header = "" if suffix == ".jsonl" else "text\n"

    def written(count: int) -> bytes:
        plain = (header + "".join(rows[:count])).encode()
        return gzip.compress(plain) if suffix.endswith(".gz") else plain

    path.write_bytes(written(20_000))
    batches = iterate_rows(path, rows_per_batch=50)
    next(batches)
    path.write_bytes(written(kept))
    with pytest.raises(UsageError, match="changed while it was read, so rows may be missing"):
        list(batches)


def test_a_file_that_grows_or_is_replaced_or_deleted_while_it_is_read(tmp_path: Path) -> None:
    def begun() -> Iterator[pl.DataFrame]:
        path.write_text("text\n" + "good\n" * 100)
        batches = iterate_rows(path, rows_per_batch=10)
        next(batches)
        return batches

    path = tmp_path / "texts.csv"
    batches = begun()
    with path.open("a") as file:
        file.write("bad\n")
    with pytest.raises(UsageError, match=r"texts\.csv changed while it was read"):
        list(batches)
    batches = begun()
    path.unlink()
    with pytest.raises(UsageError, match=r"texts\.csv changed while it was read"):
        list(batches)
    assert len(list(begun())) == 9


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_objects_is_read_too(tmp_path: Path, indent: int | None) -> None:
    rows = [{"text": 'a [b], "]\n', "n": 1}, {"text": None, "more": {"deep": [1, {}]}}, {"text": "é", "n": 2}]
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=indent), encoding="utf-8")
    found = pl.concat(read_batches(tmp_path / "a.json", rows_per_batch=2), how="diagonal").rows(named=True)
    expected = [{"text": 'a [b], "]\n', "n": "1", "more.deep": None}, {"text": None, "n": None, "more.deep": "[1, {}]"}]
    assert found == [*expected, {"text": "é", "n": "2", "more.deep": None}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_an_array_on_one_line_may_be_of_any_length(encoding: str, tmp_path: Path) -> None:
    text = '"[良い], {é}:\\' * 9
    rows = [{"text": f"{text} {number}", "n": str(number), "more": None} for number in range(3_000)]
    longest = "x" * 100_000  # longer than the pieces that are read
    content = json.dumps([*rows, {"text": longest, "n": 1, "more": {"a": [1, True]}}], ensure_ascii=False)
    with reading_as("gb18030" if encoding == "gb18030" else None):
        whole = content.encode(encoding)
        for path, raw in (("a.json", whole), ("a.jsonl.gz", gzip.compress(whole))):
            found = rows_of(tmp_path / path, raw, rows_per_batch=1000)
            assert found.rows(named=True) == [*rows, {"text": longest, "n": "1", "more": '{"a": [1, true]}'}]
        assert pl.concat(iterate_rows(io.BytesIO(whole), rows_per_batch=5000)).height == 3_001


def test_a_long_line_of_another_format_is_not_in_pieces(tmp_path: Path) -> None:
    text = "word, " * 20_000
    assert rows_of(tmp_path / "a.csv", f'[text],label\n"{text}",a\n'.encode()).rows() == [(text, "a")]
    assert rows_of(tmp_path / "a.jsonl", json.dumps({"a": text}).encode()).rows() == [(text,)]


def test_a_longer_array_than_a_line_may_be_is_read_and_a_longer_row_is_not(tmp_path: Path) -> None:
    array = json.dumps([{"text": "good, " * 1_000}] * 3_000)
    assert len(array) > lines.LONGEST
    assert rows_of(tmp_path / "a.json", array.encode()).height == 3_000
    with pytest.raises(UsageError, match=r"a\.json, row 2 \(line 1\) is longer than 16 MiB"):
        rows_of(tmp_path / "a.json", f'[{{"a": 1}}, {{"a": {json.dumps(["good"] * 5_000_000)}}}]'.encode())
    with pytest.raises(UsageError, match=r"a\.json, line 1 is longer than 16 MiB"):
        rows_of(tmp_path / "a.json", b'[{"a": "%s"}]' % (b"x" * lines.LONGEST))


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ('text,n\n"so \\"good\\", yes",1\n"bad",2\n', [('so "good", yes', "1"), ("bad", "2")]),
        ('text,n\n"so \\"good\\", in C:\\new",1\n"bad",2\n', [('so "good", in C:\\new', "1"), ("bad", "2")]),
        ('text, n\n"so, yes", "1"\n"bad", "2"\n', [("so, yes", "1"), ("bad", "2")]),
        ("'text','n'\n'so, yes','1'\n'it''s','2'\n", [("so, yes", "1"), ("it's", "2")]),
        ("text,n\nso,1,\nbad,2,\n", [("so", "1", ""), ("bad", "2", "")]),
        ("text,n\n1,so,1\n2,bad,2\n", [("1", "so", "1"), ("2", "bad", "2")]),
        ('text,n\n" ""so""",1\n"bad, ""no""",2\n', [(' "so"', "1"), ('bad, "no"', "2")]),
        ('="text",n\n"=""so, """"good""""""","=""01"""\nbad="x",="02"\n', [('so, "good"', "01"), ('bad="x"', "02")]),
        ("text,n\nC:\\a,1\nD:\\b,2\n", [("C:\\a", "1"), ("D:\\b", "2")]),
    ],
)
def test_the_quotes_and_rows_of_other_programs(content: str, rows: list[tuple[str, ...]]) -> None:
    notes: list[str] = []
    (frame,) = iterate_rows(io.BytesIO(content.encode()), rows_per_batch=9, on_note=notes.append)
    assert frame.rows() == rows
    assert bool(notes) == (rows[0] not in [(' "so"', "1"), ("C:\\a", "1")])


@pytest.mark.parametrize("content", ["#id,text\n1,so,good\n2,no,bad\n", "id,text\n1,so, good\n2,no, bad\n"])
def test_rows_with_a_field_more_than_a_header_of_names_are_refused(content: str) -> None:
    with pytest.raises(UsageError, match="has 3 fields where the header has 2"):
        list(iterate_rows(io.BytesIO(content.encode()), rows_per_batch=9))


def test_rows_between_quotes_are_said() -> None:
    notes: list[str] = []
    content = b'label\ttext\na\t"one\nb\ttwo\na\tthree"\nb\tfour\n'
    (frame,) = iterate_rows(io.BytesIO(content), rows_per_batch=9, on_note=notes.append)
    assert frame.height == 2
    assert "perhaps some rows are read as one, such as in row 2 (lines 2 to 4)" in " ".join(notes)
