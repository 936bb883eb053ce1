"""How experiments rate answers: each kind of target adds a judge, `experiments.py` in its folder of `targets/`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from glassformer.data.arrays import Array, BoolArray
from glassformer.data.table import Table
from glassformer.data.wording import short
from glassformer.evaluation.intervals import bootstrap_mean
from glassformer.evaluation.record import Estimate, Record
from glassformer.evaluation.verdict import share, signed
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.training.loop import NotANumberError


class Figure(Record):
    """A figure by which two models are compared.

    Attributes:
        in_unit: whether it is in the unit of the number that is learned.
        decides: whether it decides which of two models is better, unless another figure is clearly worse.
    """

    key: str
    name: str
    lower_is_better: bool = False
    in_unit: bool = False
    decides: bool = False

    def written(self, value: float) -> str:
        return short(value) if self.in_unit else share(value)

    def signed(self, value: float) -> str:
        return ("−" if value < 0 else "+") + short(abs(value)) if self.in_unit else signed(value)


class Rating(NamedTuple):
    """What a trial is rated by, on the rows that its answers were calibrated with.

    Attributes:
        loss: that of all readers together; `own_loss` is that of the transformer alone.
    """

    loss: float
    own_loss: float
    figure: float | None


class Judge(ABC):
    """Rates the answers of models of a kind. A value of a row is what its answer adds to the mean that is a figure."""

    kind: ClassVar[str]
    """The folder of `targets/` with the kind of answer."""
    figures: ClassVar[tuple[Figure, ...]]
    lowest: ClassVar[float]
    """The lowest value of the first figure. The highest is 1."""
    better: ClassVar[str]
    """What a model is said to be whose first figure is higher."""
    loss: ClassVar[str]
    """What the loss of a trial is."""
    without_reading: ClassVar[str]
    """What a run that diverged counts as."""

    @abstractmethod
    def check_measured(self, table: Table, measured: Table) -> None:
        """Raise `UsageError` if models of a table cannot be measured on other rows."""

    @abstractmethod
    def check_learned(self, table: Table, learned: Table) -> None:
        """Raise `UsageError` if these rows of a table, or all of them, are not enough to learn what it holds."""

    @abstractmethod
    def strata(self, table: Table) -> Array:
        """Return what folds keep in proportion: class numbers (rows,), or ones and zeros (rows, classes)."""

    @abstractmethod
    def needed(self, table: Table, learned: BoolArray) -> BoolArray:
        """Return a mask of the rows that must be learned too, because `learned`, a mask, has too few rows like them."""

    @abstractmethod
    def never_held_out(self, table: Table, unseen: Table) -> list[str]:
        """Return the labels of a table that no held-out row has."""

    @abstractmethod
    def rated(self, metrics: Mapping[str, Any]) -> Rating:
        """Return what a trial is rated by, from its metrics."""

    def answers(self, trained: TrainedModel, table: Table) -> Array:
        """Return the answers of a model to a table (see `Target.values`).

        Raises:
            NotANumberError: they are NaN or infinite.
        """
        scores = Predictor(trained).reader_logits(table.frame["text"].to_list())
        if not all(np.isfinite(each).all() for each in scores.values()):
            raise NotANumberError("the answers are NaN or infinite")
        return trained.config.target.values(scores)

    @abstractmethod
    def rows(self, trained: TrainedModel, table: Table) -> dict[str, Array]:
        """Return what each figure is computed from: an array (rows,) by its key. Raises what `answers` raises."""

    def values(self, rows: Mapping[str, Array], table: Table) -> Array:  # noqa: ARG002
        """Return values (rows,) with the first figure as their mean."""
        return rows[self.figures[0].key]

    @abstractmethod
    def rows_without_reading(self, learned: Table, table: Table) -> dict[str, Array]:
        """Return `rows`, at least for the first figure, of a model that gives all texts the same answer."""

    def estimate(self, key: str, rows: Array, table: Table, **drawn: Any) -> Estimate:  # noqa: ARG002
        """Return a figure with its interval."""
        return bootstrap_mean(rows, **drawn)

    def difference(self, key: str, rows: Array, others: Array, table: Table, **drawn: Any) -> Estimate:  # noqa: ARG002
        """Return the figure of one model minus that of another on the same rows, paired."""
        return bootstrap_mean(rows - others, **drawn)

    @abstractmethod
    def p(self, rows: Mapping[str, Array], others: Mapping[str, Array]) -> float:
        """Return p of a paired test whether the first figure of two models differs. It takes rows as independent."""
