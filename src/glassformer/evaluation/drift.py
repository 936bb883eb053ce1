"""Whether texts differ from rows of before by more than chance explains: compare the figures of both."""

from __future__ import annotations

import math
from dataclasses import dataclass

from glassformer.targets.target import Followed

FEWEST = 100  # texts
_SURE = 3.29  # standard deviations: chance alone goes as far in 1 of 1,000 cases


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A figure of the recent answers beside that of the held-out rows.

    Attributes:
        held_out: None if the model does not know it.
        moved: whether they differ by more than chance explains. None if that is not known.
    """

    name: str
    recent: float
    held_out: float | None
    moved: bool | None


def compared(figure: Followed, rows: int) -> Compared:
    """Compare two means by the standard error of their difference. Two shares are compared as if they were the same.

    Args:
        rows: how many rows the usual mean is of.
    """
    texts, recent = len(figure.values), sum(figure.values) / len(figure.values)
    usual = figure.usual
    if usual is None:
        return Compared(name=figure.name, recent=round(recent, 6), held_out=None, moved=None)
    if isinstance(figure.values[0], bool):
        both = (recent * texts + usual.mean * rows) / (texts + rows)
        error = math.sqrt(both * (1 - both) * (1 / texts + 1 / rows))
    else:
        variance = sum((value - recent) ** 2 for value in figure.values) / texts
        error = math.sqrt(variance / texts + usual.sd**2 / rows)
    # What is kept of the held-out rows has six decimals.
    moved = abs(recent - usual.mean) > max(_SURE * error, 1e-6) if texts >= FEWEST else None
    return Compared(name=figure.name, recent=round(recent, 6), held_out=usual.mean, moved=moved)
