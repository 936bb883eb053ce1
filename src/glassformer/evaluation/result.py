"""The records of an evaluation. They are frozen, and written to `metrics.json` as they are."""

from typing import Any, ClassVar, Generic, TypeVar

from pydantic import Field, JsonValue

from glassformer.data.wording import counted, listed
from glassformer.errors import quoted
from glassformer.evaluation.drift import DriftTable
from glassformer.evaluation.record import Estimate, Machine, Record
from glassformer.evaluation.weak_spots import InputShare, NextStep, Robustness
from glassformer.targets.parts import part

_ENOUGH_ROWS = 10  # of a class: with fewer, its recall may be chance
_NAMED = 3
Measured = TypeVar("Measured", bound="Figures")
Contender = TypeVar("Contender", bound="Contestant[Any]")
Against = TypeVar("Against", bound="Comparison")


class Figures(Record):
    """The metrics of a contestant on the measured rows."""

    named: ClassVar[str] = ""
    """What stands before the leading figure in a sentence."""

    rows: int

    @property
    def leading(self) -> Estimate:
        """The figure by which contestants are compared. More is better."""
        raise NotImplementedError

    @property
    def main(self) -> dict[str, Estimate]:
        """The figures that a server shows of a model."""
        raise NotImplementedError

    @property
    def beside(self) -> dict[str, Any]:
        """The figures that it shows of each contestant on a table that was sent, as JSON."""
        return {name: each.model_dump() for name, each in self.main.items()}

    @property
    def remark(self) -> str | None:
        """A sentence that stands beside the verdict, or None."""
        return None


class Scores(Record):
    precision: float
    recall: float
    f1: float


class ClassScores(Scores):
    """One class: `support` rows truly have it, `found` of them were given it, as were `predicted` of all rows.

    `average_precision` is None if no row has the class, or every row.
    """

    name: str
    support: int
    predicted: int
    average_precision: float | None = None

    @property
    def found(self) -> int:
        return round(self.recall * self.support)


class Metrics(Figures):
    """The metrics of a classifier on a table.

    With several labels per text, `accuracy` is the share of rows whose whole set of labels is right (subset accuracy).
    `micro` exists only in this case: with one label per text, micro averages equal the accuracy. Macro averages are
    means over the classes that occur in the truth or in the predictions. `log_loss` is in nats.
    """

    accuracy: Estimate
    macro_f1: Estimate
    macro: Scores
    weighted: Scores
    micro: Scores | None
    per_class: tuple[ClassScores, ...]
    log_loss: float
    roc_auc: float | None
    roc_auc_missing_because: str | None

    @property
    def leading(self) -> Estimate:
        return self.accuracy

    @property
    def main(self) -> dict[str, Estimate]:
        return {"accuracy": self.accuracy}

    @property
    def beside(self) -> dict[str, Any]:
        return super().beside | {"macro_f1": self.macro_f1.model_dump(), "log_loss": self.log_loss}

    @property
    def remark(self) -> str | None:
        missed = [
            f"{quoted(each.name)} ({each.support - each.found:,} of {counted(each.support, 'text')} missed)"
            for each in self.missed
        ]
        return f"More missed than found: {listed(missed, _NAMED, more=', and {:,} more classes')}." if missed else None

    @property
    def missed(self) -> list[ClassScores]:
        """The classes with a recall below .5, those of most rows first. Classes of few rows are left out."""
        classes = sorted(self.per_class, key=lambda each: -each.support)
        return [each for each in classes if each.support >= _ENOUGH_ROWS and each.recall < 0.5]


class RankMeasures(Record):
    """How far off answers are if classes have an order. The rank of a class is its place in it.

    `mae` is the mean distance of the ranks of answer and truth, `spearman` their rank correlation (None if answers or
    truth are all the same), `kappa` Cohen's kappa with quadratic weights. `off_by[k]` rows are k ranks off.
    """

    name: str
    mae: Estimate
    spearman: Estimate | None
    kappa: Estimate | None
    off_by: tuple[int, ...]


class ReliabilityBin(Record):
    """The predictions with a confidence in (low, high]: their number, mean confidence and share of right ones."""

    low: float
    high: float
    count: int
    confidence: float | None
    accuracy: float | None


class Reliability(Record):
    ece: float
    bins: tuple[ReliabilityBin, ...]


class Calibration(Record):
    """Calibration before and after dividing the logits by `temperature`."""

    temperature: float
    before: Reliability
    after: Reliability


class RankingCurves(Record):
    """The average precision, and the points (x, y) of two curves.

    For the ROC curve, (x, y) is (false positive rate, true positive rate); for the precision–recall curve, (recall,
    precision).
    """

    roc: tuple[tuple[float, float], ...]
    precision_recall: tuple[tuple[float, float], ...]
    average_precision: float


class Ranking(Record):
    """How a classifier ranks the rows. `positive` is the class of the curves; None means all classes together.

    `base_rate` is the share of positive decisions, which is the precision of chance.
    """

    positive: str | None
    base_rate: float
    curves: RankingCurves


class ClassCurve(Record):
    """The precision–recall curve of one class against the rest: the points (recall, precision)."""

    name: str
    base_rate: float
    average_precision: float
    points: tuple[tuple[float, float], ...]


class ClassThresholds(Record):
    """What thresholds of probability do for one class, which `rows` of the measured rows truly have.

    `points` are (threshold, right, found): `found` rows have at least this probability, and `right` of them truly have
    the class. The highest threshold comes first.
    """

    name: str
    rows: int
    points: tuple[tuple[float, int, int], ...]


