"""The chart of the step Train: how good the models of the rounds were, and what more labels should bring."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from glassformer.data.wording import counted, short
from glassformer.desk.labelling import Figure
from glassformer.evaluation.charts import Series, axis, line_chart
from glassformer.evaluation.record import Estimate
from glassformer.labels.learning_curve import LearningCurve


def kept(curve: LearningCurve, left: int) -> dict[str, Any]:
    """Return what the record of a round keeps of a curve: accuracies, or mean errors of numbers.

    Args:
        left: how many texts have no label yet. No more labels are foretold, nor what has an interval without a width.
    """
    now = curve.errors[-1]
    gains = [gain for gain in curve.gains if gain.more <= left and gain.low < gain.high]
    ends = [{name: now - getattr(gain, name) for name in ("value", "low", "high")} for gain in gains]
    if not curve.of_numbers:
        ends = [{name: 1 - error for name, error in each.items()} for each in ends]
    return {
        "rows": list(curve.rows),
        "figures": list(curve.errors if curve.of_numbers else curve.accuracies),
        "foretold": [{"more": gain.more, **each} for gain, each in zip(gains, ends, strict=True)],
    }


def learning_chart(rounds: Sequence[Mapping[str, Any]], scores: Mapping[int, Figure], measure: str) -> str | None:
    """Draw how good the model of each round is, and the last curve through the labels. None: there is neither.

    Args:
        rounds: their records. `curve` of one is what `kept` returned.
        scores: how good the model of a round is, by its number.
    """
    measured = [(each["labels"], scores[each["number"]].estimate) for each in rounds if each["number"] in scores]
    measured = [(labels, score) for labels, score in measured if math.isfinite(score.high)]
    last = next((each for each in reversed(rounds) if "curve" in each), None)
    drawn = [*([_measured(measured)] if measured else []), *([_foretold(last)] if last else [])]
    if not drawn:
        return None
    lines, said = [line for line, _ in drawn], [f"{measure} {line.name}: {words}." for line, words in drawn]
    heights = [edge for line in lines for edge in (*(y for _, y in line.points), *sum(line.intervals, ()))]
    x = axis("labels", [0, *(at for line in lines for at, _ in line.points)], whole=True)
    mark = (float(last["labels"]), "foretold from here") if last and last["curve"]["foretold"] else None
    return line_chart(f"{measure} by labels", " ".join(said), lines, x, axis(measure, heights), mark=mark)


def _measured(found: Sequence[tuple[int, Estimate]]) -> tuple[Series, str]:
    """Return the line of the rounds by their labels, and what it says."""
    points = [(float(labels), score.value) for labels, score in found]
    intervals = [(score.low, score.high) for _, score in found]
    said = [f"after {counted(labels, 'label')} {_in_words(score.model_dump())}" for labels, score in found]
    return Series(name="on random texts", style="first", points=points, intervals=intervals), ", ".join(said)


def _foretold(last: Mapping[str, Any]) -> tuple[Series, str]:
    """Return the line through the labels of a round and beyond, and what it says."""
    curve, foretold = last["curve"], last["curve"]["foretold"]
    points = [*zip(curve["rows"], curve["figures"], strict=True)]
    points += [(last["labels"] + gain["more"], gain["value"]) for gain in foretold]
    intervals = [(gain["low"], gain["high"]) for gain in foretold]
    said = [f"now {_rounded(curve['figures'][-1])}"]
    said += [f"foretold with {gain['more']:,} more labels {_in_words(gain)}" for gain in foretold]
    return Series(name="on labels held out", style="second", points=points, intervals=intervals), ", ".join(said)


def _in_words(found: Mapping[str, float]) -> str:
    low, high = sorted((found["low"], found["high"]))
    return f"{_rounded(found['value'])} (likely {_rounded(low)} to {_rounded(high)})"


def _rounded(figure: float) -> str:
    return short(float(f"{figure:.2g}"))
