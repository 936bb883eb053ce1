import gzip
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.formats.all_formats import format_of
from glassformer.data.formats.archive import files_in
from glassformer.data.parts import PartError
from glassformer.data.rows import iterate_rows
from glassformer.data.shards import files_of
from glassformer.data.table import read_table
from glassformer.errors import UsageError
from tests.workbooks import xlsx

ROWS = pl.DataFrame({"text": [f"text {n}" for n in range(8)], "label": ["a", "b"] * 4})


def archive(path: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def as_csv(frame: pl.DataFrame) -> bytes:
    return frame.write_csv().encode()


def as_parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def rows_of(address: Path | str) -> pl.DataFrame:
    return pl.concat(iterate_rows(Path(address), rows_per_batch=3))


def test_several_tables_are_read_like_a_folder(tmp_path: Path) -> None:
    members = {"b.csv": as_csv(ROWS[5:]), "a/a.csv": as_csv(ROWS[:5]), "__MACOSX/b.csv": b"x", "read-me.txt": b"two"}
    path = archive(tmp_path / "all.zip", members)
    assert files_of(path) == [Path(f"{path}#a/a.csv"), Path(f"{path}#b.csv")]
    assert rows_of(path).equals(ROWS)
    table = read_table(path)
    assert table.frame.select("text", "label").equals(ROWS)
    assert table.notes[0] == "2 files, in the order of their names; rows are counted through all of them"
    assert rows_of(f"{path}#b.csv").equals(ROWS[5:])
    assert read_table(Path(f"{path}#b.csv")).source == f"{path}#b.csv"


@pytest.mark.parametrize(
    ("name", "content"), [("a.parquet", as_parquet(ROWS)), ("a.csv.gz", gzip.compress(as_csv(ROWS)))]
)
def test_a_member_may_have_any_format(name: str, content: bytes, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {name: content})
    assert rows_of(path).equals(ROWS)
    assert rows_of(f"{path}#{name}").equals(ROWS)
    assert format_of(path) == format_of(Path(name))


@pytest.mark.parametrize(
    ("members", "part", "message"),
    [
        (
            {"a.csv": b"text\nx", "b.csv": b"words\nx"},
            "",
            r"a\.zip#b\.csv lacks the column 'text', unlike a\.zip#a\.csv",
        ),
        ({"read-me.txt": b"x"}, "", "holds no table: 'read-me.txt'"),
        (
            {"pos/1.txt": b"x"},
            "",
            r"holds no table: 'pos/1\.txt'\. Texts without a table need a folder for each class, two or more",
        ),
        ({}, "", "holds no table, it is empty"),
        ({"a.csv": b"text\nx"}, "#b.csv", "holds no 'b.csv'. It holds 'a.csv'"),
        ({"a.csv": b"text\nx"}, "#a.csv#x", "'a.csv' is one table, so it has no 'x'"),
        ({"a.csv": b"text\nx"}, "#a.txt", "holds no 'a.txt'"),
        ({"../a.csv": b"text\nx"}, "", "'../a.csv', which leads out of the archive"),
        ({"/a.csv": b"text\nx"}, "", "leads out of the archive"),
        ({"..\\a.csv": b"text\nx"}, "", "'../a.csv', which leads out of the archive"),
        ({"in\\../..\\a.csv": b"text\nx"}, "", "leads out of the archive"),
        ({"\\a.csv": b"text\nx"}, "", "leads out of the archive"),
        ({"\\\\server\\share\\a.csv": b"text\nx"}, "", "leads out of the archive"),
        ({"C:\\a.csv": b"text\nx"}, "", "leads out of the archive"),
        ({"in\\a.csv": b"text\nx", "in/a.csv": b"text\ny"}, "", "holds 'in/a.csv' twice"),
        ({"a.csv": b"text\nx", "b.zip": b"PK"}, "", "'b.zip', which is an archive itself"),
        ({"a.csv": b"text\n" + b"x" * 2**21}, "", r"would unpack from 0\.0 MB to 2\.1 MB"),
    ],
)
def test_what_is_refused(
    members: Mapping[str, bytes], part: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.data.formats.compressions._MOST_SWOLLEN", 2**20)
    archive(tmp_path / "a.zip", members)
    with pytest.raises(UsageError, match=message):
        rows_of(f"{tmp_path}/a.zip{part}")
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_old_programs_of_windows_write_backslashes(tmp_path: Path) -> None:
    members = {"in\\": b"", "in\\a.csv": as_csv(ROWS), "in\\b.csv": as_csv(ROWS), "in\\.hidden\\c.csv": b"x"}
    path = archive(tmp_path / "a.zip", members)
    assert files_of(path) == [Path(f"{path}#in/a.csv"), Path(f"{path}#in/b.csv")]
    assert rows_of(path).equals(pl.concat([ROWS, ROWS]))
    for within in ("", "./", ".\\", "in//"):
        path = archive(tmp_path / "b.zip", {f"{within}good\\1.txt": b"lovely", f"{within}bad/1.txt": b"awful"})
        assert read_table(path).frame.select("label", "text").rows() == [("bad", "awful"), ("good", "lovely")]


def test_of_tables_of_several_formats_one_is_chosen(tmp_path: Path) -> None:
    sheets = {"March": [["text"], ["x"]], "April": [["text"], ["y"], ["z"]]}
    members = {"a.csv": b"text\nw", "in/b.csv": b"text\nv", "in/c.xlsx": xlsx(sheets)}
    path = archive(tmp_path / "a.zip", members)
    with pytest.raises(PartError, match=r"a\.zip holds tables of several formats, such as 'a\.csv' and ") as caught:
        rows_of(path)
    assert caught.value.parts == dict.fromkeys(members, "")
    assert caught.value.listing[1] == f"  {path}#in/b.csv"
    assert [rows_of(line.strip()).item() for line in caught.value.listing[:2]] == ["w", "v"]
    with pytest.raises(PartError) as caught:
        rows_of(f"{path}#in/c.xlsx")
    assert caught.value.parts == {"in/c.xlsx#March": "2 rows, 1 column", "in/c.xlsx#April": "3 rows, 1 column"}
    assert rows_of(f"{path}#in/c.xlsx#April")["text"].to_list() == ["y", "z"]


def test_of_tables_with_different_columns_one_is_chosen(tmp_path: Path) -> None:
    """A column that only the second one has is not missed in the first."""
    path = archive(tmp_path / "a.zip", {"legend.csv": b"label,meaning\na,good", "rows.csv": as_csv(ROWS)})
    said = r"rows\.csv lacks the column 'meaning', unlike a\.zip#legend\.csv\. .* or name one of them:"
    with pytest.raises(PartError, match=said) as caught:
        read_table(path, text="text", label="label")
    assert caught.value.parts == {"legend.csv": "", "rows.csv": ""}
    assert rows_of(caught.value.listing[1].strip()).equals(ROWS)


def test_a_sheet_of_the_only_workbook_is_named_with_it(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"b.xlsx": xlsx({"March": [["text"], ["x"]], "April": [["text"], ["y"]]})})
    with pytest.raises(PartError, match="has 2 sheets") as caught:
        rows_of(path)
    address = caught.value.listing[1].split("  ")[1]
    assert (address, rows_of(address).item()) == (f"{path}#b.xlsx#April", "y")


def test_an_encrypted_member_and_a_size_that_is_a_lie(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"a.csv": b"text\n" + b"x\n" * 100})
    whole = path.read_bytes()
    entry = whole.index(b"PK\x01\x02")
    path.write_bytes(whole[: entry + 8] + b"\x01\x00" + whole[entry + 10 :])
    with pytest.raises(UsageError, match=r"'a\.csv', which is encrypted"):
        files_in(path)
    path.write_bytes(whole[: entry + 24] + b"\x09\x00\x00\x00" + whole[entry + 28 :])
    with pytest.raises(UsageError, match="may be damaged"):
        rows_of(path)


def test_a_part_of_a_file_without_parts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(as_csv(ROWS))
    with pytest.raises(UsageError, match=r"a\.csv#x: 'a\.csv' is one table, so it has no 'x'; leave out #x"):
        rows_of(tmp_path / "a.csv#x")
