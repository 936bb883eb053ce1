"""Unpack what the authors of the known data sets publish: verify it, and write it as Parquet files in one folder.

Archives are read as streams. Nothing in them is executed, and no path that an archive names is written to.
"""

import ast
import csv
import hashlib
import io
import itertools
import json
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import IO

import polars as pl

from glassformer.data.download import CHUNK
from glassformer.data.files import written_aside
from glassformer.data.rows import read_batches
from glassformer.data.table import Table
from glassformer.errors import GlassformerError

TWEETS_PER_PART = 2**16  # held as Python strings at one time
ZHOU_ROWS = "5528c551f2387b421d83d619689c898a324212023e7ae1e6a31df6ecb2c284d0"  # SHA-256 of both splits as JSON
IMDB_LABELS = {"neg": 0, "pos": 1, "unsup": -1}
IMDB_REVIEW = re.compile(r"aclImdb/(?P<split>train|test)/(?P<kind>neg|pos|unsup)/(?P<number>\d+)_(?P<rating>\d+)\.txt")
IMDB_ADDRESSES = re.compile(r"aclImdb/(?P<split>train|test)/urls_(?P<kind>neg|pos|unsup)\.txt")


def verify(path: Path, checksum: str) -> None:
    """Compare a file with its checksum, "md5:…" or "sha256:…". Raises `GlassformerError` if they differ."""
    algorithm, expected = checksum.split(":")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, algorithm).hexdigest()
    if found != expected:
        raise GlassformerError(
            f"{path.name} is not the published file, or it is damaged: its {algorithm} is {found}, expected {expected}."
        )


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write the frame to a hidden file beside `path`, then rename that file."""
    with written_aside(path) as aside:
        frame.write_parquet(aside)


def unpack_zhou(source: Path, folder: Path) -> None:
    """Read the file's `train_data = {text: truth, …}` and `test_data = …` as literals. The file is never executed."""
    try:
        literals = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in ast.parse(source.read_bytes()).body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        splits = {split: literals[f"{split}_data"] for split in ("train", "test")}
        if hashlib.sha256(json.dumps(list(splits.values())).encode()).hexdigest() != ZHOU_ROWS:
            raise ValueError("other rows")
    except (SyntaxError, ValueError, TypeError, KeyError) as error:
        raise GlassformerError(
            f"{source.name} does not hold the 58 training and 20 test rows expected: {error}"
        ) from error
    for split, rows in splits.items():
        frame = pl.DataFrame({"text": list(rows), "label": [int(truth) for truth in rows.values()]})
        write_parquet(frame, folder / f"{split}.parquet")


def unpack_disaster_tweets(source: Path, folder: Path) -> None:
    """Read the competition's train.csv, with the columns id, keyword, location, text and target."""
    frame = pl.concat(read_batches(source, rows_per_batch=CHUNK))
    write_parquet(frame.with_columns(pl.col("target").cast(pl.Int64).alias("label")), folder / "train.parquet")


def unpack_imdb(source: Path, folder: Path) -> None:
    """Read one text file per review. Its name holds the rating; the line of its number in urls_*.txt is the film."""
    reviews: dict[str, list[tuple[int, int, int, str, str]]] = {"train": [], "test": [], "unsup": []}
    films: dict[str, list[str | None]] = {}
    with tarfile.open(source, "r|gz") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is None:
                continue
            if found := IMDB_REVIEW.fullmatch(member.name):
                kind, number, rating = found["kind"], int(found["number"]), int(found["rating"])
                file = member.name.removeprefix("aclImdb/")
                rows = reviews["unsup" if kind == "unsup" else found["split"]]
                rows.append((IMDB_LABELS[kind], number, rating, file, content.read().decode()))
            elif found := IMDB_ADDRESSES.fullmatch(member.name):
                addresses = (re.search(r"/title/(tt\d+)", line) for line in content.read().decode().splitlines())
                films[f"{found['split']}/{found['kind']}"] = [address and address[1] for address in addresses]
    for split, rows in reviews.items():
        rows.sort()
        labels, numbers, ratings, files, texts = zip(*rows, strict=True)
        movies = [films[file.rsplit("/", 1)[0]][number] for file, number in zip(files, numbers, strict=True)]
        columns = {"text": texts, "label": labels, "rating": ratings, "movie": movies, "file": files}
        write_parquet(pl.DataFrame(columns), folder / f"{split}.parquet")


def unpack_sentiment140(source: Path, folder: Path) -> None:
    """Read two CSV files in Latin-1 without a header: polarity (0, 2, 4), id, date, query, user, text.

    All rows are kept, also repeated tweets and tweets with both labels. The split of the table handles those.
    """
    with zipfile.ZipFile(source) as archive:
        with archive.open("training.1600000.processed.noemoticon.csv") as file:
            train = _tweets(file).select("text", "label", "tweet_id", "date")
        with archive.open("testdata.manual.2009.06.14.csv") as file:
            manual = _tweets(file).select("text", "label", "polarity", "query")
    write_parquet(train, folder / "train.parquet")
    write_parquet(manual, folder / "manual498.parquet")
    write_parquet(manual.filter(pl.col("polarity") != 2), folder / "manual359.parquet")


