"""The report of an evaluation: a single HTML file without links to others."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from glassformer.data.files import write_aside
from glassformer.data.wording import counted
from glassformer.evaluation.charts import contestants_chart
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.report_plots import History, learning_curves
from glassformer.evaluation.result import Contestant, Evaluation
from glassformer.evaluation.verdict import interval, share
from glassformer.evaluation.weak_spots import NextStep
from glassformer.pages.html import page, table

STYLE = ".errors li:has(> p:only-child) { padding: .25rem 0 0; }"  # rows without texts stand close together
_WITHOUT_TEXTS = " Their texts are not in this page, which lies in the model folder. Look them up by their rows."


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a kind of answer is shown in the report and in the terminal (`PART` of `targets/*/evaluation_report.py`).

    Attributes:
        leading: the name of the leading figure.
        figures: other figures of the headline, by their names.
        sentences: what the terminal says below the table. The first are those of the duel.
        headline: sentences of the headline beside those of the duel.
        columns, cells: the columns of the table of contestants, and the cells of one.
        caption: of this table.
        plain: the same columns in the terminal, and the same cells.
        comparison: a sentence about a comparison, as HTML.
        remarks: sentences below the comparisons.
        sections: the sections of an evaluation by their keys, with their titles.
        method: how it was measured, as HTML, and what it means that the rows are those of training.
        subject: what was measured, before the name of the table.
        script: the JavaScript of a page.
    """

    leading: Callable[[Any], str]
    figures: Callable[[Any], dict[str, str]]
    headline: Callable[[Any], list[str | None]]
    columns: tuple[str, ...]
    cells: Callable[[Any], list[str]]
    caption: str
    plain: tuple[str, ...]
    plain_cells: Callable[[Any], list[str]]
    sentences: Callable[[Any], list[str | None]]
    comparison: Callable[[Any], str]
    sections: Callable[..., dict[str, tuple[str, str]]]
    method: Callable[..., str]
    remarks: Callable[[Any], list[str]] = lambda _: []
    subject: Callable[[Any], str] = lambda _: ""
    script: Callable[[Any], str] = lambda _: ""
    style: str = ""


def look_of(evaluation: Evaluation) -> Look:
    """Return how an evaluation is shown."""
    found: Look = evaluation.part("evaluation_report")
    return found


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
    look, data = look_of(evaluation), evaluation.data
    sections = {
        "next": ("What to do next", _next(evaluation.next_steps)),
        "duel": ("Both readers", _duel(evaluation, look) if evaluation.duel.readers else "")
        if of_training
        else ("Compared with baselines", _duel(evaluation, look)),
        "curves": ("Learning curves", learning_curves(history, evaluation) if history else ""),
        **look.sections(evaluation, of_training=of_training),
        "dropped": ("Left out, and notes", _dropped(evaluation)),
        "method": ("How this was measured", _method(evaluation, look, of_training=of_training)),
    }
    return page(
        str(evaluation.model.get("name", "model")),
        "report of training" if of_training else "report",
        subtitle=f"{'Report of training: ' * of_training}{look.subject(evaluation)}measured on {escape(data.source)} "
        f"({escape(data.split)}, {_rows(evaluation)})",
        headline=_headline(evaluation, look),
        sections=sections,
        footer=f"glassformer · {evaluation.created}",
        style=look.style + STYLE,
        module=look.script(evaluation),
    )


def _headline(evaluation: Evaluation, look: Look) -> str:
    leading, model, duel = evaluation.metrics.leading, evaluation.duel.model, evaluation.duel
    figures = look.figures(evaluation) | {
        "training": seconds(model.fit_seconds),
        "texts per second": speed(model),
        "size": size(model.size_bytes),
    }
    said = "<br>".join(map(escape, filter(None, [duel.verdict, duel.reader_verdict, *look.headline(evaluation)])))
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures.items() if value != "–")
    return (
        f'<div class="headline"><div class="score">{share(leading.value)}'
        f"<small>{look.leading(evaluation)} (95%: {interval(leading)})</small></div>"
        f'<p class="verdict">{said}</p></div>'
        f'<dl class="figures">{listed}</dl>'
    )


