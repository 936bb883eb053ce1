"""How labels of a kind are given, kept, suggested, measured and learned at the desk. `targets/` has each kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import polars as pl

from glassformer.data.arrays import Array
from glassformer.evaluation.record import Estimate
from glassformer.prediction.answering import Answering
from glassformer.readers.rules.saying import Saying
from glassformer.targets.parts import part_of

FEWEST_TEXTS = 2
"""What a model needs of a class to learn it."""

Difference = Callable[[str, str], float]


class Said(NamedTuple):
    """What a model says of texts.

    Attributes:
        cells: labels as they are kept (texts,).
        sureness: what a threshold for automatic answers is set on (texts,), from 0 to 1. None if there is none.
        doubt: (texts,) from 0 on: the larger, the more a label of this text would teach the model.
    """

    cells: list[str]
    sureness: list[float] | None
    doubt: Array


class Unseen(NamedTuple):
    """What a model says of rows that it had not learned.

    Attributes:
        rows: their numbers in the table that it learned from (rows,).
    """

    rows: Array
    said: Said


class Figure(NamedTuple):
    """How good suggestions are: in a sentence about the model, in a cell of a table, and as a number."""

    said: str
    short: str
    estimate: Estimate


class Labelling(ABC):
    """A kind of label. A label is kept as a string, as a cell of a table would hold it."""

    task: ClassVar[str]
    panel: ClassVar[str]
    """The name of what the page gives labels by: `page/giving_NAME.js`."""
    levels: str | None = None
    """What separates two levels of a class. None: classes have no levels."""
    ordered: ClassVar[bool] = False
    """Whether classes have an order, which a person may change."""
    sureness: ClassVar[str] = "probability"
    """What `Said.sureness` is, in words."""
    measure: ClassVar[str] = "accuracy"
    """What `Figure.estimate` is."""
    mistake: ClassVar[str] = "A wrong answer costs"
    """What a unit of `loss` costs, as the page asks for it."""

    @abstractmethod
    def from_table(self, values: pl.Series) -> pl.Series:
        """Return the labels of a column of the table. Null: there is none yet, or it is none of this kind."""

    @abstractmethod
    def cell(self, given: str) -> str:
        """Return a label that a person gave as it is kept.

        Raises:
            UsageError: it is none of this kind.
        """

    def name(self, given: str) -> str:
        """Return the name that a person gave to one class as it is kept. Raises `UsageError` if it is none."""
        return self.cell(given)

    @abstractmethod
    def classes_of(self, cell: str) -> Sequence[str]:
        """Return the classes of a label."""

    def is_among(self, cell: str, name: str) -> bool:
        """Whether a label is of a class. With levels, a name may end with what separates them: all classes below it."""
        return name in self.classes_of(cell)

    def renamed(self, cell: str, name: str, to: str) -> str:  # noqa: ARG002
        """Return what a class becomes if `name`, which it is or is below of (see `is_among`), is called `to`."""
        return to

    def moved(self, before: str | None, to: str, instead: str | None) -> str:  # noqa: ARG002
        """Return the label of a text to which a class is given beside others, or in the place of one of them.

        Args:
            before: the label that it has. None if it has none.
            to: the label to give.
            instead: the class in whose place it comes. None if it comes beside the others.
        """
        return to

    @abstractmethod
    def lesson(self, labelled: pl.DataFrame) -> pl.DataFrame:
        """Return the rows (with a column label) that a model can learn from."""

    @abstractmethod
    def missing(self, lesson: pl.DataFrame) -> str | None:
        """Return what a model needs besides more labels, or None."""

    def settings(self, classes: Sequence[str]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the settings of training besides the table.

        Args:
            classes: those of the lesson, in their order.
        """
        return {"task": self.task}

    @abstractmethod
    def saying(self, classes: Sequence[str]) -> Saying:
        """Return what a rule may say. Raises `UsageError` if it speaks of classes, and there is none."""

    @abstractmethod
    def said(self, answers: Any) -> Said:
        """Return what a model says, from its answers."""

    def unseen(self, predictor: Answering) -> Unseen | None:
        """Return what a model said of rows that it had not learned. None if it does not keep that."""
        kept = predictor.held_out and predictor.held_out.kept
        if kept is None or kept.row_numbers is None:
            return None
        return Unseen(kept.row_numbers, self.said_unseen(kept, predictor.trained.config.target))

    @abstractmethod
    def said_unseen(self, kept: Any, target: Any) -> Said:
        """Return what a model said of the held-out rows that it keeps."""

    @abstractmethod
    def to_check(self, cell: str) -> Any:
        """Return a label as `check_labels` takes it."""

    def checked(self, suggested: str) -> str:
        """Return a label that `check_labels` suggests as it is kept."""
        return suggested

    def loss(self, label: str, suggested: str) -> float:
        """Return how wrong a suggestion is."""
        return float(label != suggested)

    def distance(self, label: str, suggested: str) -> float:
        """Return how far off a suggestion is, which puts the wrong ones in an order. 0 if it is right."""
        return self.loss(label, suggested)

    def mean_loss(self, estimate: Estimate) -> Estimate:
        """Return how wrong a suggestion is on average, by `Figure.estimate`."""
        return Estimate(value=1 - estimate.value, low=1 - estimate.high, high=1 - estimate.low)

    @abstractmethod
    def figure(self, pairs: Sequence[tuple[str, str]]) -> Figure:
        """Return how good suggestions are: pairs of a label that a person gave and what the model suggested."""

    def by_level(self, counts: Mapping[tuple[str, str], int]) -> str | None:  # noqa: ARG002
        """Return how good suggestions are at each level, in words. None if classes have no levels.

        Args:
            counts: how often which pair of a label and a suggestion occurs.
        """
        return None

    def difference(self, totals: Counter[str], classes: Sequence[str]) -> Difference:  # noqa: ARG002
        """Return the difference of two labels for measures of agreement. Of unordered classes, it is 0 or 1.

        Args:
            totals: how often each label was given.
        """
        return lambda one, other: float(one != other)


