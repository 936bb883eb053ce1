"""The readers of a model in the duel: the answers of each alone, and a sentence on which of them decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from glassformer.data.arrays import FloatArray
from glassformer.evaluation.result import Comparison, Contestant
from glassformer.evaluation.verdict import is_clear, numbers_of, share
from glassformer.prediction.folder_config import FolderConfig
from glassformer.targets.answers import Reader
from glassformer.targets.probabilities import probabilities

NAMES: dict[Reader, str] = {"counting": "counting", "transformer": "the transformer"}
_DESCRIPTIONS: dict[Reader, str] = {
    "counting": "the model’s logistic regression on n-grams of words and characters",
    "transformer": "the model without its counting reader",
}


@dataclass(frozen=True, kw_only=True)
class ReaderOutcome:
    """The answers of a reader alone on the measured rows, calibrated by its own temperature.

    `probs` is None if the model does not ask this reader: its weight is 0.
    """

    reader: Reader
    probs: Float[np.ndarray, "n n_classes"] | None

    @property
    def name(self) -> str:
        return f"{NAMES.get(self.reader, self.reader)} alone"

    @property
    def description(self) -> str:
        return _DESCRIPTIONS.get(self.reader, "a reader of another package")


def reader_outcomes(config: FolderConfig, logits: dict[Reader, FloatArray]) -> list[ReaderOutcome]:
    """Return the answers of each reader, from their weighted logits. A model with one reader has none."""
    if config.readers is None:
        return []
    return [
        ReaderOutcome(
            reader=reader,
            probs=probabilities(logits[reader], temperature=settings.temperature, multilabel=config.multilabel)
            if settings.weight
            else None,
        )
        for reader, settings in config.readers.root.items()
    ]


def which_reader_decides(
    readers: Sequence[ReaderOutcome],
    model: Contestant,
    alone: Sequence[Contestant],
    comparisons: Sequence[Comparison],
) -> str | None:
    """Say which reader decides on these rows, and whether the other one adds more than noise. None without readers.

    Args:
        alone: each reader that the model asks.
        comparisons: the model against each of `alone`.
    """
    if not readers:
        return None
    asked = [NAMES.get(each.reader, each.reader) for each in readers if each.probs is not None]
    silent = [NAMES.get(each.reader, each.reader) for each in readers if each.probs is None]
    if len(asked) == 1:
        adds = f"{' or '.join(silent)} adds anything"
        return f"The model answers by {asked[0]} alone: no held-out training rows showed that {adds}."
    accuracies = [share(each.metrics.accuracy.value) for each in alone]
    numbers = [numbers_of(each.difference, each.mcnemar_p) for each in comparisons]
    both = share(model.metrics.accuracy.value)
    against = [
        f"{right} for {name} alone ({difference})"
        for name, right, difference in zip(asked, accuracies, numbers, strict=True)
    ]
    if len(asked) > 2:
        return f"All readers together give {both}, against {', '.join(against)}."
    gains = [_gain(each) for each in comparisons]
    if gains[0] == gains[1] != -1:
        first = "Both readers are needed" if gains[0] else "Either reader would do"
        last = "" if gains[0] else "; these rows do not show that both together are more accurate"
        return f"{first} here: both together give {both}, against {against[0]} and {against[1]}{last}."
    decides = min((0, 1), key=lambda i: (gains[i], comparisons[i].difference.value))
    name, other = asked[decides], asked[1 - decides]
    together = f"it gives {accuracies[decides]} alone, and with {other} {both} ({numbers[decides]})"
    if gains[decides] < 0:
        return f"{_capital(name)} is more accurate alone here: {together}."
    sentence = f"{_capital(name)} decides here: {together}; these rows do not show that {other} helps."
    return sentence if name == "counting" else f"{sentence} Both together give {both}, against {against[0]}."


def _gain(comparison: Comparison) -> int:
    """Return 1 if the model is clearly more accurate than a reader alone, −1 if clearly less accurate, else 0."""
    if not is_clear(comparison.difference, comparison.mcnemar_p):
        return 0
    return 1 if comparison.difference.value > 0 else -1


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
