import os
import zipfile
import zlib
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.rows import batches_of, read_batches
from glassformer.data.shards import files_of
from glassformer.data.table import read_table
from glassformer.errors import UsageError


def write(folder: Path, texts: dict[str, str | bytes]) -> Path:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_a_folder_of_texts_for_each_class_is_a_table(tmp_path: Path) -> None:
    texts: dict[str, str | bytes] = {
        "talk.misc/51": "no extension\n\ntwo paragraphs\n", "sci/1.txt": "été".encode("cp1252"), "sci/2.md": "\n",
        "README.txt": "not a class", "sci/.hidden": "no", "_SUCCESS": "", "sci/desktop.ini": "[.ShellClassInfo]",
        "sci/Thumbs.db": "no",
    }  # fmt: skip
    folder = write(tmp_path, texts)
    found = pl.concat(batches_of(files_of(folder), rows_per_batch=1)).rows(named=True)
    assert [(row["text"], row["label"], row["file"]) for row in found] == [
        ("été", "sci", "sci/1.txt"),
        ("", "sci", "sci/2.md"),
        ("no extension\n\ntwo paragraphs", "talk.misc", "talk.misc/51"),
    ]
    table = read_table(folder)
    assert table.frame["label"].to_list() == ["sci", "talk.misc"]
    assert "2 folders" in table.notes[0]
    assert [drop.reason for drop in table.dropped] == ["empty text"]


@pytest.mark.parametrize("within", ["", "mails/of march/"])
def test_an_archive_of_texts_for_each_class_is_one_too(within: str, tmp_path: Path) -> None:
    path, long = tmp_path / "mails.zip", "a" * 3_000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {"sci/Re: 2.md": "zwei", "talk.misc/51": long, "sci/1.txt": "été"}.items():
            archive.writestr(f"{within}{name}", text.encode("cp1252"))
        archive.writestr(f"__MACOSX/{within}sci/._1.txt", "hidden")
        archive.writestr(f"{within}sci/desktop.ini", "[.ShellClassInfo]")
        archive.writestr(f"{within}README.txt", "not a class")
    notes: list[str] = []
    found = pl.concat(read_batches(path, rows_per_batch=1, on_note=notes.append)).rows()
    assert found == [("été", "sci", "sci/1.txt"), ("zwei", "sci", "sci/Re: 2.md"), (long, "talk.misc", "talk.misc/51")]
    assert notes == [
        f"left out: '{within}README.txt', which lies outside the folders of the classes",
        "1 of 3 files read as Windows-1252: 2 bytes such as 0xe9 in sci/1.txt are not UTF-8; é",
    ]
    table = read_table(path)
    assert table.frame["label"].to_list() == ["sci", "sci", "talk.misc"]
    assert "2 folders" in table.notes[0]
    packed = zlib.compress(long.encode(), wbits=-zlib.MAX_WBITS)
    path.write_bytes(path.read_bytes().replace(packed, packed[::-1]))
    with pytest.raises(UsageError, match=r"mails\.zip.* may be damaged"):
        read_table(path)


def test_texts_above_and_beside_the_folders_are_left_out_and_named(tmp_path: Path) -> None:
    texts = {"mails/sci/1.txt": "a", "mails/talk/2.txt": "b", "LICENSE": "MIT", "README.md": "r", "mails/notes": "n"}
    path = tmp_path / "mails.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    table = read_table(path)
    assert table.frame.select("text", "label").rows() == [("a", "sci"), ("b", "talk")]
    assert (
        "left out: 'LICENSE', 'README.md', 'mails/notes', which lie outside the folders of the classes" in table.notes
    )
    folder = write(tmp_path / "all", dict(texts)) / "mails"
    write(folder, {f"{number}.md": "more" for number in range(4)})
    assert (
        "left out: '0.md', '1.md', '2.md' and 2 more, which lie outside the folders of the classes"
        in read_table(folder).notes
    )


@pytest.mark.parametrize(
    "names",
    [("sci/1.txt", "talk/a/2.txt", "talk/b/3.txt"), ("sci/1.txt", "README"), ("a/sci/1.txt", "b/talk/2.txt")],
    ids=["a class beside others", "one class", "two places"],
)
def test_other_archives_of_texts_are_refused(names: tuple[str, ...], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, "text")
    with pytest.raises(UsageError, match="Texts without a table need a folder for each class, two or more"):
        read_table(tmp_path / "a.zip")


@pytest.mark.parametrize(
    "texts",
    [
        {"one/1.txt": "a"},
        {"one/1.txt": "a", "two/t.csv": "text,label\na,b\n"},
        {"one/1.txt": "a", "two/deeper/1.txt": "b"},
        {"one/1.txt": "a", "two/1.txt": "b", "more.csv": "text,label\na,b\n"},
    ],
    ids=["one class", "tables", "deeper", "a table beside"],
)
def test_other_folders_of_folders_are_refused(tmp_path: Path, texts: dict[str, str | bytes]) -> None:
    with pytest.raises(UsageError, match="a folder that holds a folder of text files for each class"):
        read_table(write(tmp_path, texts))


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {os.fsdecode(b"caf\xe9/1.txt"): "a", "other/1.txt": "b"})
    with pytest.raises(UsageError, match=r"the name 'caf.*/1\.txt' is not UTF-8; rename the file or folder"):
        read_table(tmp_path)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path, {"one/1.txt": "a", "two/2.txt": bytes(range(256)) * 4})
    with pytest.raises(UsageError, match=r"2\.txt"):
        read_table(folder)