@dataclass(frozen=True)
class Renames:
    """The other names that classes got, also by being joined to another one.

    Attributes:
        renames: of each: the batch before which the old name was used, the old and the new name; in their order.
    """

    renames: Sequence[tuple[int, str, str]]
    labelling: Labelling

    def present(self, label: str, batch: int) -> str:
        """Return a label that was given in or after a batch with the present names of its classes."""
        for before, name, became in self.renames:
            if batch < before and name in self.labelling.classes_of(label):
                label = self.labelling.moved(label, became, name)
        return label


def labelling_of(facts: Mapping[str, Any]) -> Labelling:
    """Return the kind of labels of a project.

    Its facts are `task`, `separator` (of several labels in the table) and `levels` (what separates those of a class).
    """
    return part_of(facts.get("task"), "desk")(facts.get("task"), facts.get("separator"), facts.get("levels"))


def check_facts(facts: Mapping[str, Any]) -> None:
    """Raise `ValueError` if a fact is none that a desk wrote. The table is a file in the folder of the project."""
    for name in ("table", "text", "label", "task", "separator", "levels", "rules", "encoding", "person"):
        if not isinstance(facts.get(name), str | None):
            raise ValueError(f"its fact {name!r} is no text")
    for name in ("other_texts", "columns", "lower", "found", "doubts", "added", "blind"):
        kind = dict if name == "doubts" else str
        if not isinstance(held := facts.get(name, []), list) or not all(isinstance(each, kind) for each in held):
            raise ValueError(f"its fact {name!r} is no list, or one of other things")
    for name in ("threshold", "wrong", "human"):
        if not isinstance(facts.get(name, 0), int | float):
            raise ValueError(f"its fact {name!r} is no number")
    if (facts.get("text") and "label" not in facts) or (facts.get("lower") and not facts.get("levels")):
        raise ValueError("it does not say how its labels are read")
    table = Path(facts.get("table") or ".")  # a part of it, behind #, may hold slashes
    if table.is_absolute() or ".." in table.parts:
        raise ValueError("its table is a file outside the project")
