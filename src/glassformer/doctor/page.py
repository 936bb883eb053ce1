"""The doctor's page, one self-contained HTML file, and the findings as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from glassformer.data.files import write_aside
from glassformer.data.wording import counted
from glassformer.doctor.drawings import length_chart, rate_chart
from glassformer.doctor.findings import LEVELS, Diagnosis, Finding, LabelTokens, percent
from glassformer.pages.html import page, table

_MARKS = {"problem": "✗", "worth knowing": "!", "good": "✓"}
FINDINGS_STYLE = """
.findings { list-style: none; margin: 0; padding: 0; }
.findings li { border-top: 1px solid var(--line); padding: .6rem 0 .6rem 1.9rem; position: relative; }
.findings li:first-child { border-top: 0; }
.findings .level { position: absolute; left: .2rem; font-weight: 700; }
.findings .problem .level, .findings .problem b { color: var(--second); }
.findings .worth .level { color: var(--first); }
.findings p { margin: 0; }
.findings .advice { color: var(--soft); }
"""
_STYLE = f"""{FINDINGS_STYLE}
#tokens .scroll {{ margin-bottom: .75rem; }}
#layers th:first-child, #gradients th:first-child {{ min-width: 9rem; }}
"""


def write_diagnosis(folder: Path, diagnosis: Diagnosis) -> None:
    """Write `findings.json` and `report.html` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    document = diagnosis.model_dump_json(indent=2) + "\n"
    for name, text in (("findings.json", document), ("report.html", render_diagnosis(diagnosis))):
        write_aside(folder / name, text)


