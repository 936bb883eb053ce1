"""The records of the evaluation of a model that answers with labels."""

from typing import ClassVar

from glassformer.evaluation.record import Estimate, Record
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
from glassformer.evaluation.rules import MeasuredRules
from glassformer.evaluation.weak_spots import (
    DoubtfulRows,
    InputShare,
    Robustness,
    Slices,
    TextChange,
    WorstError,
)
from glassformer.prediction.label_doubts import DoubtedLabel
from glassformer.targets.costs import CostRow


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


class CostOf(Record):
    """What other answers to the same rows cost: a row in the mean, and how much more than an answer of the model."""

    name: str
    mean: Estimate
    more: Estimate


class ChangedAnswers(Record):
    """Rows with another answer because of costs, and what a row costs in the mean."""

    was: str
    now: str
    rows: int
    cost_before: float
    cost_now: float


class CostFigures(Record):
    """What the answers cost: a row in the mean.

    `rows` are the costs, `asked` is the number of rows that a person is asked about.
    """

    rows: tuple[CostRow, ...]
    mean: Estimate
    asked: int
    others: tuple[CostOf, ...]
    changed: tuple[ChangedAnswers, ...]


class DoubtfulLabel(DoubtedLabel):
    """A held-out row of training whose label is doubtful."""

    text: str | None


class LevelScores(Record):
    """The most probable node of a level, of the rows whose label has this level."""

    level: int
    nodes: int
    rows: int
    accuracy: Estimate
    macro_f1: Estimate


class Hierarchical(Record):
    """The nodes on the path of the answer against those on the path of the truth, of all rows together.

    Precision: the share of the nodes of the answers that is right. Recall: the share of those of the truth that is
    answered. F1: their harmonic mean (Kiritchenko et al. 2005).
    """

    precision: float
    recall: float
    f1: Estimate


class LevelMeasures(Record):
    """The most probable label of a contestant, level by level."""

    name: str
    levels: tuple[LevelScores, ...]
    hierarchical: Hierarchical


class EndOfPaths(Record):
    """The paths of the model that end at a level, 0 for those of no level: their share, and the right share of them."""

    level: int
    rows: int
    share: float
    right: float | None


class Levels(Record):
    """The measures of classes with levels. `paths` are the answers of the model as far as it is sure."""

    separator: str
    contestants: tuple[LevelMeasures, ...]
    paths: Hierarchical
    ends: tuple[EndOfPaths, ...]


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
    costs: CostFigures | None = None
    class_curves: tuple[ClassCurve, ...] = ()
    ranks: tuple[RankMeasures, ...] = ()
    levels: Levels | None = None
    class_thresholds: tuple[ClassThresholds, ...] = ()
    review: Review | None = None
    slices: Slices | None = None
    robustness: Robustness[TextChange] | None = None
    inputs: tuple[LabelInputShare, ...] = ()
    rules: MeasuredRules | None = None
    label_doubts: DoubtfulRows[DoubtfulLabel] | None = None
    worst_errors: tuple[WorstError, ...]


PART = LabelEvaluation
