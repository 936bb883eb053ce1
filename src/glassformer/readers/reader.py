"""What a reader beside the transformer is, and how one is fitted. Without PyTorch and SciPy: answers need neither."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, overload

import numpy as np
from typing_extensions import TypeVar

from glassformer.data.arrays import Array, FloatArray, IntArray
from glassformer.data.inputs import Inputs
from glassformer.errors import GlassformerError, UsageError, brief, words_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import polars as pl

GROUP = "glassformer.readers"
"""The group of entry points by which packages add readers (see docs/how-to/add-a-reader.md)."""
BUILT_IN = ("counting", "body", "encoder", "rules", "transformer")
HEAVIEST = 20.0
"""The largest factor that the scores of a reader get in the answer (see `joining.py`)."""
DECIDING = 1_000.0
"""The score by which a reader decides. The calibrated scores of others seldom differ by more than 50."""


class Reader(ABC):
    """Gives each text a score for every output of the target. The model adds them up, with a weight for each reader."""

    weighed: ClassVar[bool] = True
    """Whether held-out rows weigh its scores. Otherwise they are added to the calibrated ones of others as they are."""

    @abstractmethod
    def scores(self, texts: Sequence[str]) -> FloatArray:
        """Return the scores (texts, width), which are logits, or numbers on the scale of training."""

    def shifted(self, by: FloatArray) -> Self | None:  # noqa: ARG002
        """Return this reader with `by` (width,) added to all scores, or None if its scores cannot be shifted."""
        return None

    def to(self, device: str) -> None:  # noqa: B027 (few readers can)
        """Compute on this torch device from now on, if the reader can."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write files that hold no code into an empty folder. Raises `OSError` if they cannot be written."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote. Raises `GlassformerError` if a file is missing or damaged."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """What a reader beside counting and the transformer learns.

    Attributes:
        truth: class numbers (rows,); ones and zeros (rows, width) for several labels per text; or numbers (rows,) with
            a mean near 0 and a deviation near 1.
        weights: (rows,) the weight of each row in the loss. Their mean is 1.
        loss: returns the loss (rows,) of scores (rows, width), given truths. Both are PyTorch tensors.
        inputs: how a text is made of several columns. None if it is one text.
        labels: (width,) the names of the outputs: those of labels, or of the column of a number.
    """

    texts: Sequence[str]
    truth: Array
    width: int
    weights: FloatArray
    loss: Callable[[Any, Any], Any]
    inputs: Inputs | None
    seed: int
    labels: tuple[str, ...] = ()

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows. Of rows whose texts were left out, they are left out too."""
        texts = [self.texts[row] for row in rows] if self.texts else ()
        return replace(self, texts=texts, truth=self.truth[rows], weights=self.weights[rows])


class Column(Sequence[str]):
    """The texts of a column of a table. They are strings while they are read alone, as all of them take gigabytes."""

    def __init__(self, column: pl.Series) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __iter__(self) -> Iterator[str]:
        return iter(self._column)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        return self._column[place].to_list() if isinstance(place, slice) else str(self._column[int(place)])


class InstalledReader(Reader):
    """A reader that another package adds."""

    @classmethod
    @abstractmethod
    def fit(cls, rows: Rows) -> Self:
        """Learn rows. The same rows and seed give the same reader."""


@dataclass(frozen=True, kw_only=True)
class Fold:
    """The numbers of the rows to learn from, and of the rows that are held out."""

    learned: IntArray
    held_out: IntArray

    def of_copies(self, first: IntArray, firsts: IntArray) -> Fold:
        """Return the same fold of more rows.

        Args:
            first: (more rows,) the number of the first row with the same text.
            firsts: (rows,) the numbers that the rows of this fold have among all rows.
        """
        learned = np.isin(first, firsts[self.learned])
        return Fold(learned=np.flatnonzero(learned), held_out=np.flatnonzero(~learned))

    def thinned(self, most: int, seed: int) -> Fold:
        """Return a fold with at most so many rows on each side, drawn by the seed."""
        draw = np.random.default_rng(seed)
        learned, held_out = (
            rows if len(rows) <= most else np.sort(draw.choice(rows, most, replace=False))
            for rows in (self.learned, self.held_out)
        )
        return Fold(learned=learned, held_out=held_out)


Kind = TypeVar("Kind", bound=Reader, default=Reader, covariant=True)


@dataclass(frozen=True, kw_only=True)
class FittedReader(Generic[Kind]):
    """A reader fitted to all rows, and scores for the rows of the folds by readers that have not seen them.

    Attributes:
        held_out: (rows of the folds, width), in the order of the folds.
        odds: of a reader that has read far more than these rows: the odds that it knows something of them (see `join`).
        doubts: why it may know nothing of them, each in a sentence.
    """

    reader: Kind
    held_out: FloatArray
    seconds: float
    odds: float | None = None
    doubts: tuple[str, ...] = ()


def fit_installed(name: str, rows: Rows, folds: Sequence[Fold]) -> FittedReader:
    """Fit an installed reader without the rows of each fold, and then to all rows.

    Raises:
        UsageError: no package adds such a reader.
        GlassformerError: its scores have another shape than `Reader.scores` says, or are not finite.
    """
    began, kind, held_out = time.perf_counter(), installed(name), []
    rows = replace(rows, texts=[*rows.texts])  # as a package may give them to what takes lists alone
    for fold in folds:
        texts = [rows.texts[row] for row in fold.held_out]
        held_out.append(checked(name, kind.fit(rows.take(fold.learned)).scores(texts), (len(texts), rows.width)))
    reader = kind.fit(rows)
    return FittedReader(reader=reader, held_out=np.concatenate(held_out), seconds=time.perf_counter() - began)


def checked(name: str, scores: Any, shape: tuple[int, int], precision: Any = np.float32) -> FloatArray:
    """Return the scores of a reader. Raises `GlassformerError` if they are not finite or have another shape."""
    found = np.asarray(scores, precision)
    if found.shape != shape:
        raise GlassformerError(f"the reader {name!r} gives scores of the shape {found.shape} where {shape} is needed")
    if not np.isfinite(found).all():
        raise GlassformerError(f"the reader {name!r} gives NaN or infinite scores")
    return found


def installed(name: str) -> type[InstalledReader]:
    """Return the reader that an installed package adds.

    Raises:
        UsageError: there is none of this name, or it cannot be imported.
    """
    found = _entries()
    if name not in found:
        others = "installed: " + ", ".join(sorted(found)) if found else "none is installed"
        raise UsageError(
            f"no installed package has a reader {name!r} ({others}); install the package that adds it, or name another"
        )
    try:
        kind = found[name].load()
    except (Exception, SystemExit) as error:  # it is code of others
        why = words_of(error) if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        raise UsageError(
            f"the reader {name!r} of {brief(found[name].value)} cannot be imported: {brief(why)}"
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, InstalledReader)):
        raise UsageError(f"the reader {name!r} of {found[name].value} is no subclass of `InstalledReader`")
    return kind


def _entries() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # it takes a while, and few models have such a reader

    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}
