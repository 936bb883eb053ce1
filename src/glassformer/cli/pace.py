"""Progress of answering many texts: how many rows, how fast, and how much time is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.output import doing
from glassformer.data.wording import duration

if TYPE_CHECKING:
    import polars as pl


class Pace:
    """Shows the progress over batches, and within each batch. The time of waiting for texts does not count.

    Args:
        unit: what is counted, `texts` or `rows`.
        total: the size of all batches together, or None if it is not known.
        doing: what is done with them.
    """

    def __init__(
        self,
        unit: str,
        total: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        doing: str = "answering",
    ) -> None:
        self._unit, self._total, self._clock, self._doing = unit, total, clock, doing
        self._rows = self._read = self._size = 0
        self._busy = self._begun = 0.0

    def begin(self, size: int = 0) -> None:
        """Begin a batch of this size, in the unit of `total`."""
        self._size, self._begun = size, self._clock()
        doing(self.words(0.0))

    def on_progress(self, share: float) -> None:
        """Show that this share of the batch is done."""
        doing(self.words(share))

    def end(self, rows: int) -> None:
        """End the batch. Nothing is shown until the next one."""
        self._busy += self._clock() - self._begun
        self._rows += rows
        self._read += self._size
        self._size, self._begun = 0, self._clock()
        doing("")

    def words(self, share: float) -> str:
        """Return for example `answering: 12,288 rows, 1,200/s, 1 min 15 s left`."""
        busy = self._busy + self._clock() - self._begun
        parts = [f"{self._rows:,} {self._unit}"] if self._rows else []
        if self._rows and self._busy:
            parts.append(per_second(self._rows / self._busy))
        if self._total:
            done = min(1.0, (self._read + share * self._size) / self._total)
            parts += [f"{done:.0%}", f"{duration(busy * (1 - done) / done)} left"] if done else []
        elif share:
            parts.append(f"{share:.0%} of the next {self._unit}" if self._rows else f"{share:.0%}")
        return f"{self._doing}: {', '.join(parts)}" if parts else self._doing


def per_second(rate: float) -> str:
    """Write how many are done in a second."""
    return f"{round(rate):,}/s" if rate >= 10 else f"{rate:.1f}/s"


def size_of_file(path: Path) -> int | None:
    """Return the rows of a Parquet or Arrow file, or the bytes of a text file. None if the size tells little."""
    from glassformer.data.formats.all_formats import FORMATS
    from glassformer.data.formats.columnar import Columnar, scanned

    kind = FORMATS.get(path.suffix.lower())
    if kind is None or not path.is_file():
        return None
    if isinstance(kind, Columnar):
        return _rows(scanned(path))
    return path.stat().st_size if kind.is_text else None


def size_of_rows(frame: pl.DataFrame, path: Path) -> int:
    """Return about how much of `size_of_file` these rows are."""
    from glassformer.data.formats.all_formats import FORMATS
    from glassformer.data.formats.columnar import Columnar

    kind = FORMATS[path.suffix.lower()]
    if isinstance(kind, Columnar):
        return frame.height
    separated = kind.name in ("csv", "tsv")
    return len((frame.write_csv(include_header=False) if separated else frame.write_ndjson()).encode())


def _rows(table: pl.LazyFrame) -> int:
    import polars as pl

    return int(table.select(pl.len()).collect().item())
