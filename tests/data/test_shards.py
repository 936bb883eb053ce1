import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.rows import batches_of
from glassformer.data.shards import files_of, shards_in
from glassformer.data.sources import SourceConfig, read_like_training
from glassformer.data.table import read_table
from glassformer.errors import UsageError
from tests.data.test_folder_encoding import FRENCH, RUSSIAN, bytes_of

ROWS = pl.DataFrame({"text": [f"text {n}" for n in range(11)], "label": ["a", "b"] * 5 + ["a"]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "shards"
    folder.mkdir()
    for number, start in enumerate(range(0, 11, 4)):
        ROWS[start : start + 4].write_parquet(folder / f"part-{number}.parquet")
    return folder


def test_shards_come_in_the_order_of_their_names_without_hidden_files(folder: Path) -> None:
    (folder / "_SUCCESS").touch()
    (folder / ".part-3.parquet.crc").touch()
    assert [path.name for path in shards_in(folder)] == ["part-0.parquet", "part-1.parquet", "part-2.parquet"]


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_folder_is_the_same_table_as_one_file(tmp_path: Path, kind: str) -> None:
    folder, whole = tmp_path / "shards", tmp_path / f"whole.{kind}"
    folder.mkdir()
    write: dict[str, Callable[[pl.DataFrame, Path], None]] = {
        "parquet": pl.DataFrame.write_parquet,
        "csv": pl.DataFrame.write_csv,
        "jsonl": pl.DataFrame.write_ndjson,
    }
    write[kind](ROWS, whole)
    write[kind](ROWS[:7], folder / f"a.{kind}")
    write[kind](ROWS[7:].select("label", "text"), folder / f"b.{kind}")
    one, several = read_table(whole), read_table(folder)
    assert several.frame.equals(one.frame)
    assert several.source == str(folder)
    assert several.notes[0] == "2 files, in the order of their names; rows are counted through all of them"


def breaks(folder: Path, name: str, content: bytes | pl.DataFrame) -> None:
    if isinstance(content, bytes):
        (folder / name).write_bytes(content)
    else:
        content.write_parquet(folder / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("part-1.parquet", b"PAR1", r"part-1\.parquet cannot be read, it may be damaged"),
        ("part-3.csv", b"text,label\n", r"several formats: 'part-0.parquet' and 'part-3.csv'"),
        ("more.dat", b"text", r"shards is a folder, and its files are read as one table.*more\.dat.*extension"),
        ("notes.txt", b"text", r"several formats: 'notes\.txt' and 'part-0\.parquet'"),
        ("readme.csv", b"text\nx", r"several formats: 'part-0\.parquet' and 'readme\.csv'"),
        ("part-2.parquet", ROWS.select("text"), r"part-2\.parquet lacks the column 'label', unlike part-0\.parquet"),
        ("part-2.parquet", ROWS.with_columns(day=1), r"part-2\.parquet has a column 'day', unlike part-0\.parquet"),
        ("part-2.parquet", ROWS.head(0), r"part-2\.parquet has .*no rows"),
    ],
)
def test_an_error_names_the_shard(folder: Path, name: str, content: bytes | pl.DataFrame, message: str) -> None:
    breaks(folder, name, content)
    with pytest.raises(UsageError, match=f"(?s){message}"):
        read_table(folder)


def test_notes_beside_the_tables_are_left_out_and_named(folder: Path) -> None:
    beside = ("CHANGELOG.md", "LICENSE", "README.de.txt", "read-me.md")
    for name in (*beside, "desktop.ini", "Thumbs.db", "~$book.xlsx"):
        (folder / name).write_text("no table")
    table = read_table(folder)
    assert table.frame.select("text", "label").equals(ROWS)
    assert table.notes[:2] == (
        "3 files, in the order of their names; rows are counted through all of them",
        "left out: 'CHANGELOG.md', 'LICENSE', 'README.de.txt' and 1 more, which are no tables",
    )
    with zipfile.ZipFile(folder.parent / "a.zip", "w") as archive:
        for name in ("part-1.parquet", "LICENSE"):
            archive.write(folder / name, name)
    assert read_table(folder.parent / "a.zip").notes[0] == "left out: 'LICENSE', which is no table"
    for path in folder.glob("*.parquet"):
        path.unlink()
    with pytest.raises(UsageError, match=r"CHANGELOG\.md: the extension does not say"):
        read_table(folder)


def test_of_tables_with_different_columns_one_is_named(folder: Path) -> None:
    for number in range(25):
        ROWS.head(1).write_parquet(folder / f"part-a{number:02}.parquet")
    ROWS.select("label").write_parquet(folder / "legend.parquet")
    with pytest.raises(UsageError, match=r"has a column 'text', unlike legend\.parquet\. .* or name one of") as caught:
        read_table(folder, text="text")
    assert caught.value.listing[:2] == (f"  {folder}/legend.parquet", f"  {folder}/part-0.parquet")
    assert caught.value.listing[20:] == ("  and 9 more",)


def test_folders_that_are_no_table(folder: Path) -> None:
    with pytest.raises(UsageError, match="holds the folder 'shards'"):
        read_table(folder.parent)
    for file in folder.iterdir():
        file.unlink()
    (folder / "_SUCCESS").touch()
    with pytest.raises(UsageError, match="shards is a folder without files"):
        read_table(folder)
    with pytest.raises(UsageError, match="No such file"):
        shards_in(folder / "nowhere")


def test_a_folder_is_measured_with_the_columns_of_training(folder: Path) -> None:
    read_as = SourceConfig(train="train.csv", text="text", label="label")
    labels = ["a", "b"]
    table = read_like_training(str(folder), read_as, None, labels=labels)
    assert (table.text_column, table.label_column, table.frame.height) == ("text", "label", 11)


def texts_of_shards(folder: Path, texts: dict[str, bytes]) -> tuple[list[str], list[str]]:
    """Write a table of each text, and return what is read of all and noted."""
    notes = list[str]()
    for name, text in texts.items():
        content = b'text,label\n"' + text + b'",a\n'
        (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return pl.concat(batches_of(files_of(folder), rows_per_batch=9, on_note=notes.append))["text"].to_list(), notes


@pytest.mark.parametrize(
    ("texts", "encoding", "said"),
    [
        (FRENCH, "cp1252", "17 of 19 files read as Windows-1252: 38 bytes such as 0xe9 in 00.csv are not UTF-8; "),
        (RUSSIAN, "koi8-r", "11 of 11 files read as KOI8-R: "),
    ],
)
def test_short_shards_are_read_in_one_encoding(
    texts: tuple[str, ...], encoding: str, said: str, tmp_path: Path
) -> None:
    """Alone, some of them are misread (see test_folder_encoding.py)."""
    encoded = {f"{place:02}.csv": bytes_of(text, encoding) for place, text in enumerate(texts)}
    found, notes = texts_of_shards(tmp_path, encoded)
    assert found == [*texts]
    assert len(notes) == 1
    assert notes[0].startswith(said)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in encoded:
            archive.write(tmp_path / name, name)
    assert read_table(tmp_path / "all.zip").frame["text"].to_list() == [*texts]


def test_shards_in_other_encodings_are_named(tmp_path: Path) -> None:
    encoded = {f"{place:02}.csv.gz": bytes_of(text, "cp1252") for place, text in enumerate(FRENCH)}
    both = {**encoded, "x.csv.gz": "; ".join(RUSSIAN).encode("koi8-r"), "y.csv.gz": "été".encode()}
    found, notes = texts_of_shards(tmp_path, both)
    assert found == [*FRENCH, "; ".join(RUSSIAN), "été"]
    assert notes == [
        "18 of 21 files are not UTF-8, and not all in one encoding: 17 × read as Windows-1252 (first: 00.csv.gz), "
        "1 × read as KOI8-R (first: x.csv.gz)"
    ]
    (tmp_path / "x.csv.gz").write_bytes((tmp_path / "x.csv.gz").read_bytes()[:-20])
    with pytest.raises(UsageError, match=r"x\.csv\.gz cannot be read, it may be damaged"):
        read_table(tmp_path)


def test_a_shard_that_says_nothing_at_its_beginning_is_read_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.data.folder_encoding._LOOKED_AT", 1_000)
    texts = {"a.csv": "; ".join(FRENCH), "b.csv": "a" * 1_000 + "; ".join(FRENCH)}
    found, notes = texts_of_shards(tmp_path, {name: text.encode("cp1252") for name, text in texts.items()})
    assert found == [*texts.values()]
    assert [note.split(":")[0] for note in notes] == ["1 of 2 files read as Windows-1252", "b.csv"]
