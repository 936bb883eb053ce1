from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.shards import shards_in
from glassformer.data.sources import SourceConfig, read_like_training
from glassformer.data.table import read_table
from glassformer.errors import UsageError

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
        ("read-me.md", b"text", r"shards is a folder, and its files are read as one table.*read-me\.md.*extension"),
        ("part-2.parquet", ROWS.select("text"), r"part-2\.parquet lacks the column 'label', unlike part-0\.parquet"),
        ("part-2.parquet", ROWS.with_columns(day=1), r"part-2\.parquet has a column 'day', unlike part-0\.parquet"),
        ("part-2.parquet", ROWS.head(0), r"part-2\.parquet has .*no rows"),
    ],
)
def test_an_error_names_the_shard(folder: Path, name: str, content: bytes | pl.DataFrame, message: str) -> None:
    breaks(folder, name, content)
    with pytest.raises(UsageError, match=f"(?s){message}"):
        read_table(folder)


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
