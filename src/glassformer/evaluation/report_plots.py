"""The learning curves of the report."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from glassformer.evaluation.charts import Series, axis, line_chart
from glassformer.evaluation.result import Evaluation
from glassformer.evaluation.verdict import share

History = Sequence[Mapping[str, Any]]


def learning_curves(history: History, evaluation: Evaluation) -> str:
    """Draw loss and accuracy by epoch, side by side, and mark the epoch that validation chose."""
    panels = {
        "Loss": ("train_loss", "validation_loss"),
        "Accuracy": ("train_accuracy", "validation_accuracy"),
    }
    best = evaluation.model.get("best_epoch")
    chosen = next((row for row in history if row["epoch"] == best and row.get("validation_loss") is not None), None)
    mark = None if chosen is None else (float(chosen["epoch"]), f"best epoch {chosen['epoch']:g}")
    x = axis("epoch", [row["epoch"] for row in history], whole=True)
    figures = []
    for name, keys in panels.items():
        series = [
            Series(name=key.split("_")[0].replace("train", "training"), style=style, points=points)
            for key, style in zip(keys, ("second", "first"), strict=True)
            if (points := _points(history, key))
        ]
        if not series:
            continue
        y = axis(name.lower(), [value for line in series for _, value in line.points])
        last = ", ".join(
            f"{line.name} {share(line.points[0][1])} at first, {share(line.points[-1][1])} at last" for line in series
        )
        figures.append(
            f"<figure>{line_chart(f'{name} by epoch', f'{name}: {last}.', series, x, y, mark=mark)}</figure>"
        )
    return f'<div class="pair">{"".join(figures)}</div>' if figures else ""


def _points(history: History, key: str) -> list[tuple[float, float]]:
    pairs = ((row["epoch"], row.get(key)) for row in history)
    return [(float(epoch), float(value)) for epoch, value in pairs if value is not None and math.isfinite(value)]
