"""The rows of Sentiment140 to learn from: those whose date does not reveal their label."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from glassformer.data.table import Table

WHOLE, PARTS = "train.parquet", "headtail.parquet"
SAME_DAYS = "sentinel_head"
"""The value of the column `source` in PARTS for rows from the beginning of the blocks of both classes."""


def training_rows(path: Path, read: Callable[[Path], Table], test: Path | None) -> Table:
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
            n_rows = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
            table = _and_parts(table, read(parts), parts, first_row=n_rows)
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