def _duel(evaluation: Evaluation, look: Look) -> str:
    duel = evaluation.duel
    contestants = [*duel.baselines, *duel.readers, duel.model]
    rows = [
        (
            f"{escape(each.name)}<small>{escape(each.description)}</small>",
            [*look.cells(each), seconds(each.fit_seconds), speed(each), size(each.size_bytes)],
        )
        for each in contestants
    ]
    remarks = [escape(note) for contestant in contestants for note in contestant.notes] + look.remarks(evaluation)
    return (
        contestants_chart(contestants, look.columns[0])
        + table(look.caption, ("", *look.columns, "training", "texts/s", "size"), rows, ours=len(rows) - 1)
        + _list([*map(look.comparison, (*duel.comparisons, *duel.reader_comparisons)), *remarks])
    )


def _next(steps: Sequence[NextStep]) -> str:
    """List the steps, each with a link to the section that says more and with a command."""
    return _list([_step(step) for step in steps])


def _step(step: NextStep) -> str:
    more = f' <a href="#{step.section}">Details</a>' if step.section else ""
    command = f"<br><code>{escape(step.command)}</code>" if step.command else ""
    return f"{escape(step.text)}{more}{command}"


def _dropped(evaluation: Evaluation) -> str:
    rows = [
        (
            escape(dropped.reason),
            [
                f"{dropped.count:,}",
                ", ".join(map(str, dropped.first_rows)) + (", …" if dropped.count > len(dropped.first_rows) else ""),
            ],
        )
        for dropped in evaluation.dropped
    ]
    listed = (
        table("Rows that were left out.", ("why", "rows", "row numbers"), rows)
        if rows
        else "<p>No row was left out.</p>"
    )
    return listed + _list([escape(note) for note in evaluation.notes])


def _method(evaluation: Evaluation, look: Look, *, of_training: bool) -> str:
    data, machine = evaluation.data, evaluation.machine
    facts = {
        "data": f"{data.source}, {data.split}, {_rows(evaluation)}",
        "fingerprint": data.sha256,
        "trained on": data.trained_on,
        "training rows": None if data.training_rows is None else f"{data.training_rows:,}",
        **{key.replace("_", " "): _plain(value) for key, value in evaluation.model.items()},
        "command": evaluation.command or None,
        "seed": str(evaluation.seed),
        "machine": f"{counted(machine.cores, 'core')}, {machine.architecture}, {machine.system}, "
        f"Python {machine.python}",
    }
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{_fact(name, value)}</dd>" for name, value in facts.items() if value is not None
    )
    return f'<dl class="facts">{listed}</dl><p class="soft">{look.method(evaluation, of_training=of_training)}</p>'


def _rows(evaluation: Evaluation) -> str:
    rows = evaluation.data.rows
    left_out = sum(dropped.count for dropped in evaluation.dropped)
    return f"{rows:,} of {counted(rows + left_out, 'row')}" if left_out else counted(rows, "row")


def _fact(name: str, value: str) -> str:
    return f"<code>{escape(value)}</code>" if name in ("command", "fingerprint") else escape(value)


def _plain(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else json.dumps(value)


def _list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>" if items else ""


def worst_errors_section(errors: Sequence[Any], first: str, explained: str, shown: Callable[[Any], str]) -> str:
    """Show the worst errors.

    Args:
        first: what they are.
        explained: what is said about their words, after a space.
        shown: writes one as HTML.
    """
    said = explained if any(error.text for error in errors) else _WITHOUT_TEXTS
    return f'<p class="soft">{first}{said}</p><ol class="errors">{"".join(map(shown, errors))}</ol>'


def with_interval(estimate: Estimate) -> str:
    """Return a figure with its interval as HTML."""
    return f"{share(estimate.value)}<small>{interval(estimate)}</small>"


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
