"""The doctor's page, one self-contained HTML file with its charts, and the findings as JSON."""

from __future__ import annotations

import math
from pathlib import Path

from glassformer.data.files import write_aside
from glassformer.doctor.findings import Diagnosis, Histogram, RateRange, percent
from glassformer.evaluation.charts import (
    BOTTOM,
    HEIGHT,
    Axis,
    Series,
    axis,
    curve,
    frame,
    legend,
    svg,
    upright_mark,
    x_at,
    y_at,
)
from glassformer.pages.html import rendered


def write_diagnosis(folder: Path, diagnosis: Diagnosis) -> None:
    """Write `findings.json` and `report.html` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    document = diagnosis.model_dump_json(indent=2) + "\n"
    for name, text in (("findings.json", document), ("report.html", render_diagnosis(diagnosis))):
        write_aside(folder / name, text)


def render_diagnosis(diagnosis: Diagnosis) -> str:
    """Return the page as HTML. Everything that comes from the user's data is escaped."""
    figures = diagnosis.figures
    after = {} if figures is None else {layer.name: layer for layer in figures.after}
    return rendered(
        "doctor/page",
        title=diagnosis.source,
        kind="doctor",
        found=diagnosis,
        layers=[(layer, after.get(layer.name, layer)) for layer in (figures.at_start if figures else ())],
        percent=percent,
        is_finite=math.isfinite,
        rate_chart=rate_chart,
        length_chart=length_chart,
    )


def rate_chart(found: RateRange, rate: float) -> str:
    """Draw the loss against the learning rate on a logarithmic axis, and mark the recipe's rate.

    Args:
        found: a range test whose first loss is finite.
    """
    lowest = math.log10(found.rates[0])
    x = Axis(
        label="learning rate",
        low=lowest,
        high=0.0,
        ticks=range(math.ceil(lowest), 1),
        show=lambda power: f"1e{power:g}" if power else "1",
    )
    finite = [loss for loss in found.losses + found.smoothed if math.isfinite(loss)]
    top = 1.4 * found.smoothed[0]  # losses above this are drawn at the edge
    y = axis("loss", [max(0.0, min(finite)), max(top, 1e-3)])

    def series(name: str, style: str, losses: tuple[float, ...]) -> Series:
        pairs = zip(found.rates, losses, strict=True)
        points = [(math.log10(tried), min(max(loss, y.low), y.high)) for tried, loss in pairs if math.isfinite(loss)]
        return Series(name=name, style=style, points=points)

    smoothed, each = series("smoothed loss", "first", found.smoothed), series("each step", "second", found.losses)
    parts = [
        frame(x, y),
        upright_mark(min(max(math.log10(rate), x.low), x.high), f"this recipe {rate:g}", x),
        f'<g opacity=".45">{curve(each, x, y)}</g>',
        curve(smoothed, x, y),
        legend([smoothed, each]),
    ]
    spoken = f"Loss over {len(found.rates)} steps with a rising learning rate. " + (
        f"It begins to fall at {found.begins:.1g}, falls fastest at {found.steepest:.1g} and is lowest at "
        f"{found.lowest:.1g}. "
        if found.begins is not None
        else "It does not fall noticeably. "
    )
    spoken += "It never diverges." if found.breaks is None else f"Training diverges from {found.breaks:.1g} on."
    return svg("Learning rate range", f"{spoken} The recipe’s rate is {rate:g}.", parts)


def length_chart(lengths: Histogram, window: int) -> str:
    """Draw a histogram of the number of tokens per text, and mark the window if it cuts some texts."""
    x = axis("tokens per text", [0, lengths.edges[-1]])
    y = axis("texts", [0, max(lengths.counts)], whole=True)
    bars = [
        f'<rect class="heat" x="{x_at(low, x) + 0.5:.1f}" '
        f'width="{max(x_at(high, x) - x_at(low, x) - 1, 0.5):.1f}" '
        f'y="{y_at(count, y):.1f}" height="{HEIGHT - BOTTOM - y_at(count, y):.1f}">'
        f"<title>{low:.0f}–{high:.0f}: {count:,}</title></rect>"
        for low, high, count in zip(lengths.edges, lengths.edges[1:], lengths.counts, strict=False)
        if count
    ]
    mark = upright_mark(window, f"window {window}", x) if window <= x.high else ""
    spoken = (
        f"Histogram of text lengths up to {lengths.edges[-1]:.0f} tokens, longer texts in the last bar; the window is "
        f"{window:,} tokens."
    )
    return svg("Length of texts", spoken, [frame(x, y), *bars, mark])
