"""The few drawings of the report, as inline SVG coloured by the page's style sheet."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from glassformer.evaluation.result import Contestant, Estimate, Reliability
from glassformer.evaluation.verdict import share

WIDTH, HEIGHT = 360, 240
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 34, 40


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line through (x, y) points. `style` is a class of the style sheet: `first` or `second`."""

    name: str
    style: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A number with its interval. `style` is a class of the style sheet: `first` or `second`."""

    name: str
    estimate: Estimate
    style: str


@dataclass(frozen=True, kw_only=True)
class Axis:
    label: str
    low: float
    high: float
    ticks: Sequence[float]


def axis(label: str, values: Sequence[float], *, whole: bool = False) -> Axis:
    """An axis around some values, with about five round ticks; `whole` keeps to integers."""
    low, high = min(values), max(values)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / 5
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw * 0.999)
    if whole:
        step = max(1.0, round(step))
    first, last = math.floor(low / step), math.ceil(high / step)
    ticks = [round(i * step, 10) for i in range(first, last + 1)]
    return Axis(label=label, low=ticks[0], high=ticks[-1], ticks=ticks)


def line_chart(
    title: str, description: str, series: Sequence[Series], x: Axis, y: Axis, *, mark: tuple[float, str] | None = None
) -> str:
    """Lines with dots over two axes, a legend above; `mark` is a vertical line at an x, with its caption."""
    parts = [_frame(x, y)]
    if mark is not None:
        at = _x(mark[0], x)
        offset, side = (-5, "end") if at > WIDTH / 2 else (5, "start")
        parts.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text class="{side}" x="{at + offset:.1f}" y="{HEIGHT - BOTTOM - 7}">{escape(mark[1])}</text>')
    parts += [_line(one, x, y) for one in series]
    return _svg(title, description, [*parts, _legend(series)])


def reliability_chart(before: Reliability, after: Reliability) -> str:
    """Confidence against the share that was right, before and after the temperature; bars show where rows lie."""
    unit = Axis(label="confidence", low=0, high=1, ticks=[0, 0.2, 0.4, 0.6, 0.8, 1])
    y = Axis(label="share right", low=0, high=1, ticks=unit.ticks)
    most = max((one.count for one in after.bins), default=0) or 1
    bars = [
        f'<rect class="bar" x="{_x(one.low, unit) + 1:.1f}" width="{_x(one.high, unit) - _x(one.low, unit) - 2:.1f}" '
        f'y="{_y(0.22 * one.count / most, y):.1f}" height="{_y(0, y) - _y(0.22 * one.count / most, y):.1f}">'
        f"<title>{one.low:.2f}–{one.high:.2f}: {one.count:,}</title></rect>"
        for one in after.bins
        if one.count
    ]
    diagonal = f'<line class="mark" x1="{_x(0, unit)}" y1="{_y(0, y)}" x2="{_x(1, unit):.1f}" y2="{_y(1, y):.1f}"/>'
    lines = [
        Series(name=f"before (ECE {share(before.ece)})", style="second", points=_reliability_points(before)),
        Series(name=f"after (ECE {share(after.ece)})", style="first", points=_reliability_points(after)),
    ]
    return _svg(
        "Reliability diagram",
        f"Share right against confidence. Expected calibration error {before.ece:.3f} before the temperature, "
        f"{after.ece:.3f} after. A perfectly calibrated model lies on the diagonal.",
        [_frame(unit, y), diagonal, *bars, *(_line(one, unit, y) for one in lines), _legend(lines)],
    )


def accuracy_chart(contestants: Sequence[Contestant]) -> str:
    """One dot with its 95% interval for each contestant, the last of them being ours."""
    ours = len(contestants) - 1
    dots = [
        Dot(name=one.name, estimate=one.metrics.accuracy, style="first" if i == ours else "second")
        for i, one in enumerate(contestants)
    ]
    return interval_chart("Accuracy of each contestant", "accuracy with 95% interval", dots)


def interval_chart(title: str, label: str, dots: Sequence[Dot], *, mark: float | None = None) -> str:
    """One line for each dot with its interval, on a common scale; `mark` is a vertical line at a value."""
    edges = [edge for one in dots for edge in (one.estimate.low, one.estimate.high)]
    x = axis(label, edges if mark is None else [*edges, mark])
    line_height, top = 36, 6
    bottom = top + line_height * len(dots)
    parts = []
    for tick in x.ticks:
        at = _x(tick, x)
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>')
        parts.append(f'<text class="middle" x="{at:.1f}" y="{bottom + 16}">{_number(tick)}</text>')
    if mark is not None:
        at = _x(mark, x)
        parts.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>')
    for i, one in enumerate(dots):
        y = top + line_height * i
        low, at, high = (_x(value, x) for value in (one.estimate.low, one.estimate.value, one.estimate.high))
        parts.append(f'<text x="{LEFT}" y="{y + 13}">{escape(one.name)}</text>')
        parts.append(f'<line class="{one.style} whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{y + 24}" y2="{y + 24}"/>')
        parts.append(f'<circle class="{one.style}" cx="{at:.1f}" cy="{y + 24}" r="5"/>')
    parts.append(f'<text class="middle" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{bottom + 34}">{escape(label)}</text>')
    spoken = "; ".join(
        f"{one.name} {one.estimate.value:.3f} ({one.estimate.low:.3f} to {one.estimate.high:.3f})" for one in dots
    )
    return _svg(title, spoken, parts, height=bottom + 42)


def heat_map(matrix: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    """A confusion matrix of many classes: one square per cell, its opacity the share of the true class's rows."""
    label, side = 84, 264
    cell = side / len(names)
    font = min(10.0, max(4.5, cell * 0.8))
    parts = []
    for i, line in enumerate(matrix):
        total = sum(line) or 1
        middle = label + (i + 0.5) * cell
        name = escape(names[i] if len(names[i]) <= 16 else names[i][:15] + "…")
        label_start = f'<text class="end" style="font-size:{font:.1f}px"'
        parts.append(f'{label_start} x="{label - 4}" y="{middle + font / 3:.1f}">{name}</text>')
        parts.append(
            f'{label_start} transform="translate({middle + font / 3:.1f} {label + side + 5}) rotate(-90)">{name}</text>'
        )
        for j, cell_count in enumerate(line):
            if cell_count:
                parts.append(
                    f'<rect class="heat" x="{label + j * cell:.2f}" y="{label + i * cell:.2f}" width="{cell:.2f}" '
                    f'height="{cell:.2f}" opacity="{max(0.08, cell_count / total):.2f}"><title>{escape(names[i])} → '
                    f"{escape(names[j])}: {cell_count:,} ({share(cell_count / total)})</title></rect>"
                )
    parts.append(f'<rect class="outline" x="{label}" y="{label}" width="{side}" height="{side}"/>')
    moved = f'<g transform="translate(0 {-label + 2})">{"".join(parts)}</g>'
    return _svg(
        "Confusion matrix",
        "True classes down, predicted classes across; the stronger the colour, the larger the share of the true "
        "class. The largest confusions are listed in the table below.",
        [moved],
        height=side + label + 8,
    )


