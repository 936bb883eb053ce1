"""The doctor's page: one HTML file that needs nothing else, and the findings as JSON beside it."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path

from glassformer.data.files import written_aside
from glassformer.data.table import counted
from glassformer.doctor.drawings import length_chart, rate_chart
from glassformer.doctor.findings import LEVELS, Diagnosis, Finding, percent
from glassformer.evaluation.html import page, table

_MARKS = {"problem": "✗", "worth knowing": "!", "good": "✓"}
_STYLE = """
.findings { list-style: none; margin: 0; padding: 0; }
.findings li { border-top: 1px solid var(--line); padding: .6rem 0 .6rem 1.9rem; position: relative; }
.findings li:first-child { border-top: 0; }
.findings .level { position: absolute; left: .2rem; font-weight: 700; }
.findings .problem .level, .findings .problem b { color: var(--second); }
.findings .worth .level { color: var(--first); }
.findings p { margin: 0; }
.findings .advice { color: var(--soft); }
#layers th:first-child, #gradients th:first-child { min-width: 9rem; }
"""


def write_diagnosis(folder: Path, diagnosis: Diagnosis) -> None:
    """Write `findings.json` and `report.html` into `folder`, each aside and renamed."""
    folder.mkdir(parents=True, exist_ok=True)
    document = diagnosis.model_dump_json(indent=2) + "\n"
    for name, text in (("findings.json", document), ("report.html", render_diagnosis(diagnosis))):
        with written_aside(folder / name) as aside:
            aside.write_text(text, encoding="utf-8")


def render_diagnosis(diagnosis: Diagnosis) -> str:
    """The page as a string of HTML; all that came from the user's data is escaped."""
    sections = {
        "findings": ("Findings", _findings(diagnosis)),
        "rates": ("Learning rates", _rates(diagnosis)),
        "layers": ("Layer by layer", _layers(diagnosis)),
        "gradients": ("Gradients and steps", _gradients(diagnosis)),
        "lengths": ("Length of texts", _lengths(diagnosis)),
        "method": ("How this was checked", _method(diagnosis)),
    }
    return page(
        diagnosis.source,
        "doctor",
        subtitle=f"checked before training: {counted(diagnosis.rows, 'row')}; {escape(diagnosis.model)}, "
        f"{diagnosis.parameters:,} parameters{escape(diagnosis.weights and f'; {diagnosis.weights}')}",
        headline=f'<p class="verdict">{_verdict(diagnosis)}</p>',
        sections=sections,
        footer=f"glassformer {diagnosis.version} · {diagnosis.created}",
        style=_STYLE,
    )


def _verdict(diagnosis: Diagnosis) -> str:
    problems, notes = len(diagnosis.at("problem")), len(diagnosis.at("worth knowing"))
    count = "No problem" if not problems else "1 problem" if problems == 1 else f"{problems} problems"
    return f"{count}, {notes} worth knowing, {len(diagnosis.at('good'))} good."


def _findings(diagnosis: Diagnosis) -> str:
    items = "".join(_finding(one) for level in LEVELS for one in diagnosis.at(level))
    return f'<ul class="findings">{items}</ul>'


def _finding(one: Finding) -> str:
    advice = f'<p class="advice">{escape(one.advice)}</p>' if one.advice else ""
    return (
        f'<li class="{one.level.split()[0]}"><span class="level" role="img" aria-label="{one.level}">'
        f"{_MARKS[one.level]}</span><p><b>{escape(one.check)}</b>: {escape(one.found)}</p>{advice}</li>"
    )


def _rates(diagnosis: Diagnosis) -> str:
    found = diagnosis.figures.rate_range
    if not math.isfinite(found.losses[0]):
        return "<p>There is no curve: the loss was not a finite number before the first step.</p>"
    return (
        f'<figure class="single">{rate_chart(found, diagnosis.learning_rate)}<figcaption>One step per '
        "rate, the rates rising geometrically, from a new copy of the model (Smith 2017). What lies above the picture "
        "is drawn at its edge. A short test flatters high rates: stay well below the lowest point."
        "</figcaption></figure>"
    )


def _layers(diagnosis: Diagnosis) -> str:
    figures = diagnosis.figures
    after = {one.name: one for one in figures.after}
    rows = []
    for one in figures.at_start:
        then = after.get(one.name, one)
        pairs = [(one.mean, then.mean), (one.std, then.std)]
        cells = [f"{start:.2g}<small>{end:.2g}</small>" for start, end in pairs]
        for start, end in (
            (one.zeros, then.zeros), (one.dead, then.dead), (one.saturated, then.saturated), (one.uniform, then.uniform)
        ):  # fmt: skip
            cells.append("" if start is None or end is None else f"{percent(start)}<small>{percent(end)}</small>")
        rows.append((_name(one.name), cells))
    head = ("output of", "mean", "spread", "zeros", "dead units", "saturated", "even rows")
    caption = (
        f"At the start, and small after {_steps(figures.steps)}; padding left out. Saturated: gates near their ends, "
        "rows of attention with more than .99 on one token. Even: rows that weigh all tokens alike."
    )
    return table(caption, head, rows)


def _gradients(diagnosis: Diagnosis) -> str:
    rows = [
        (
            _name(one.name),
            [
                f"{one.weight_norm:.3g}",
                f"{one.gradient_at_start:.2g}",
                f"{one.gradient:.2g}",
                f"{one.update_ratio:.1e}",
            ],
        )
        for one in diagnosis.figures.gradients
    ]
    caption = (
        "Norms of the weights of each module, of their gradient at the start and after "
        f"{_steps(diagnosis.figures.steps)}, and how far the last step moved them, as a share of their "
        "norm (about 1e-3 is usual; a module that started at zero moves further)."
    )
    return table(caption, ("weights of", "norm", "gradient, start", "gradient, after", "step / norm"), rows)


def _name(name: str) -> str:
    """The name of a module, which may be broken where its parts meet."""
    return escape(name).replace(".", ".<wbr>").replace("_", "_<wbr>")


def _lengths(diagnosis: Diagnosis) -> str:
    return (
        f'<figure class="single">{length_chart(diagnosis.lengths, diagnosis.window)}<figcaption>The longest '
        "hundredth of the texts is in the last bar.</figcaption></figure>"
    )


def _method(diagnosis: Diagnosis) -> str:
    overfit = diagnosis.figures.overfit
    limits = "".join(f"<li>To save time {escape(limit)}.</li>" for limit in diagnosis.limits)
    return (
        '<p class="soft">The split, the vocabulary and the initial weights are those of the run; steps are taken '
        "in float32, without token dropout and label smoothing. Activations and gradients are those of four batches, "
        f"dropout off, before and after {_steps(diagnosis.figures.steps)} at the recipe’s rate; what of a gradient is "
        "rounding noise was seen in float64. The batch "
        f"to learn by heart was trained on for {_steps(len(overfit))}. Nothing of it is kept for the run. It took "
        f"{diagnosis.seconds:g} s.</p>" + (f"<ul>{limits}</ul>" if limits else "")
    )


def _steps(count: int) -> str:
    return counted(count, "step")
