"""Whether rows differ from those of before by more than chance explains: figures of both, and what moved."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from glassformer.data.arrays import Array
from glassformer.data.wording import counted, share_in_percent, short
from glassformer.errors import quoted
from glassformer.evaluation.record import Record
from glassformer.targets.target import Followed

FEWEST = 100  # texts
UNSEEN = "words and word pairs not seen in training"
"""The mean share of them in a text (see `Seen.unseen_shares`)."""
_SHOWN, _NAMED = 5, 3  # labels and words in a sentence
_SURE = 3.29  # standard deviations: chance alone goes as far in 1 of 1,000 cases


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A figure of the recent answers beside that of the held-out rows.

    Attributes:
        moved: whether they differ by more than chance explains. None if that is not known.
    """

    name: str
    recent: float
    held_out: float | None
    moved: bool | None


def compared(figure: Followed, rows: int) -> Compared:
    """Compare two means by the standard error of their difference. Two shares are compared as if they were the same."""
    texts, recent = len(figure.values), sum(figure.values) / len(figure.values)
    usual = figure.usual
    if usual is None:
        return Compared(name=figure.name, recent=round(recent, 6), held_out=None, moved=None)
    if isinstance(figure.values[0], bool):
        both = (recent * texts + usual.mean * rows) / (texts + rows)
        error = math.sqrt(both * (1 - both) * (1 / texts + 1 / rows))
    else:
        variance = sum((value - recent) ** 2 for value in figure.values) / texts
        error = math.hypot(math.sqrt(variance / texts), usual.sd / math.sqrt(rows))
    # What is kept of the held-out rows has six decimals.
    moved = abs(recent - usual.mean) > max(_SURE * error, 1e-6) if texts >= FEWEST else None
    return Compared(name=figure.name, recent=round(recent, 6), held_out=usual.mean, moved=moved)


class LabelFigures(NamedTuple):
    """Right answers as figures that are compared with those of other rows.

    Attributes:
        of: (rows,) each, by name: the numbers, or whether a row has a label.
    """

    kind: Literal["label", "number"]
    of: Mapping[str, Array]


class Moved(Record):
    """A figure of earlier and of later rows: a mean, or the share of rows that have a label or a word.

    `moved`: whether they differ by more than chance explains. None if there are too few rows to tell.
    """

    kind: Literal["label", "number", "length", "unseen", "word"]
    name: str
    earlier: float
    later: float
    moved: bool | None

    @property
    def is_share(self) -> bool:
        """Whether the figure is a share of rows."""
        return self.kind not in ("number", "length")

    @property
    def size(self) -> float:
        """How far it moved."""
        return abs(self.later - self.earlier)

    def __str__(self) -> str:
        if self.is_share:
            written = [[share_in_percent(each, digits) for each in (self.earlier, self.later)] for digits in range(4)]
            earlier, later = next((both for both in written if both[0] != both[1]), written[0])
            return f"{self.name} {earlier} → {later}"
        return f"{self.name} {short(self.earlier)} → {short(self.later)}"


class DriftTable(Record):
    """How later rows differ from earlier ones: in their labels, their length and their words.

    `words`: those that moved, at most 20, the surest first. `words_compared`: how many words were frequent enough.
    """

    names: tuple[str, str]
    """What the earlier and the later rows are called."""
    earlier: int
    later: int
    figures: tuple[Moved, ...]
    words: tuple[Moved, ...]
    words_compared: int
    words_moved: int

    @property
    def moved(self) -> list[Moved]:
        """The figures that moved: labels first, those that moved farthest before others."""
        found = [each for each in self.figures if each.moved]
        return sorted(found, key=lambda each: (each.kind == "unseen", each.kind == "length", -each.size))

    @property
    def sentence(self) -> str:
        """What moved, in one sentence."""
        before, after = self.names
        if self.later < FEWEST:
            few = counted(self.later, "row is", "rows are")
            return f"{few} too few to tell how {after} differ from {before}"
        labels = [each for each in self.moved if each.kind not in ("length", "unseen")]
        more = [f"{len(labels) - _SHOWN:,} more labels"] if len(labels) > _SHOWN else []
        rest = [each for each in self.moved if each not in labels]
        said = [*map(str, labels[:_SHOWN]), *more, *map(str, rest)]
        if self.words_moved:
            named = ", ".join(quoted(each.name) for each in self.words[:_NAMED])
            dots = ", …" if self.words_moved > _NAMED else ""
            said.append(f"the frequency of {counted(self.words_moved, 'word')} ({named}{dots})")
        if not said:
            return f"{after} are like {before} in their labels, their length and their words"
        return f"{after} differ from {before} by more than chance explains: {', '.join(said)}"