def _reliability_points(reliability: Reliability) -> list[tuple[float, float]]:
    return [
        (one.confidence, one.accuracy)
        for one in reliability.bins
        if one.confidence is not None and one.accuracy is not None
    ]


def _svg(title: str, description: str, parts: Sequence[str], *, height: float = HEIGHT) -> str:
    name = re.sub(r"\W+", "-", title.lower())
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-description">{escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def _x(value: float, x: Axis) -> float:
    return LEFT + (value - x.low) / (x.high - x.low) * (WIDTH - LEFT - RIGHT)


def _y(value: float, y: Axis) -> float:
    return HEIGHT - BOTTOM - (value - y.low) / (y.high - y.low) * (HEIGHT - TOP - BOTTOM)


def _frame(x: Axis, y: Axis) -> str:
    parts = []
    for tick in y.ticks:
        at = _y(tick, y)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text class="end" x="{LEFT - 6}" y="{at + 4:.1f}">{_number(tick)}</text>')
    parts += [
        f'<text class="middle" x="{_x(tick, x):.1f}" y="{HEIGHT - BOTTOM + 16}">{_number(tick)}</text>'
        for tick in x.ticks
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="middle" x="{middle}" y="{HEIGHT - 6}">{escape(x.label)}</text>')
    upright = f'transform="translate(11 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'
    parts.append(f'<text class="middle" {upright}>{escape(y.label)}</text>')
    return "".join(parts)


def _line(series: Series, x: Axis, y: Axis) -> str:
    places = [(_x(a, x), _y(b, y)) for a, b in series.points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    dots = "".join(_dot(series.style, a, b) for a, b in places) if len(places) <= 40 else ""
    return f'<polyline class="{series.style}" points="{path}"/>{dots}'


def _dot(style: str, x: float, y: float) -> str:
    """Discs and squares, so that no one has to tell colours apart."""
    if style == "first":
        return f'<circle class="first" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
    return f'<rect class="second" x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"/>'


def _legend(series: Sequence[Series]) -> str:
    parts, at = [], float(LEFT)
    for one in series:
        parts.append(f'<line class="{one.style} whisker" x1="{at}" x2="{at + 18}" y1="14" y2="14"/>')
        parts.append(_dot(one.style, at + 9, 14))
        parts.append(f'<text x="{at + 24}" y="18">{escape(one.name)}</text>')
        at += 44 + 6.6 * len(one.name)
    return "".join(parts)


def _number(value: float) -> str:
    return f"{value:g}"
