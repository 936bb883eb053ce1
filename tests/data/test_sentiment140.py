from pathlib import Path

import polars as pl
import pytest

from glassformer.data.known import resolve
from glassformer.data.labels import LabelSet
from glassformer.data.table import Table
from glassformer.errors import UsageError

# Negative tweets begin earlier and end later than positive ones.
NEGATIVE = [
    "Mon Apr 06 22:19:45",
    "Tue Apr 07 01:00:00",
    "Sat May 02 12:30:00",
    "Tue Jun 16 08:36:50",
    "Thu Jun 25 10:28:28",
]
POSITIVE = ["Mon Apr 06 22:22:00", "Sat May 30 07:00:01", "Tue Jun 16 08:36:50"]


def tweets(n_headers: int = 1) -> pl.DataFrame:
    dated = [(0, day) for day in NEGATIVE] + [(1, day) for day in POSITIVE]
    rows = [("5", 0, "2")] * n_headers + [(f"{day}, {label}", label, f"{day} PDT 2009") for label, day in dated]
    return pl.DataFrame(rows, schema=["text", "label", "date"], orient="row")


def parts() -> pl.DataFrame:
    sources = ["first_and_last", "sentinel_head", "first_and_last", "sentinel_head"]
    return pl.DataFrame({"text": [f"part {n}" for n in range(4)], "label": [0, 0, 1, 1], "source": sources})


def lay_out(folder: Path, **files: pl.DataFrame) -> None:
    (folder / "sentiment140").mkdir(parents=True, exist_ok=True)
    for name, frame in files.items():
        frame.write_parquet(folder / "sentiment140" / f"{name}.parquet")


def read(folder: Path) -> Table:
    return resolve("sentiment140", "train", folder)


def test_of_the_sample_only_the_days_of_both_classes_are_read(tmp_path: Path) -> None:
    lay_out(tmp_path, random=tweets())
    table = read(tmp_path)
    kept = [*NEGATIVE[1:4], *POSITIVE]
    assert [text[:-3] for text in table.frame["text"]] == kept
    assert table.frame["row"].to_list() == [3, 4, 5, 7, 8, 9]
    assert LabelSet.from_table(table).names == ("negative", "positive")
    assert {dropped.reason: dropped.rows for dropped in table.dropped} == {
        "no date, so not a tweet": [1],
        "from a time with tweets of only one class": [2, 6],
    }
    assert table.notes[1].startswith("read from random.parquet, as train.parquet is not there: 6 of its 9 rows, those")
    assert "until 16 June 2009" in table.notes[1]


def test_of_the_parts_only_the_first_days_of_both_classes_are_read(tmp_path: Path) -> None:
    lay_out(tmp_path, random=tweets(), headtail=parts())
    table = read(tmp_path)
    assert table.frame.tail(2).rows() == [(9 + 2, "part 1", "negative"), (9 + 4, "part 3", "positive")]
    assert table.frame["row"].is_unique().all()
    assert table.notes[2].startswith("and 2 of the 4 rows of headtail.parquet, those from the first days of both")
    assert "the others are not used" in table.notes[2]


def test_the_parts_alone_are_never_read(tmp_path: Path) -> None:
    lay_out(tmp_path, headtail=parts())
    with pytest.raises(UsageError, match="The train rows of sentiment140 are not in"):
        read(tmp_path)


def test_the_whole_file_is_read_whole_and_its_fault_is_said(tmp_path: Path) -> None:
    lay_out(tmp_path, train=tweets(n_headers=0), random=tweets(), headtail=parts())
    table = read(tmp_path)
    assert table.frame["text"].to_list() == tweets(n_headers=0)["text"].to_list()
    assert table.notes[1].startswith("2 of its 8 tweets are from a time with tweets of only one class")
    assert table.dropped == ()
    lay_out(tmp_path, train=tweets(n_headers=0)[[3, 7]])
    assert len(read(tmp_path).notes) == 1


@pytest.mark.parametrize("name", ["train", "random"])
def test_test_texts_are_never_trained_on(tmp_path: Path, name: str) -> None:
    texts = {"text": [" caf\u00e9", f"  {NEGATIVE[2]}, 0 "], "label": [1, 0]}
    lay_out(tmp_path, **{name: tweets(n_headers=0)}, manual359=pl.DataFrame(texts), headtail=parts())
    table = read(tmp_path)
    assert f"{NEGATIVE[2]}, 0" not in table.frame["text"].to_list()
    assert (table.dropped[-1].reason, table.dropped[-1].rows) == ("duplicate of a test text", [3])


def test_files_without_dates_are_read_as_they_are(tmp_path: Path) -> None:
    for name, n_notes in {"random": 2, "train": 1}.items():
        lay_out(tmp_path, **{name: tweets().drop("date")})
        table = read(tmp_path)
        assert (table.frame.height, len(table.notes)) == (9, n_notes)
