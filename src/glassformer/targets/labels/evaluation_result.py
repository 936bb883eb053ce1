"""The records of the evaluation of a model that answers with labels."""

from __future__ import annotations

from typing import ClassVar

from glassformer.evaluation.result import (
    Calibration,
    ClassCurve,
    ClassThresholds,
    Comparison,
    Contestant,
    Duel,
    Evaluation,
    Metrics,
    Ranking,
    RankMeasures,
    Review,
)
from glassformer.evaluation.weak_spots import (
    DoubtfulRows,
    InputShare,
    Robustness,
    Slices,
    TextChange,
    WorstError,
)
from glassformer.prediction.label_doubts import DoubtedLabel


class LabelContestant(Contestant[Metrics]):
    """The model, one of its readers alone, or a baseline."""

    ranking: Ranking | None = None


class LabelComparison(Comparison):
    """A comparison of right answers. `difference` is in accuracy."""

    better: ClassVar[str] = "more accurate"

    only_model_right: int
    only_baseline_right: int
    mcnemar_p: float

    @property
    def p(self) -> float:
        return self.mcnemar_p


class LabelInputShare(InputShare):
    """What an input gives: the accuracy with it, and without it."""

    accuracy: float
    accuracy_without: float


class DoubtfulLabel(DoubtedLabel):
    """A held-out row of training whose label is probably wrong."""

    text: str | None


class LabelEvaluation(Evaluation):
    """The results for labels.

    `ranks` are those of the baselines and, last, of the model. They are empty unless classes have an order.
    """

    class_names: tuple[str, ...]
    multilabel: bool
    metrics: Metrics
    confusion: tuple[tuple[int, ...], ...] | None
    calibration: Calibration
    duel: Duel[LabelContestant, LabelComparison]
    class_curves: tuple[ClassCurve, ...] = ()
    ranks: tuple[RankMeasures, ...] = ()
    class_thresholds: tuple[ClassThresholds, ...] = ()
    review: Review | None = None
    slices: Slices | None = None
    robustness: Robustness[TextChange] | None = None
    inputs: tuple[LabelInputShare, ...] = ()
    label_doubts: DoubtfulRows[DoubtfulLabel] | None = None
    worst_errors: tuple[WorstError, ...]
