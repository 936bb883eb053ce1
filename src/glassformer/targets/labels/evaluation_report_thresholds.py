"""The part of the report that says what a threshold of probability for one class would find, and what it would cost."""

import json
import math
from collections.abc import Callable
from html import escape

from glassformer.evaluation.result import ClassThresholds
from glassformer.evaluation.verdict import share
from glassformer.pages.html import table
from glassformer.targets.labels.evaluation_result import LabelEvaluation

STYLE = """
#chooser { display: grid; gap: .5rem; max-width: 34rem; }
#chooser input[type=number] { width: 5rem; }
#chooser input[type=range] { width: 100%; }
#chooser select, #chooser input { font: inherit; }
#chooser output { min-height: 4.5em; }
"""
_AIM = 0.9
Point = tuple[float, int, int]


def thresholds_part(evaluation: LabelEvaluation) -> str:
    """Show three thresholds for each class, and a place where `thresholds.js` puts a slider over all of them."""
    classes = evaluation.class_thresholds
    if not classes:
        return ""
    rows = [line for each in classes for line in _lines(each)]
    head = ("class, aim", "probability from", "precision", "recall", "rows found", "wrong", "missed")
    data = {"rows": evaluation.metrics.rows, "classes": [each.model_dump() for each in classes]}
    return (
        "<h3>Choose a threshold</h3><p>You can give a text a class from any probability on. <code>predict</code> "
        "writes this probability into the column <code>probability_…</code>. The thresholds below were found on these "
        "rows, so on new rows they will do a little worse.</p>"
        f'<div id="chooser" data-thresholds="{escape(json.dumps(data))}"></div>'
        + table("Thresholds for three aims.", head, rows)
    )


def _lines(each: ClassThresholds) -> list[tuple[str, list[str]]]:
    aims: dict[str, Callable[[Point], tuple[float, ...]]] = {
        "highest F1": lambda point: (_f1(each, point),),
        f"precision of at least {share(_AIM)}": lambda point: (_precision(point) >= _AIM, point[1], _precision(point)),
        f"recall of at least {share(_AIM)}": lambda point: (_recall(each, point) >= _AIM, _precision(point)),
    }
    lines = []
    for aim, worth in aims.items():
        best = max(each.points, key=worth)
        reached = worth(best)[0] > 0
        lines.append((f"{escape(each.name)}<small>{aim}</small>", _cells(each, best) if reached else ["–"] * 6))
    return lines


def _cells(each: ClassThresholds, point: Point) -> list[str]:
    threshold, right, found = point
    counts = (f"{right:,} of {each.rows:,}", f"{found - right:,}", f"{each.rows - right:,}")
    shown = f"{math.floor(threshold * 1e4) / 1e4:.4f}".removeprefix("0")  # rounded down, so that no row is lost
    return [shown, share(_precision(point)), share(_recall(each, point)), *counts]


def _precision(point: Point) -> float:
    return point[1] / point[2]


def _recall(each: ClassThresholds, point: Point) -> float:
    return point[1] / each.rows


def _f1(each: ClassThresholds, point: Point) -> float:
    return 2 * point[1] / (point[2] + each.rows)
