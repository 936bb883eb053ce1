"""The tables of the bench: their rows, random parts of them, wrong labels and typos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.model_selection import train_test_split

from benchmarks.models import apart_from
from glassformer.data.known import Split, data_folders, group_column, resolve
from glassformer.data.table import Table, read_table
from glassformer.errors import UsageError
from glassformer.evaluation.robustness import with_typos

HELD_OUT, MOST_HELD_OUT = 0.2, 3_000
TEST_SEED = 42  # of the test rows of a data set that has none of its own
NOISE = 0.2
TYPOS = 0.1
TRIAL_ROWS = 300

# Data sets whose files are read by name: they are not known data sets, or only a part of one is used.
FILES: dict[str, dict[Split, str]] = {
    "trec": {"train": "train.parquet", "test": "test.parquet"},
    "vietnamese-feedback": {"train": "train.parquet", "test": "test.parquet"},
    "clinc150": {"train": "train.parquet", "test": "test.parquet"},
    "sentiment140": {"train": "random.parquet", "test": "manual359.parquet"},
    "customer-reviews": {"train": "all.parquet", "test": "all.parquet"},  # a fifth of it is the test
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of the bench.

    Attributes:
        data: the folder of the data set.
        rows: how many training rows are drawn; None for all.
        noise: the share of training labels that are replaced by another label.
        typos: the share of words with a typo, in training and held-out texts.
        minutes: about how long a seed takes on two cores. Only the estimate of the time left reads it.
    """

    name: str
    data: str
    rows: int | None = None
    noise: float = 0.0
    typos: float = 0.0
    minutes: float


ENTRIES = (
    Entry(name="zhou", data="zhou", minutes=0.5),
    Entry(name="trec", data="trec", minutes=1),
    Entry(name="trec-500", data="trec", rows=500, minutes=0.5),
    Entry(name="trec-noise", data="trec", noise=NOISE, minutes=1),
    Entry(name="trec-typos", data="trec", typos=TYPOS, minutes=1),
    Entry(name="customer-reviews", data="customer-reviews", minutes=1),
    Entry(name="customer-reviews-typos", data="customer-reviews", typos=TYPOS, minutes=1),
    Entry(name="vietnamese-feedback", data="vietnamese-feedback", minutes=1.5),
    Entry(name="vietnamese-feedback-1k", data="vietnamese-feedback", rows=1_000, minutes=0.5),
    Entry(name="clinc150", data="clinc150", minutes=8),
    Entry(name="clinc150-3k", data="clinc150", rows=3_000, minutes=2),
    Entry(name="disaster-tweets", data="disaster-tweets", minutes=1),
    Entry(name="disaster-tweets-1k", data="disaster-tweets", rows=1_000, minutes=0.5),
    Entry(name="disaster-tweets-noise", data="disaster-tweets", noise=NOISE, minutes=1),
    Entry(name="sentiment140", data="sentiment140", minutes=3),
    Entry(name="sentiment140-3k", data="sentiment140", rows=3_000, minutes=1),
    Entry(name="imdb", data="imdb", minutes=14),
    Entry(name="imdb-500", data="imdb", rows=500, minutes=1),
    Entry(name="imdb-3k", data="imdb", rows=3_000, minutes=2),
    Entry(name="imdb-10k", data="imdb", rows=10_000, minutes=6),
)
OF_TRIAL = ("zhou", "trec-noise", "customer-reviews-typos")


