"""The records an evaluation leaves: frozen, plain, and written to `metrics.json` as they stand."""

import os
import platform
from typing import Self

from pydantic import BaseModel, ConfigDict, JsonValue


class Record(BaseModel):
    """A frozen, keyword-only record; `model_dump_json` writes it, `model_validate_json` reads it back."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")


class Estimate(Record):
    """A number with its 95% interval: percentile bootstrap, or exact for a share of rows that are all alike."""

    value: float
    low: float
    high: float


class Scores(Record):
    precision: float
    recall: float
    f1: float


class ClassScores(Scores):
    """One class: `support` rows truly have it, `predicted` rows were given it."""

    name: str
    support: int
    predicted: int


class Metrics(Record):
    """How good one classifier is on one table.

    For several labels per text `accuracy` is the share of rows whose whole label set is right (subset accuracy), and
    `micro` is filled; otherwise micro averages equal the accuracy and are left out. Macro averages run over the classes
    that occur in the truth or in the predictions. `log_loss` is in nats.
    """

    rows: int
    accuracy: Estimate
    macro_f1: Estimate
    macro: Scores
    weighted: Scores
    micro: Scores | None
    per_class: tuple[ClassScores, ...]
    log_loss: float
    roc_auc: float | None
    roc_auc_missing_because: str | None


class ReliabilityBin(Record):
    """The predictions whose confidence lies in (low, high]: how many, how sure, how often right."""

    low: float
    high: float
    count: int
    confidence: float | None
    accuracy: float | None


class Reliability(Record):
    ece: float
    bins: tuple[ReliabilityBin, ...]


class Calibration(Record):
    """Confidence beside correctness, before and after dividing the logits by `temperature`."""

    temperature: float
    before: Reliability
    after: Reliability


class RankingCurves(Record):
    """Points (x, y) of the ROC curve (false positive rate, true positive rate) and of the precision–recall curve
    (recall, precision), and the average precision."""

    roc: tuple[tuple[float, float], ...]
    precision_recall: tuple[tuple[float, float], ...]
    average_precision: float


class Ranking(Record):
    """How one classifier ranks the rows. `positive` is the class whose curves these are; None: all classes together.

    `base_rate` is the share of positive decisions: the precision of chance.
    """

    positive: str | None
    base_rate: float
    curves: RankingCurves


class Contestant(Record):
    """One side of the duel. Seconds and bytes are None where nobody measured them."""

    name: str
    description: str
    metrics: Metrics
    fit_seconds: float | None
    predict_seconds: float | None
    size_bytes: int | None
    ranking: Ranking | None = None
    notes: tuple[str, ...] = ()


class Comparison(Record):
    """The model against one baseline on the same rows: the paired difference in accuracy, model − baseline."""

    baseline: str
    difference: Estimate
    only_model_right: int
    only_baseline_right: int
    mcnemar_p: float
    verdict: str


class Duel(Record):
    model: Contestant
    baselines: tuple[Contestant, ...]
    comparisons: tuple[Comparison, ...]
    verdict: str


class WorstError(Record):
    """A row answered wrongly with high confidence. `truth` and `prediction` hold one label name, or any number for
    several labels per text; `confidence` is the probability the model gave to its wrong answer."""

    row: int
    text: str
    truth: tuple[str, ...]
    prediction: tuple[str, ...]
    confidence: float


class DroppedRows(Record):
    """Rows that were left out: why, how many, and the numbers of the first of them."""

    reason: str
    count: int
    first_rows: tuple[int, ...] = ()


class DataSummary(Record):
    """What was measured on, and what was trained on. `sha256` is the fingerprint of the measured rows."""

    source: str
    split: str
    rows: int
    sha256: str | None = None
    trained_on: str | None = None
    training_rows: int | None = None


class Machine(Record):
    """The kind of machine, without its name."""

    architecture: str
    system: str
    cores: int
    python: str

    @classmethod
    def here(cls) -> Self:
        """The one that this runs on."""
        return cls(
            architecture=platform.machine(),
            system=platform.system(),
            cores=os.cpu_count() or 1,
            python=platform.python_version(),
        )


class Evaluation(Record):
    """Everything one evaluation found; the report shows nothing that is not in here (but for the learning curves)."""

    format: int = 1
    data: DataSummary
    model: dict[str, JsonValue]
    class_names: tuple[str, ...]
    multilabel: bool
    metrics: Metrics
    confusion: tuple[tuple[int, ...], ...] | None
    calibration: Calibration
    duel: Duel
    worst_errors: tuple[WorstError, ...]
    dropped: tuple[DroppedRows, ...]
    notes: tuple[str, ...]
    resamples: int
    seed: int
    machine: Machine
    command: str
    created: str