class AppliedThreshold(Record):
    """A threshold of confidence that held-out rows of training gave, and what it did on the measured rows.

    `held_out_error` is the share of wrong answers among the `held_out_rows` above the threshold, None if it is not
    known. `coverage` is the share of the measured rows above it. `error` is that of these rows, None if there are none.
    """

    confidence: float
    held_out_rows: int
    held_out_error: float | None
    coverage: Estimate
    error: Estimate | None


class AutomaticShare(Record):
    """The error among the surest `asked` of the measured rows, and the threshold of held-out rows for this share.

    The threshold is None for a share of 1, and if the model does not know it.
    """

    asked: float
    error: Estimate
    threshold: AppliedThreshold | None


class AutomaticClass(Record):
    """How many rows were answered with a class; how many of these automatically, and how many of these wrongly."""

    name: str
    rows: int
    automatic: int
    wrong: int


class ClassCoverage(Record):
    """How many rows truly have a class, and how many of their label sets hold it."""

    name: str
    rows: int
    covered: int


class LabelSets(Record):
    """The sets of all labels with at least `probability`, which held-out rows gave, so that `asked` hold the right one.

    `coverage` is the share of the measured rows whose set holds the right label. `sizes[k]` rows have k labels.
    """

    asked: float
    probability: float
    coverage: Estimate
    mean_size: float
    sizes: tuple[int, ...]
    per_class: tuple[ClassCoverage, ...]


class Review(Record):
    """Which answers can be given automatically, and which a person should see.

    `curve` is the risk–coverage curve: (share of the rows, the surest ones; share of wrong answers among them).
    `coverage_got` is (share of automatic answers that was asked for, share of the measured rows that came out so), and
    `sets_got` (share of label sets that should hold the right label, share that do). `by_class` is for the threshold of
    90%. It is empty with several labels per text, as are `sets_got` and `sets`. If the model knows no thresholds,
    `missing_because` says why.
    """

    curve: tuple[tuple[float, float], ...]
    shares: tuple[AutomaticShare, ...]
    coverage_got: tuple[tuple[float, float], ...] = ()
    sets_got: tuple[tuple[float, float], ...] = ()
    by_class: tuple[AutomaticClass, ...] = ()
    sets: tuple[LabelSets, ...] = ()
    missing_because: str | None = None


class Contestant(Record, Generic[Measured]):
    """The model, one of its readers alone, or a baseline. Seconds and bytes are None if they were not measured."""

    name: str
    description: str
    metrics: Measured
    fit_seconds: float | None
    predict_seconds: float | None
    size_bytes: int | None
    notes: tuple[str, ...] = ()


class Comparison(Record):
    """The comparison of the model with a baseline, or with one of its own readers alone, on the same rows.

    `difference` is in the leading figure, model − baseline.
    """

    better: ClassVar[str] = "better"
    """The word for a model of a higher leading figure."""

    baseline: str
    difference: Estimate
    verdict: str

    @property
    def p(self) -> float | None:
        """The p of a test of the difference, if there is one beside the interval."""
        return None


class Duel(Record, Generic[Contender, Against]):
    """The model beside the baselines, and beside each of its readers alone if it asks two.

    `reader_verdict` says which reader decides. It is None if the model has one reader.
    """

    model: Contender
    baselines: tuple[Contender, ...]
    comparisons: tuple[Against, ...]
    verdict: str
    readers: tuple[Contender, ...] = ()
    reader_comparisons: tuple[Against, ...] = ()
    reader_verdict: str | None = None

    @property
    def strongest(self) -> int | None:
        """The number of the baseline with the highest leading figure."""
        figures = [each.metrics.leading.value for each in self.baselines]
        return figures.index(max(figures)) if figures else None


class DroppedRows(Record):
    """Rows that were left out: the reason, their number, and the first row numbers."""

    reason: str
    count: int
    first_rows: tuple[int, ...] = ()


class DataSummary(Record):
    """The measured rows, with their fingerprint `sha256` and their `languages` by share, and the training rows."""

    source: str
    split: str
    rows: int
    sha256: str | None = None
    languages: dict[str, float] = Field(default_factory=dict)
    trained_on: str | None = None
    training_rows: int | None = None


class Evaluation(Record):
    """All results of an evaluation. The report shows only these, and the learning curves.

    Each kind of answer adds its own to them (`targets/*/evaluation_result.py`).
    """

    format: int = 1
    data: DataSummary
    model: dict[str, JsonValue]
    metrics: Figures
    duel: Duel[Any, Any]
    robustness: Robustness[Any] | None = None
    inputs: tuple[InputShare, ...] = ()
    """What each input gives, if a row has several."""
    drift: DriftTable | None = None
    """How these rows differ from those that were learned. None if they cannot be read."""
    too_good: str | None = None
    """Why the figures are too good: how many of these texts were also in training."""
    next_steps: tuple[NextStep, ...] = ()
    worst_errors: tuple[Any, ...]
    dropped: tuple[DroppedRows, ...]
    notes: tuple[str, ...]
    resamples: int
    seed: int
    machine: Machine
    command: str
    created: str

    @classmethod
    def part(cls, room: str) -> Any:
        """Return what the kind of answer that was measured adds to a room: see `Target.part`."""
        return part(cls.__module__.split(".")[-2], room)


class ModelComparison(Record):
    """The comparison of model A with model B on the same rows. `difference` is in the leading figure, A − B."""

    model_a: str
    model_b: str
    data: str
    data_sha256: str
    rows: int
    difference: Estimate
    verdict: str
    notes: tuple[str, ...]
    seed: int

    @property
    def figures(self) -> tuple[str, str]:
        """The figures of both models in words."""
        raise NotImplementedError

    @property
    def parted(self) -> dict[str, tuple[int, list[tuple[str, str]]]]:
        """What only one model does well: how many texts, and for some of them what is said of it, and the text."""
        raise NotImplementedError
