"""The labels of a table as checks see them: what a model that has not seen a row says of its label.

Each kind of target adds its own: `targets/*/labels.py`.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from glassformer.data.arrays import Array, Numbers
from glassformer.data.spellings import joined_spellings, label_key
from glassformer.data.table import Table
from glassformer.errors import UsageError, quoted
from glassformer.labels.findings import DROP, LabelCheck
from glassformer.labels.learning_curve import LearningCurve
from glassformer.labels.repeats import OnProgress
from glassformer.readers.counting.reader import CountingReader
from glassformer.readers.reader import Fold
from glassformer.targets.parts import part_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Suggested:
    """What is suggested for some rows.

    Attributes:
        cells: labels, as cells of the table.
        measures: how sure the model is of each, in the column `Truth.measure`.
    """

    cells: list[str]
    measures: Array


Doubted = tuple[Array, Suggested, float | None]

NO_DOUBTS: Doubted = np.zeros(0, np.int64), Suggested(cells=[], measures=np.zeros(0)), None
"""What `Truth.doubts` returns if no row is doubted and nothing is estimated."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Unsure:
    """What a model says of new texts.

    Attributes:
        order: (texts,) their places, the text that the model is least sure of first.
        reader: measures how much texts are alike.
    """

    order: Array
    suggested: Suggested
    reader: CountingReader


class Truth(ABC):
    """The labels of a table. `answers` are those to its rows, each by a model that has not seen the row."""

    to_type: ClassVar[str]
    """What a person may type as the new label, besides `DROP`."""
    measure: ClassVar[str]
    """The column of findings that says how sure the model is of a suggestion."""
    measure_of_new: ClassVar[str]
    """The same for new texts."""
    one_answer: ClassVar[str]
    """The one answer to all rows that agrees best with them."""

    def __init__(self, table: Table, separator: str | None = None, *, fold: bool = False) -> None:
        """Take a labelled table.

        Args:
            separator: that of several labels in a cell.
            fold: read other spellings of the labels that a person typed as these labels.
        """
        self.table = table
        self.separator = separator or "|"
        self.fold = fold

    @classmethod
    def of(cls, table: Table, separator: str | None = None, *, fold: bool = False) -> Truth:
        """Return the labels of a table, which may be of several kinds."""
        return cls(table, separator, fold=fold)

    @classmethod
    @abstractmethod
    def in_memory(cls, texts: Iterable[str], labels: Iterable[Any], groups: Any) -> Table:
        """Return texts and labels as a table, with their groups if any. Raises `InputError` if they cannot be used."""

    @cached_property
    def cells(self) -> list[str]:
        """The label of each row, as a cell of the table."""
        return self.table.frame["label"].to_list()

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The labels of the table. Numbers have none."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What the labels are: "2 labels"."""

    @property
    @abstractmethod
    def strata(self) -> Array:
        """(rows,) numbers whose proportions each fold keeps. Raises `UsageError` if the labels cannot be learned."""

    @property
    @abstractmethod
    def kinds(self) -> Array:
        """(rows,) a number for each label: two rows have the same one only if their labels are equal."""

    @abstractmethod
    def answers(self, texts: Sequence[str], folds: Sequence[Fold], on_progress: OnProgress) -> Array:
        """Answer each row by a model that has not seen it: (rows, …)."""

    @abstractmethod
    def curve(
        self, texts: Sequence[str], folds: Sequence[Fold], answers: Array, on_progress: OnProgress
    ) -> LearningCurve | None:
        """Return what more rows would bring, or None if it cannot be told."""

    @abstractmethod
    def doubts(self, answers: Array) -> Doubted:
        """Return the rows whose label is doubtful, the most doubtful first, with what is suggested for them.

        Returns:
            The last value is an estimate of how many labels are wrong, or None if there is no estimate.
        """

    @abstractmethod
    def suggested(self, answers: Array, rows: Array) -> Suggested:
        """Return what the model says of some rows."""

    @abstractmethod
    def agreement(self, answers: Array) -> tuple[Numbers, Numbers]:
        """Return how well the answer to each row agrees with its label, and how well one answer to all rows does."""

    @abstractmethod
    def unlike(self, text: Array, answers: Array) -> Array:
        """Return for each row another one with the same text that contradicts it, or −1.

        Args:
            text: (rows,) the number of the text of each row.
        """

    @abstractmethod
    def differ(self, one: Array, other: Array, answers: Array) -> Array:
        """Return whether the labels of rows contradict those of other rows with nearly the same text."""

    @abstractmethod
    def unsure(self, texts: Sequence[str], folds: Sequence[Fold], new: Sequence[str]) -> Unsure:
        """Learn from the table, and answer new texts."""

    @abstractmethod
    def agreement_in_words(self, check: LabelCheck) -> str:
        """Say how well the model agrees with the labels."""

    @abstractmethod
    def figures(self, check: LabelCheck) -> dict[str, float | None]:
        """Return the same as JSON."""

    @abstractmethod
    def measured(self, measure: float) -> str:
        """Say how sure the model is of a suggestion."""

    def same(self, one: str, other: str) -> bool:
        """Whether two cells hold the same label."""
        levels = self.table.levels
        return one == other or (self.fold and label_key(one, levels) == label_key(other, levels))

    @abstractmethod
    def checked(self, new: str, place: str, *, new_class: bool = False) -> str | None:
        """Return the cell for a label that a person typed, or None for `DROP`.

        Args:
            place: the file and row where it was typed.
            new_class: say how a label becomes one of the table.

        Raises:
            UsageError: the table cannot have this label.
        """

    def checked_name(self, new: str, place: str, *, new_class: bool) -> str | None:
        """Return the same for a cell of one label."""
        labels, source = sorted(self.names), self.table.source
        if new in labels:
            return new
        if new.lower() == DROP:
            return None
        if self.fold and (folded := joined_spellings([new], labels, self.table.levels)):
            return folded[new]
        same = [label for label in labels if label_key(label) == label_key(new)]
        near = same or difflib.get_close_matches(new[:100], [*labels, DROP], n=1, cutoff=0.7)
        shown = ", ".join(map(quoted, labels[:10])) + (", …" if len(labels) > 10 else "")
        hint = f"Did you mean {quoted(near[0])}?" if near else f"Known: {shown}; {DROP} leaves out the row."
        if new_class:
            hint += f" If it is a new class, first add a row with it to {source} yourself"
        raise UsageError(f"{place}: {quoted(new)} is not a label of {source}. {hint}")


def truth_of(table: Table, task: str | None = None, separator: str | None = None, *, fold: bool = False) -> Truth:
    """Return the labels of a table (see `Truth`).

    Args:
        task: what they are (see `SourceConfig.task`).
    """
    kind: type[Truth] = part_of(task, "labels")
    return kind.of(table, separator, fold=fold)
