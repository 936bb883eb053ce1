"""The report of an evaluation: a single HTML file without links to others."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.data.files import write_aside
from glassformer.data.languages import in_words
from glassformer.data.wording import counted
from glassformer.errors import quoted
from glassformer.evaluation.charts import Series, axis, contestants_chart, line_chart
from glassformer.evaluation.result import Contestant, Evaluation
from glassformer.evaluation.robustness import EXAMPLES, NEGATION, TYPO_DRAWS, TYPOS
from glassformer.evaluation.slices import FEWEST_ROWS
from glassformer.evaluation.verdict import interval, p_value, share, signed, slice_name, why_not_clear
from glassformer.pages.html import rendered

History = Sequence[Mapping[str, Any]]

_CHANGES = {
    "typos": f"in about one of {1 / TYPOS:.0f} words, two letters change places, or a letter is lost or doubled; "
    f"{TYPO_DRAWS} times for each text",
    "upper case": "the whole text",
    "lower case": "the whole text",
    "no punctuation": "punctuation is dropped, but not in words, links and smileys",
    NEGATION: "a “not” is added or removed (English only)",
}


def look_of(evaluation: Evaluation) -> Any:
    """Return how an evaluation is shown: `targets/labels/evaluation_report.py`, or that of a number."""
    return evaluation.part("evaluation_report")


def write_report(path: Path, evaluation: Evaluation, history: History | None = None) -> None:
    """Write `report.html`. The file is self-contained, and replaces an earlier one only when it is complete.

    Args:
        history: a row per epoch for the learning curves, with `epoch` and any of `train_loss`, `validation_loss`,
            `train_accuracy`, `validation_accuracy`. The curves mark the model's `best_epoch`, whose weights were kept.
    """
    write_aside(path, render(evaluation, history))


def render(evaluation: Evaluation, history: History | None = None, *, of_training: bool = False) -> str:
    """Return the report as HTML. Everything from the user's data is escaped.

    Args:
        of_training: the rows are those that training held out. They gave the model its weights, and what its answers
            say about their certainty.
    """
    look, duel = look_of(evaluation), evaluation.duel
    return rendered(
        look.__name__.removeprefix("glassformer.").replace(".", "/"),
        title=str(evaluation.model.get("name", "model")),
        kind="report of training" if of_training else "report",
        evaluation=evaluation,
        of_training=of_training,
        look=look,
        said=[*filter(None, [duel.verdict, duel.reader_verdict, evaluation.metrics.remark])],
        figures=look.figures(evaluation)
        | {"training": seconds(duel.model.fit_seconds), "texts per second": speed(duel.model)}
        | {"size": size(duel.model.size_bytes)},
        contestants=(*duel.baselines, *duel.readers, duel.model),
        contestants_chart=contestants_chart,
        curves=learning_curves(history, evaluation) if history else [],
        measured_rows=_rows(evaluation),
        run_facts=_facts(evaluation),
        fewest_rows=FEWEST_ROWS,
        what_changes=_CHANGES,
        most_examples=EXAMPLES,
        **{
            each.__name__: each
            for each in (share, signed, interval, p_value, why_not_clear, slice_name, quoted, seconds, speed, size)
        },
        **look.shown(evaluation),
    )


def learning_curves(history: History, evaluation: Evaluation) -> list[str]:
    """Draw loss and accuracy by epoch, and mark the epoch that validation chose."""
    panels = {
        "Loss": ("train_loss", "validation_loss"),
        "Accuracy": ("train_accuracy", "validation_accuracy"),
    }
    best = evaluation.model.get("best_epoch")
    chosen = next((row for row in history if row["epoch"] == best and row.get("validation_loss") is not None), None)
    mark = None if chosen is None else (float(chosen["epoch"]), f"best epoch {chosen['epoch']:g}")
    x = axis("epoch", [row["epoch"] for row in history], whole=True)
    charts = []
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
        charts.append(line_chart(f"{name} by epoch", f"{name}: {last}.", series, x, y, mark=mark))
    return charts


def _points(history: History, key: str) -> list[tuple[float, float]]:
    pairs = ((row["epoch"], row.get(key)) for row in history)
    return [(float(epoch), float(value)) for epoch, value in pairs if value is not None and math.isfinite(value)]


def _facts(evaluation: Evaluation) -> dict[str, str | None]:
    data, machine = evaluation.data, evaluation.machine
    return {
        "data": f"{data.source}, {data.split}, {_rows(evaluation)}",
        "language": in_words(data.languages) or None,
        "fingerprint of these rows": data.sha256,
        "trained on": data.trained_on,
        "training rows": None if data.training_rows is None else f"{data.training_rows:,}",
        **{key.replace("_", " "): _plain(value) for key, value in evaluation.model.items()},
        "command": evaluation.command or None,
        "seed": str(evaluation.seed),
        "machine": f"{counted(machine.cores, 'core')}, {machine.architecture}, {machine.system}, "
        f"Python {machine.python}",
    }


def _rows(evaluation: Evaluation) -> str:
    data = evaluation.data
    left_out = sum(dropped.count for dropped in evaluation.dropped)
    # Rows were left out of the whole table, and of one that was learned from, a part is measured.
    whole = left_out and data.source != data.trained_on
    return f"{data.rows:,} of {counted(data.rows + left_out, 'row')}" if whole else counted(data.rows, "row")


def _plain(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else json.dumps(value)


def seconds(value: float | None) -> str:
    if value is None:
        return "–"
    if value < 0.1:
        return "< 0.1 s"
    if value < 60:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.1f} min" if value < 5400 else f"{value / 3600:.1f} h"


def speed(contestant: Contestant[Any]) -> str:
    if not contestant.predict_seconds:
        return "–"
    return f"{float(f'{contestant.metrics.rows / contestant.predict_seconds:.3g}'):,.0f}"


def size(value: int | None) -> str:
    if value is None:
        return "–"
    return next(
        f"{value / unit:.3g} {name}"
        for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
        if value >= unit or unit == 1
    )
