"""What the doctor says: findings, and the figures that they stand on."""

from __future__ import annotations

from typing import Literal

from glassformer.evaluation.result import Record

Level = Literal["problem", "worth knowing", "good"]
LEVELS: tuple[Level, ...] = ("problem", "worth knowing", "good")


class Finding(Record):
    """One check's result: a plain sentence with its number, and what to do where something can be done."""

    check: str
    level: Level
    found: str
    advice: str = ""


class LayerFigures(Record):
    """The output of one layer over the texts of a sample, padding left out.

    Attributes:
        kind: `layer` (a module with weights of its own), `block`, `activation` or `attention`.
        zeros: share of exact zeros.
        dead: share of units that are never active; of activations alone.
        saturated: share of gate values within a hundredth of their ends; share of attention rows with more than .99 on
            one token.
        uniform: share of attention rows that hardly tell tokens apart.
    """

    name: str
    kind: Literal["layer", "block", "activation", "attention"]
    mean: float
    std: float
    zeros: float
    dead: float | None = None
    saturated: float | None = None
    uniform: float | None = None


class GradientFigures(Record):
    """The gradient of one module's own weights, and how far one step moves them: ‖ΔW‖ / ‖W‖.

    Attributes:
        unreached: those of its parameters that get no gradient at all.
        cancelled: those whose gradient is zero but for rounding.
    """

    name: str
    weight_norm: float
    gradient_at_start: float
    gradient: float
    update_ratio: float
    unreached: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()


class RateRange(Record):
    """A learning-rate range test (Smith 2017, §3.3): one step per rate, rates rising geometrically.

    Attributes:
        begins: where the smoothed loss has begun to fall; None where it never does.
        steepest: where it falls fastest against the logarithm of the rate.
        lowest: where it is lowest.
        breaks: where it has climbed half-way back, or not a number; None where it never does.
    """

    rates: tuple[float, ...]
    losses: tuple[float, ...]
    smoothed: tuple[float, ...]
    begins: float | None
    steepest: float | None
    lowest: float | None
    breaks: float | None


class Histogram(Record):
    """Rows by length: `counts[i]` from `edges[i]` up to `edges[i + 1]`; the last bar holds all longer ones too."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


class ModelFigures(Record):
    """What the checks of the model measured.

    Attributes:
        steps: how many steps were taken between `at_start` and `after`.
        overfit: the loss of each step on one batch.
    """

    steps: int
    at_start: tuple[LayerFigures, ...]
    after: tuple[LayerFigures, ...]
    gradients: tuple[GradientFigures, ...]
    overfit: tuple[float, ...]
    rate_range: RateRange


class Diagnosis(Record):
    """The findings, the worst first, and the figures behind them.

    Attributes:
        weights: what the model starts from, in plain words; empty where it starts from nothing.
        limits: where the work was capped, in plain words.
    """

    source: str
    rows: int
    parameters: int
    model: str
    weights: str = ""
    window: int
    learning_rate: float
    findings: tuple[Finding, ...]
    lengths: Histogram
    figures: ModelFigures
    limits: tuple[str, ...]
    seconds: float
    version: str
    created: str

    def at(self, level: Level) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.level == level)


def percent(share: float) -> str:
    """.0312 → 3.1%; never a rounded 0% or 100% for what is neither."""
    if 0 < share < 0.0005:
        return "less than 0.1%"
    if 0.9995 < share < 1:
        return "more than 99.9%"
    return f"{share:.1%}".replace(".0%", "%")
