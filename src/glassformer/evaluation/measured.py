"""What an evaluation asks of a kind of answer: how rows are measured, and what belongs to its results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import polars as pl

from glassformer.data.arrays import Array, IntArray
from glassformer.data.splits import Splits, named_groups, with_groups
from glassformer.data.table import Table
from glassformer.data.wording import counted
from glassformer.evaluation.doubtful_rows import doubtful_rows
from glassformer.evaluation.intervals import RESAMPLES, Draws, worth_of_folds, worth_of_groups
from glassformer.evaluation.result import Comparison, Contestant, Duel, Evaluation, ModelComparison
from glassformer.evaluation.verdict import TRANSFORMER
from glassformer.evaluation.weak_spots import InputShare, Robustness
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import TrainedModel
from glassformer.readers.rules.reader import RulesReader

_NEARLY_ALL = 0.95  # of the rows
Answer = Callable[[list[str]], Array]
"""Returns the answers (rows, …) to composed rows: probabilities (rows, n_classes) or numbers (rows,)."""
Alone = Mapping[str, Array | None]
"""The answers of each reader alone to the measured rows, calibrated by itself. None: it is not asked."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """The answers of the model, of a reader or of a baseline on the measured rows, and what they cost, if known."""

    name: str
    description: str
    answers: Array
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    size_bytes: int | None = None
    notes: tuple[str, ...] = ()


class Baseline(Protocol):
    """A linear or constant model that learns from texts and answers others."""

    name: str
    description: str
    notes: tuple[str, ...]

    @property
    def size_bytes(self) -> int: ...
    def fit(self, texts: Sequence[str], truth: Array) -> object: ...
    def answers(self, texts: Sequence[str]) -> Array: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredRows(ABC):
    """The measured rows with their right answers and those of the model, and how to measure on them.

    Each kind of answer has its own (`targets/*/evaluation.py`).

    Attributes:
        rows: the row number of each text in its file; it is shown with the worst errors.
        rules: those of the model. None if it has none.
        groups: (n,) the group of each row, such as its author. Rows of a group are alike. None if there are none.
        folds: how many models answered the rows.
    """

    record: ClassVar[type[Evaluation]]
    contestants: ClassVar[type[Contestant[Any]]]
    duels: ClassVar[type[Duel[Any, Any]]]
    changes: ClassVar[type[Robustness[Any]]]
    readers_in_words: ClassVar[Mapping[str, str]] = {}
    """What the readers of glassformer are."""
    transformer: ClassVar[str] = TRANSFORMER
    """What the duel calls a model that has one reader."""

    target: Any
    truth: Array
    texts: Sequence[str]
    rows: Sequence[int]
    rules: RulesReader | None = None
    columns: pl.DataFrame | None = None
    seed: int = 0
    resamples: int = RESAMPLES
    groups: Array | None = None
    folds: int = 1

    @cached_property
    def worth(self) -> float:
        """The share of the rows that tells something of its own (see `Draws`)."""
        return worth_of_folds(self.folds) * self.worth_of_groups

    @cached_property
    def worth_of_groups(self) -> float:
        """The same, though one model answered all rows."""
        return worth_of_groups(self.wrong, self.groups)

    @property
    def about_groups(self) -> list[str]:
        """A sentence about groups that make the intervals wider."""
        if self.groups is None or (worth := self.worth_of_groups) > _NEARLY_ALL:
            return []
        rows, named = len(self.truth), len(named_groups(self.groups))
        of_one = f"a group are alike ({counted(named, 'group')})" if named else "the same text are alike"
        like = f"{max(1, round(worth * rows)):,} of {rows:,}"
        return [f"rows of {of_one}, so intervals and p count fewer rows: {like} for the model"]

    @property
    @abstractmethod
    def wrong(self) -> Array:
        """(n,) how wrong each answer of the model is."""

    @property
    def draws(self) -> Draws:
        """How intervals are drawn."""
        return self.draws_from(self.seed)

    def draws_of(self, values: Array) -> Draws:
        """Return the same for the mean of these values (n,): they may be more or less alike within groups."""
        return {**self.draws, "worth": worth_of_folds(self.folds) * worth_of_groups(values, self.groups)}

    def draws_from(self, seed: int) -> Draws:
        return {"seed": seed, "resamples": self.resamples, "worth": self.worth}

    @property
    @abstractmethod
    def answers(self) -> Array:
        """The answers of the model: (n, …)."""

    @classmethod
    def of(cls, trained: TrainedModel, table: Table, truth: Array, **about: Any) -> Self:
        """Return rows of a table with what was answered to them."""
        rules = trained.readers.get("rules")
        known: dict[str, Any] = {
            "target": trained.config.target,
            "rules": rules if isinstance(rules, RulesReader) else None,
        }
        if "group" in table.frame.columns:
            known |= {"groups": with_groups(table).frame["group"].to_numpy()}
        known |= {"texts": table.frame["text"].to_list(), "rows": table.frame["row"].to_list()}
        return cls(truth=truth, **(known | {"seed": trained.config.seed} | about))

    def contestant(self, outcome: Outcome) -> Any:
        about = {name: value for name, value in vars(outcome).items() if name != "answers"}
        return self.contestants(**about, **self.figures(outcome))

    @abstractmethod
    def figures(self, outcome: Outcome) -> dict[str, Any]:
        """Return `metrics` and what else a contestant of this kind has."""

    @abstractmethod
    def compare(self, model: Any, other: Any, answers: Array, *, alike: bool) -> Comparison:
        """Compare the model with another contestant and its answers.

        Args:
            alike: whether both are linear models of words and n-grams, so that none is simpler.
        """

    @abstractmethod
    def looked_into(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """Return the parts of the evaluation that only this kind of answer has."""

    @abstractmethod
    def input_share(
        self, places: IntArray, answers: Array, without: Array, seed: int, **named: Any
    ) -> InputShare | None:
        """Return what an input gives. None if it cannot be said.

        Args:
            answers, without: the answers to them, and without the values of the input.
        """

    @abstractmethod
    def change(
        self, places: IntArray, before: Array, after: Array, lengths: Sequence[int]
    ) -> tuple[dict[str, Any], list[tuple[int, Any, Any]]]:
        """Return what a small change of texts did to the answers.

        Args:
            places: (changes,) the number of each changed text among the rows. A text may occur several times.
            before, after: (changes, …) the answers.
            lengths: (changes,) those of the texts before.

        Returns:
            Figures, and examples: the number of a change and both answers. A figure whose name ends in `_after` is only
            meant if the right answers are still right.
        """

    @abstractmethod
    def compared(self, other: Any, **about: Any) -> ModelComparison:
        """Compare the answers of this model, A, with those of another one, B, to the same rows."""


def measures_of(config: FolderConfig) -> Any:
    """Return how the answers of a model are measured: `targets/labels/evaluation.py`, or that of a number."""
    return config.target.part("evaluation")


def doubts_of(trained: TrainedModel, seen: Splits | str) -> dict[str, Any]:
    """Return the field of the evaluation about rows of training that the model doubts."""
    field, found_as = measures_of(trained.config).DOUBTED
    return {field: doubtful_rows(trained, found_as, seen)}


def doubts_of_encoder(config: FolderConfig) -> list[str]:
    """Return why the encoder may know nothing of the texts, as training found."""
    return [] if "teacher" in config.data else [*config.remembered.data.encoder_doubts]


def by_text(places: IntArray, values: Array) -> Array:
    """Return for each text the mean over its changes."""
    _, of_text = np.unique(places, return_inverse=True)
    return np.bincount(of_text, values) / np.bincount(of_text)