def render_diagnosis(diagnosis: Diagnosis) -> str:
    """Return the page as HTML. Everything that comes from the user's data is escaped."""
    sections = {
        "findings": ("Findings", findings_list(diagnosis.findings)),
        "rates": ("Learning rates", _rates(diagnosis)),
        "layers": ("Layer by layer", _layers(diagnosis)),
        "gradients": ("Gradients and steps", _gradients(diagnosis)),
        "lengths": ("Length of texts", _lengths(diagnosis)),
        "tokens": (f"Tokens by {diagnosis.tokens.target}", _tokens(diagnosis)),
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


def findings_list(findings: Sequence[Finding]) -> str:
    """Return findings as a list, the worst first, with `FINDINGS_STYLE`."""
    items = "".join(_finding(finding) for level in LEVELS for finding in findings if finding.level == level)
    return f'<ul class="findings">{items}</ul>'


def _finding(finding: Finding) -> str:
    level = finding.level
    advice = f'<p class="advice">{escape(finding.advice)}</p>' if finding.advice else ""
    return (
        f'<li class="{level.split()[0]}"><span class="level" role="img" aria-label="{level}">{_MARKS[level]}</span>'
        f"<p><b>{escape(finding.check)}</b>: {escape(finding.found)}</p>{advice}</li>"
    )


def _rates(diagnosis: Diagnosis) -> str:
    found = diagnosis.figures.rate_range
    if not math.isfinite(found.losses[0]):
        return "<p>There is no curve: the loss was NaN or infinite before the first step.</p>"
    return (
        f'<figure class="single">{rate_chart(found, diagnosis.learning_rate)}<figcaption>One step per '
        "rate, with geometrically rising rates, from a new copy of the model (Smith 2017). Losses above the chart are "
        "drawn at its edge. A short test favours high rates: choose a rate well below the lowest point."
        "</figcaption></figure>"
    )


def _layers(diagnosis: Diagnosis) -> str:
    figures = diagnosis.figures
    after = {layer.name: layer for layer in figures.after}
    rows = []
    for layer in figures.at_start:
        then = after.get(layer.name, layer)
        pairs = [(layer.mean, then.mean), (layer.std, then.std)]
        cells = [f"{start:.2g}<small>{end:.2g}</small>" for start, end in pairs]
        for share in ("zeros", "dead", "saturated", "uniform"):
            start, end = getattr(layer, share), getattr(then, share)
            cells.append("" if start is None or end is None else f"{percent(start)}<small>{percent(end)}</small>")
        rows.append((_name(layer.name), cells))
    head = ("output of", "mean", "spread", "zeros", "dead units", "saturated", "even rows")
    caption = (
        f"Large numbers: before the first step. Small numbers: after {counted(figures.steps, 'step')}. Spread: "
        "standard deviation. Saturated: gate values near an end of their range, or attention rows with a weight above "
        ".99. Even: attention rows that give all tokens the same weight. Padding is not counted."
    )
    return table(caption, head, rows)


def _gradients(diagnosis: Diagnosis) -> str:
    rows = [
        (
            _name(module.name),
            [
                f"{module.weight_norm:.3g}",
                f"{module.gradient_at_start:.2g}",
                f"{module.gradient:.2g}",
                f"{module.update_ratio:.1e}",
            ],
        )
        for module in diagnosis.figures.gradients
    ]
    caption = (
        "The norm of each module's weights, the norm of their gradient at the start and after "
        f"{counted(diagnosis.figures.steps, 'step')}, and how far the last step moved the weights, as a share of their "
        "norm. About 1e-3 is usual; a module that started at zero moves further."
    )
    return table(caption, ("weights of", "norm", "gradient, start", "gradient, after", "step / norm"), rows)


def _name(name: str) -> str:
    """Return the name of a module as HTML that may break between its parts."""
    return escape(name).replace(".", ".<wbr>").replace("_", "_<wbr>")


def _lengths(diagnosis: Diagnosis) -> str:
    return (
        f'<figure class="single">{length_chart(diagnosis.lengths, diagnosis.window)}<figcaption>The last bar '
        "also holds the longest 1% of the texts.</figcaption></figure>"
    )


def _tokens(diagnosis: Diagnosis) -> str:
    report = diagnosis.tokens
    more = f" {counted(report.more_labels, 'label is', 'labels are')} not listed." if report.more_labels else ""
    of_which = "held-out texts, which the vocabulary was not learned from," if report.held_out else "training texts"
    caption = f"How {of_which} are cut into tokens, the {report.target}s with most unknown tokens first."
    head = (report.target, "texts", "words per text", "tokens per word", "unknown tokens", "longer than the window")
    shown = table(
        caption + more,
        head,
        [(escape(line.label), _cut(line)) for line in report.labels],
        foot=[("all", _cut(report.all_texts))],
    )
    if not report.cut_words:
        return shown
    words = ", ".join(
        f"{escape(each.word[:40])} ({each.tokens:,} tokens, in {each.texts:,})" for each in report.cut_words
    )
    return f"{shown}<p>Words that are cut into most tokens, with the number of texts that have them: {words}.</p>"


def _cut(line: LabelTokens) -> tuple[str, ...]:
    return (
        f"{line.rows:,}",
        f"{line.words_per_text:.1f}",
        f"{line.tokens_per_word:.2f}",
        percent(line.unknown),
        f"{line.longer:,}",
    )


def _method(diagnosis: Diagnosis) -> str:
    overfit = diagnosis.figures.overfit
    limits = "".join(f"<li>To save time, {escape(limit)}.</li>" for limit in diagnosis.limits)
    return (
        '<p class="soft">The split, the vocabulary and the initial weights are those of <code>train</code>. '
        "Steps use float32, without token dropout and label smoothing. Activations and gradients were measured on four "
        "batches without dropout, before and after "
        f"{counted(diagnosis.figures.steps, 'step')} at the recipe’s learning rate. "
        "Float64 shows which gradients are only rounding noise. The batch to learn by heart was trained on for "
        f"{counted(len(overfit), 'step')}. The run itself keeps nothing of this. The checks took "
        f"{diagnosis.seconds:g} s.</p>" + (f"<ul>{limits}</ul>" if limits else "")
    )
