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
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import polars as pl

from glassformer.data.checksums import sha256_of
from glassformer.data.download import CHUNK
from glassformer.data.files import written_aside
from glassformer.data.rows import read_batches
from glassformer.errors import GlassformerError

TWEETS_PER_PART = 2**16  # held as Python strings at one time
ZHOU_ROWS = "5528c551f2387b421d83d619689c898a324212023e7ae1e6a31df6ecb2c284d0"  # SHA-256 of both splits as JSON
_OF_TWEETS = ("polarity", "tweet_id", "date", "query", "user", "text")
IMDB_LABELS = {"neg": 0, "pos": 1, "unsup": -1}
IMDB_REVIEW = re.compile(r"aclImdb/(?P<split>train|test)/(?P<kind>neg|pos|unsup)/(?P<number>\d+)_(?P<rating>\d+)\.txt")
IMDB_ADDRESSES = re.compile(r"aclImdb/(?P<split>train|test)/urls_(?P<kind>neg|pos|unsup)\.txt")


def verify(path: Path, checksum: str) -> None:
    """Compare a file with its checksum, "sha256:…". Raises `GlassformerError` if they differ."""
    if (found := f"sha256:{sha256_of([path])}") != checksum:
        raise GlassformerError(
            f"{path.name} is not the published file, or it is damaged: its checksum is {found}, expected {checksum}."
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
        raise GlassformerError(f"{source.name} does not hold the 58 training and 20 test rows: {error}") from error
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
        parts.append(pl.DataFrame(part, schema=dict.fromkeys(_OF_TWEETS, pl.String), orient="row"))
    return pl.concat(parts).with_columns(
        pl.col("polarity", "tweet_id").cast(pl.Int64),
        pl.col("polarity").replace_strict({"0": 0, "2": -1, "4": 1}, return_dtype=pl.Int64).alias("label"),
    )