def _tweets(file: IO[bytes]) -> pl.DataFrame:
    lines: Iterable[str] = io.TextIOWrapper(file, encoding="latin-1", newline="")
    rows = csv.reader(lines, strict=True)
    parts = []
    while part := list(itertools.islice(rows, TWEETS_PER_PART)):
        columns = zip(("polarity", "tweet_id", "date", "query", "user", "text"), zip(*part, strict=True), strict=True)
        parts.append(pl.DataFrame([pl.Series(name, values, pl.String) for name, values in columns]))
    frame = pl.concat(parts)
    return frame.with_columns(
        pl.col("polarity", "tweet_id").cast(pl.Int64),
        pl.col("polarity").replace_strict({"0": 0, "2": -1, "4": 1}, return_dtype=pl.Int64).alias("label"),
    )


WHOLE, PARTS = "train.parquet", "headtail.parquet"
SAME_DAYS = "sentinel_head"
"""The value of the column `source` in PARTS for rows from the beginning of the blocks of both classes."""


def training_rows_of_sentiment140(path: Path, read: Callable[[Path], Table], test: Path | None) -> Table:
    """Return the tweets whose date does not reveal their label.

    In the published file, each class is sorted by date. Some excerpts hold its first and its last rows: negative tweets
    of April and positive ones of June, so a model can learn the month instead of the sentiment. The positive tweets of
    the whole file end on 16 June 2009, its negative ones nine days later.

    These are the rows of WHOLE, or without it those of a sample from days with both classes, and SAME_DAYS of PARTS.
    The row numbers of PARTS continue those of the sample. Texts of the test rows are left out.
    """
    table = read(path)
    if path.name == WHOLE:
        table = _with_warning(table, path)
    else:
        table = _of_the_same_days(table, path)
        if (parts := path.with_name(PARTS)).is_file():
            table = _and_parts(
                table, read(parts), parts, first_row=pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
            )
    if test is None:
        return table
    return table.without(pl.read_parquet(test, columns=["text"])["text"], "duplicate of a test text")


def _days_of_both(path: Path) -> tuple[pl.Series, str] | None:
    """Whether each row is from the time that both classes cover (null without a date), and the last day of that time.

    None if the file does not say.
    """
    if not {"date", "label"} <= pl.read_parquet_schema(path).keys():
        return None
    # "Mon Apr 06 22:19:45 PDT 2009": all are of one time zone, which polars cannot read by its name.
    when = pl.col("date").str.replace(r" [A-Z]{3,4} ", " ").str.to_datetime("%a %b %d %H:%M:%S %Y", strict=False)
    tweets = pl.scan_parquet(path, glob=False).select("label", when=when).collect()
    spans = tweets.drop_nulls().group_by("label").agg(first=pl.col("when").min(), last=pl.col("when").max())
    if spans.height < 2:
        return None
    first, last = spans.select(pl.col("first").max(), pl.col("last").min()).row(0)
    return tweets["when"].is_between(first, last), f"{last.day} {last:%B %Y}"


def _with_warning(table: Table, path: Path) -> Table:
    days = _days_of_both(path)
    if days is None or not (outside := int((~days[0]).sum())):
        return table
    note = (
        f"{outside:,} of its {len(days[0]):,} tweets are from a time with tweets of only one class, most of them "
        f"after {days[1]}. Words about those days give the label away, in held-out rows too"
    )
    return replace(table, notes=(*table.notes, note))


def _of_the_same_days(table: Table, path: Path) -> Table:
    days = _days_of_both(path)
    if days is None:
        note = f"read from {path.name}, {table.frame.height:,} rows, as {WHOLE} is not there"
        return replace(table, notes=(*table.notes, note))
    fits = days[0][table.frame["row"] - 1]
    table = table.leaving_out(fits.is_null(), "no date, so not a tweet")
    table = table.leaving_out(~fits.drop_nulls(), "from a time with tweets of only one class")
    note = (
        f"read from {path.name}, as {WHOLE} is not there: {table.frame.height:,} of its {len(days[0]):,} rows, those "
        f"until {days[1]}; all later tweets are of one class, so their date would reveal the label"
    )
    return replace(table, notes=(*table.notes, note))


def _and_parts(table: Table, parts: Table, path: Path, *, first_row: int) -> Table:
    source = pl.read_parquet(path, columns=["source"])["source"]
    chosen = parts.frame.filter((source == SAME_DAYS)[parts.frame["row"] - 1])
    chosen = chosen.with_columns((pl.col("row") + first_row).cast(pl.UInt32))
    note = (
        f"and {chosen.height:,} of the {len(source):,} rows of {path.name}, those from the first days of both classes "
        f"({SAME_DAYS}); the others are not used: they are the first negative and the last positive tweets, so their "
        f"date would reveal the label"
    )
    return replace(table, frame=pl.concat([table.frame, chosen]), notes=(*table.notes, note))
