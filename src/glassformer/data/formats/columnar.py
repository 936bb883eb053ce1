"""Read Parquet and Arrow files, which keep their own types."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from glassformer.data.formats.compressions import most_of
from glassformer.data.formats.format import Format, Place
from glassformer.errors import UsageError

_ARROW_FILE = b"ARROW1"


@dataclass(frozen=True)
class Columnar(Format):
    """A file that polars reads in parts."""

    name: str
    extensions: tuple[str, ...]
    scan: Callable[[Path], pl.LazyFrame]
    written: str = ""

    def batches(self, place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
        table = self.scan(place.path)
        n_rows = table.select(pl.len()).collect().item()
        most, unpacked = most_of(place.path.stat().st_size), 0
        for start in range(0, n_rows, rows_per_batch):
            batch = table.slice(start, rows_per_batch).collect()
            unpacked += sum(int(each.str.len_bytes().sum()) for each in batch.select(pl.col(pl.String)))
            if unpacked > most:
                raise UsageError(f"{place.name} repeats few values very often: its rows hold {unpacked / 1e9:,.1f} GB")
            yield _spread(batch)


def _spread(batch: pl.DataFrame) -> pl.DataFrame:
    """Return records within rows as columns of their own, such as `review.text`, if no other column has that name."""
    while True:
        records = [name for name, kind in batch.schema.items() if isinstance(kind, pl.Struct)]
        columns = {name: [f"{name}.{field}" for field in batch[name].struct.fields] for name in records}
        times = Counter([*batch.columns, *itertools.chain(*columns.values())])
        if not (free := [name for name in records if all(times[column] == 1 for column in columns[name])]):
            return batch
        batch = batch.unnest(free, separator=".")


PARQUET = Columnar("parquet", (".parquet",), partial(pl.scan_parquet, glob=False))


def _scan_arrow(path: Path) -> pl.LazyFrame:
    """Open an Arrow file. One that was written as a stream has no list of its batches, so it is read whole."""
    with path.open("rb") as file:
        is_file = file.read(len(_ARROW_FILE)) == _ARROW_FILE
    return pl.scan_ipc(path, glob=False) if is_file else pl.read_ipc_stream(path).lazy()


def scanned(path: Path) -> pl.LazyFrame:
    return (PARQUET if path.suffix.lower() in PARQUET.extensions else ARROW).scan(path)


ARROW = Columnar("arrow", (".feather", ".arrow", ".ipc"), _scan_arrow, ".parquet")