def entries_named(names: Sequence[str] | None) -> list[Entry]:
    """Return the entries of these names, by default all. Raises `UsageError` if there is no such entry."""
    by_name = {entry.name: entry for entry in ENTRIES}
    if unknown := [name for name in names or () if name not in by_name]:
        raise UsageError(f"{unknown[0]!r} is no entry of the bench. Choose from {', '.join(by_name)}")
    return [by_name[name] for name in (by_name if names is None else names)]


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The rows that all contestants train on, and the rows that they answer."""

    train: Table
    held_out: Table


def cut_rows(entry: Entry, seed: int, *, test: bool, quick: bool = False) -> Cut:
    """Cut the rows of an entry. The seed decides every random choice.

    Training rows whose text is held out are left out.

    Args:
        test: hold out the official test rows. Without it, hold out a fifth of the training rows, at most 3,000; no test
            row is then read, and another seed holds out other rows.
        quick: take few rows.

    Raises:
        UsageError: the data set is not on this machine.
    """
    train = read_rows(entry.data, "train")
    train, held_out = (train, read_rows(entry.data, "test")) if test else hold_out_fifth(train, seed)
    most = TRIAL_ROWS if quick else None
    train = some_rows(train, min(filter(None, (entry.rows, most)), default=None), seed)
    held_out = some_rows(held_out, most, seed)
    if entry.noise:
        train = with_wrong_labels(train, entry.noise, seed)
    train = apart_from(held_out, train)  # before the typos: they would hide that two texts are the same
    if entry.typos:
        train, held_out = (
            table_with_typos(table, entry.typos, np.random.default_rng([seed, number]))
            for number, table in enumerate((train, held_out))
        )
    return Cut(train=train, held_out=held_out)


def read_rows(data: str, split: Split) -> Table:
    """Read the training or the test rows of a data set.

    Raises:
        UsageError: they are not on this machine.
    """
    if data not in FILES:
        return resolve(data, split, group=group_column(data) if split == "train" else None)
    table = read_table(find_file(data, FILES[data][split]), text="text", label="label")
    table = replace(table, source=data)
    if FILES[data]["train"] != FILES[data]["test"]:
        return table
    train, test = hold_out_fifth(table, TEST_SEED)
    return train if split == "train" else test


def find_file(data: str, file: str) -> Path:
    """Return the path of a file of a data set. Raises `UsageError` if it is not on this machine."""
    folders = data_folders()
    for folder in folders:
        if (folder / data / file).is_file():
            return folder / data / file
    raise UsageError(
        f"{data}/{file} is in none of {', '.join(map(str, folders))}. Name the folder that holds it with "
        "GLASSFORMER_DATA, or choose other entries with --only"
    )


def hold_out_fifth(table: Table, seed: int) -> tuple[Table, Table]:
    """Return the other rows, and a fifth of the rows (at most 3,000) with the same shares of the classes."""
    count = min(MOST_HELD_OUT, round(HELD_OUT * table.frame.height))
    kept, held_out = _drawn(table, count, seed)
    return replace(table, frame=table.frame[kept]), replace(table, frame=table.frame[held_out])


def some_rows(table: Table, count: int | None, seed: int) -> Table:
    """Draw rows with the same shares of the classes. With None, or too few rows to draw from, return all."""
    if count is None or count >= table.frame.height:
        return table
    return replace(table, frame=table.frame[_drawn(table, count, seed)[1]])


def _drawn(table: Table, count: int, seed: int) -> tuple[list[int], list[int]]:
    """Return the row numbers that are left, and those that are drawn."""
    left, drawn = train_test_split(
        np.arange(table.frame.height), test_size=count, stratify=table.frame["label"].to_list(), random_state=seed
    )
    return sorted(left.tolist()), sorted(drawn.tolist())


def with_wrong_labels(table: Table, share: float, seed: int) -> Table:
    """Give a share of the rows another label. All other labels of the table are equally likely."""
    rng = np.random.default_rng(seed)
    labels = table.frame["label"].to_list()
    names = sorted(set(labels))
    for row in rng.choice(len(labels), size=round(share * len(labels)), replace=False).tolist():
        labels[row] = str(rng.choice([name for name in names if name != labels[row]]))
    return replace(table, frame=table.frame.with_columns(label=pl.Series(labels, dtype=pl.String)))


def table_with_typos(table: Table, share: float, rng: np.random.Generator) -> Table:
    """Put a typo into a share of the words."""
    texts = [with_typos(text, share, rng) for text in table.frame["text"]]
    return replace(table, frame=table.frame.with_columns(text=pl.Series(texts, dtype=pl.String)))
