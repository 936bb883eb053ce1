"""What the doctor reports: findings, and the figures behind them."""

from __future__ import annotations

from typing import Literal

from glassformer.data.wording import share_in_percent
from glassformer.evaluation.record import Record

Level = Literal["problem", "worth knowing", "good"]
LEVELS: tuple[Level, ...] = ("problem", "worth knowing", "good")


class Finding(Record):
    """The result of one check: a sentence with the measured number, and advice if something can be done."""

    check: str
    level: Level
    found: str
    advice: str = ""


class LayerFigures(Record):
    """Statistics of the output of one layer over a sample of texts, without padding.

    Attributes:
        kind: `layer` (a module with its own weights), `block`, `activation` or `attention`.
        dead: the share of units that are never active. Only activations have it.
        saturated: the share of gate values within .01 of an end of their range, or the share of attention rows with a
            weight above .99 on one token.
        uniform: the share of attention rows whose weights are almost equal.
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
    """The gradient of a module's own weights, and how far one step moves them: ‖ΔW‖ / ‖W‖.

    Attributes:
        unreached: its parameters without any gradient.
        cancelled: its parameters whose gradient is zero except for rounding.
    """

    name: str
    weight_norm: float
    gradient_at_start: float
    gradient: float
    update_ratio: float
    unreached: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()


class RateRange(Record):
    """A learning-rate range test (Smith 2017, §3.3): one step per rate, with geometrically rising rates.

    Attributes:
        begins: the rate at which the smoothed loss begins to fall, or None if it never does.
        steepest: the rate at which it falls fastest per power of ten.
        breaks: the rate at which it has climbed half-way back or is infinite, or None if it never does.
    """

    rates: tuple[float, ...]
    losses: tuple[float, ...]
    smoothed: tuple[float, ...]
    begins: float | None
    steepest: float | None
    lowest: float | None
    breaks: float | None


class Histogram(Record):
    """Texts by length: `counts[i]` texts from `edges[i]` up to `edges[i + 1]` tokens. The last bar also counts all
    longer texts."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


class LabelTokens(Record):
    """How the texts of a label are cut into tokens.

    Attributes:
        tokens_per_word: the fertility. Words are those of the tokenizer of kind `word`, punctuation included.
        longer: the number of texts that do not fit into the window.
    """

    label: str
    rows: int
    words_per_text: float
    tokens_per_word: float
    unknown: float
    longer: int


class CutWord(Record):
    """A word that is cut into several tokens, and in how many of the searched texts it occurs."""

    word: str
    tokens: int
    texts: int


class TokenReport(Record):
    """How texts are cut into tokens.

    Attributes:
        target: what the model learns. The `labels` of a number are its quarters, such as "1 to 2.5".
        held_out: whether the vocabulary was not learned from these texts.
        labels: those with most unknown tokens first; `more_labels` are not listed.
        standing_out: labels whose texts are cut into more tokens per word than others, or have more unknown ones.
        cut_words: those with most tokens first.
    """

    target: Literal["label", "number"] = "label"
    held_out: bool
    all_texts: LabelTokens
    labels: tuple[LabelTokens, ...]
    more_labels: int
    standing_out: tuple[str, ...]
    cut_words: tuple[CutWord, ...]


class ModelFigures(Record):
    """What the checks of the model measured.

    Attributes:
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
        weights: the weights that the model starts from, in words; empty if it is new.
        figures: those of the transformer. None if none is trained.
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
    tokens: TokenReport
    figures: ModelFigures | None
    limits: tuple[str, ...]
    seconds: float
    version: str
    created: str

    @property
    def in_words(self) -> str:
        """The transformer that is trained, if one is."""
        return "without a transformer" if self.figures is None else f"{self.model}, {self.parameters:,} parameters"

    def at(self, level: Level) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.level == level)


def percent(share: float) -> str:
    """Write .0312 as 3.1%, and .03 as 3% (see `share_in_percent`)."""
    return share_in_percent(share).replace(".0%", "%")
