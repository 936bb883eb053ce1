"""The readers of a model in the duel: a sentence on which of them decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassformer.evaluation.measured import ReaderOutcome
from glassformer.evaluation.result import Comparison, Contestant
from glassformer.evaluation.verdict import capital, is_clear, numbers_of, share
from glassformer.prediction.answering_config import named


def which_reader_decides(
    readers: Sequence[ReaderOutcome],
    model: Contestant[Any],
    alone: Sequence[Contestant[Any]],
    comparisons: Sequence[Comparison],
) -> str | None:
    """Say which reader decides on these rows, and whether the other one adds more than noise. None without readers."""
    if not readers:
        return None
    asked = [named(each.reader) for each in readers if each.answers is not None]
    silent = [named(each.reader) for each in readers if each.answers is None]
    unshown = f"no held-out training rows showed that {' or '.join(silent)} adds anything."
    if len(asked) == 1:
        return f"The model answers by {asked[0]} alone: {unshown}"
    sentence = _of_several(asked, model, alone, comparisons)
    return f"{sentence} Nothing else is asked: {unshown}" if silent else sentence


def _of_several(
    asked: Sequence[str], model: Contestant[Any], alone: Sequence[Contestant[Any]], comparisons: Sequence[Comparison]
) -> str:
    own = [_figure(each) for each in alone]
    numbers = [numbers_of(each.difference, each.p) for each in comparisons]
    both = _figure(model)
    against = [
        f"{right} for {name} alone ({difference})" for name, right, difference in zip(asked, own, numbers, strict=True)
    ]
    if len(asked) > 2:
        return f"All readers together give {both}, against {', '.join(against)}."
    gains, better = [_gain(each) for each in comparisons], comparisons[0].better
    if gains[0] == gains[1] != -1:
        first = "Both readers are needed" if gains[0] else "Either reader would do"
        last = "" if gains[0] else f"; these rows do not show that both together are {better}"
        return f"{first} here: both together give {both}, against {against[0]} and {against[1]}{last}."
    decides = min((0, 1), key=lambda i: (gains[i], comparisons[i].difference.value))
    name, other = asked[decides], asked[1 - decides]
    together = f"it gives {own[decides]} alone, and with {other} {both} ({numbers[decides]})"
    if gains[decides] < 0:
        return f"{capital(name)} is {better} alone here: {together}."
    sentence = f"{capital(name)} decides here: {together}; these rows do not show that {other} helps."
    return sentence if name == "counting" else f"{sentence} Both together give {both}, against {against[0]}."


def _figure(contestant: Contestant[Any]) -> str:
    return f"{contestant.metrics.named}{share(contestant.metrics.leading.value)}"


def _gain(comparison: Comparison) -> int:
    """Return 1 if the model is clearly better than a reader alone, −1 if clearly worse, else 0."""
    if not is_clear(comparison.difference, comparison.p):
        return 0
    return 1 if comparison.difference.value > 0 else -1
