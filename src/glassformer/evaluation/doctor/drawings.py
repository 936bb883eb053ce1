"""The drawings of the doctor's page, as inline SVG coloured by the report's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from glassformer.evaluation.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis, axis
from glassformer.evaluation.doctor.findings import Histogram, LayerFigures, RateRange

_LINE = 17  # height of a layer's row
_NAMES = 176  # width of the layers' names


def rate_chart(found: RateRange, rate: float) -> str:
    """The loss against the learning rate, its powers of ten even; the recipe's rate is marked."""
    x = Axis(
        label="learning rate", low=_power(found.rates[0]), high=0.0, ticks=range(math.ceil(_power(found.rates[0])), 1)
    )
    finite = [loss for loss in found.smoothed if math.isfinite(loss)]
    top = 1.4 * finite[0]  # what breaks down leaves the picture
    y = axis("loss", [max(0.0, min(finite)), max(top, 1e-3)])

    def line(losses: Sequence[float], style: str) -> str:
        points = " ".join(
            f"{_x(_power(rate), x):.1f},{_y(min(max(loss, y.low), y.high), y):.1f}"
            for rate, loss in zip(found.rates, losses, strict=True)
            if math.isfinite(loss)
        )
        return f'<polyline class="{style}" points="{points}"/>'

    at = min(max(_x(_power(rate), x), LEFT), WIDTH - RIGHT)
    offset, side = (-5, "end") if at > WIDTH / 2 else (5, "start")
    parts = [
        _frame(x, y, [f"1e{tick:g}" if tick else "1" for tick in x.ticks]),
        f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>',
        f'<text class="{side}" x="{at + offset:.1f}" y="{TOP + 12}">this recipe {rate:g}</text>',
        f'<g opacity=".45">{line(found.losses, "second")}</g>',
        line(found.smoothed, "first"),
        _legend([("first", "smoothed loss"), ("second", "each step")]),
    ]
    spoken = f"Loss over {len(found.rates)} steps of rising learning rates. " + (
        f"It begins to fall at {found.begins:.1g}, falls fastest at {found.steepest:.1g} and is lowest at "
        f"{found.lowest:.1g}. "
        if found.begins is not None
        else "It does not fall noticeably. "
    )
    spoken += "It does not break down." if found.breaks is None else f"From {found.breaks:.1g} on training breaks down."
    return _svg("Learning rate range", f"{spoken} The recipe’s rate is {rate:g}.", parts, HEIGHT)


def length_chart(lengths: Histogram, window: int) -> str:
    """Texts by their number of tokens; the window is marked where it cuts."""
    x = axis("tokens per text", [0, lengths.edges[-1]])
    y = axis("texts", [0, max(lengths.counts)], whole=True)
    bars = [
        f'<rect class="heat" x="{_x(low, x) + 0.5:.1f}" width="{max(_x(high, x) - _x(low, x) - 1, 0.5):.1f}" '
        f'y="{_y(count, y):.1f}" height="{_y(0, y) - _y(count, y):.1f}">'
        f"<title>{low:.0f}–{high:.0f}: {count:,}</title></rect>"
        for low, high, count in zip(lengths.edges, lengths.edges[1:], lengths.counts, strict=False)
        if count
    ]
    mark = ""
    if window <= x.high:
        at = _x(window, x)
        offset, side = (-5, "end") if at > WIDTH / 2 else (5, "start")
        mark = (
            f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
            f'<text class="{side}" x="{at + offset:.1f}" y="{TOP - 6}">window {window}</text>'
        )
    spoken = (
        f"Histogram of text lengths up to {lengths.edges[-1]:.0f} tokens, longer texts in the last bar; the window is "
        f"{window} tokens."
    )
    labels = [f"{tick:g}" for tick in x.ticks]
    return _svg("Length of texts", spoken, [_frame(x, y, labels), *bars, mark], HEIGHT)


def spread_chart(before: Sequence[LayerFigures], after: Sequence[LayerFigures], steps: int) -> str:
    """The standard deviation of every layer's output at the start (squares) and after (discs), in powers of ten."""
    later = {one.name: one.std for one in after}
    rows = [(one.name, one.std, later.get(one.name, 0.0)) for one in before if one.kind != "attention"]
    shown = [value for _, *pair in rows for value in pair if 0 < value < math.inf] or [1.0]
    low, high = math.floor(_power(min(shown))), math.ceil(_power(max(shown)))
    low, high = max(low, -8), min(max(high, low + 1), 8)
    bottom = 26 + _LINE * len(rows)

    def place(value: float) -> float:
        share = (min(max(_power(value), low), high) - low) / (high - low)
        return _NAMES + share * (WIDTH - RIGHT - _NAMES)

    parts = [
        '<rect class="second" x="4" y="5" width="6" height="6"/><text x="15" y="12">at the start</text>'
        f'<circle class="first" cx="98" cy="8" r="3.5"/><text x="106" y="12">after {steps} steps</text>'
    ]
    for tick in range(low, high + 1):
        at = place(10.0**tick)
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="20" y2="{bottom}"/>')
        parts.append(f'<text class="middle" x="{at:.1f}" y="{bottom + 14}">{10.0**tick:g}</text>')
    for number, (name, start, end) in enumerate(rows):
        y = 30 + _LINE * number
        parts.append(f'<text x="0" y="{y + 4}" style="font-size:8px">{escape(_short(name))}</text>')
        if 0 < start < math.inf:
            parts.append(f'<rect class="second" x="{place(start) - 3:.1f}" y="{y - 3}" width="6" height="6"/>')
        if 0 < end < math.inf:
            parts.append(f'<circle class="first" cx="{place(end):.1f}" cy="{y}" r="3.5"/>')
    spoken = "; ".join(f"{name} {start:.2g}, then {end:.2g}" for name, start, end in rows)
    return _svg("Spread of each layer", f"Standard deviation of the output: {spoken}.", parts, bottom + 22)


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"…{name[-39:]}"


def _power(value: float) -> float:
    return math.log10(value)


def _x(value: float, x: Axis) -> float:
    return LEFT + (value - x.low) / (x.high - x.low) * (WIDTH - LEFT - RIGHT)


def _y(value: float, y: Axis) -> float:
    return HEIGHT - BOTTOM - (value - y.low) / (y.high - y.low) * (HEIGHT - TOP - BOTTOM)


def _frame(x: Axis, y: Axis, labels: Sequence[str]) -> str:
    """Grid, ticks and the names of two axes; `labels` stand for the ticks of x."""
    parts = []
    for tick in y.ticks:
        at = _y(tick, y)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text class="end" x="{LEFT - 6}" y="{at + 4:.1f}">{tick:g}</text>')
    for tick, label in zip(x.ticks, labels, strict=True):
        parts.append(f'<text class="middle" x="{_x(tick, x):.1f}" y="{HEIGHT - BOTTOM + 16}">{label}</text>')
    parts.append(f'<text class="middle" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}">{x.label}</text>')
    upright = f'transform="translate(11 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'
    return "".join([*parts, f'<text class="middle" {upright}>{y.label}</text>'])


def _legend(lines: Sequence[tuple[str, str]]) -> str:
    parts, at = [], LEFT
    for style, name in lines:
        parts.append(f'<line class="{style} whisker" x1="{at}" x2="{at + 18}" y1="14" y2="14"/>')
        parts.append(f'<text x="{at + 24}" y="18">{name}</text>')
        at += 44 + round(6.6 * len(name))
    return "".join(parts)


def _svg(title: str, description: str, parts: Sequence[str], height: float) -> str:
    name = title.lower().replace(" ", "-")
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{title}</title><desc id="{name}-description">{escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )
