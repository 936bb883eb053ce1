"""The few drawings of the report, as inline SVG coloured by the page's style sheet."""

import math
import re
from collections.abc import Callable, Sequence
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
    """A scale from `low` to `high`; `show` writes its ticks."""

    label: str
    low: float
    high: float
    ticks: Sequence[float]
    show: Callable[[float], str] = "{:g}".format


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
    parts = [frame(x, y)]
    if mark is not None:
        parts.append(upright_mark(*mark, x, HEIGHT - BOTTOM - 7))
    parts += [curve(one, x, y) for one in series]
    return svg(title, description, [*parts, legend(series)])


def reliability_chart(before: Reliability, after: Reliability) -> str:
    """Confidence against the share that was right, before and after the temperature; bars show where rows lie."""
    unit = Axis(label="confidence", low=0, high=1, ticks=[0, 0.2, 0.4, 0.6, 0.8, 1])
    y = Axis(label="share right", low=0, high=1, ticks=unit.ticks)
    most = max((one.count for one in after.bins), default=0) or 1
    bars = [
        f'<rect class="bar" x="{x_at(one.low, unit) + 1:.1f}" '
        f'width="{x_at(one.high, unit) - x_at(one.low, unit) - 2:.1f}" '
        f'y="{y_at(0.22 * one.count / most, y):.1f}" height="{HEIGHT - BOTTOM - y_at(0.22 * one.count / most, y):.1f}">'
        f"<title>{one.low:.2f}–{one.high:.2f}: {one.count:,}</title></rect>"
        for one in after.bins
        if one.count
    ]
    diagonal = f'<line class="mark" x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{WIDTH - RIGHT}" y2="{TOP}"/>'
    lines = [
        Series(name=f"before (ECE {share(before.ece)})", style="second", points=_reliability_points(before)),
        Series(name=f"after (ECE {share(after.ece)})", style="first", points=_reliability_points(after)),
    ]
    return svg(
        "Reliability diagram",
        f"Share right against confidence. Expected calibration error {before.ece:.3f} before the temperature, "
        f"{after.ece:.3f} after. A perfectly calibrated model lies on the diagonal.",
        [frame(unit, y), diagonal, *bars, *(curve(one, unit, y) for one in lines), legend(lines)],
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
        at = x_at(tick, x)
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>')
        parts.append(f'<text class="middle" x="{at:.1f}" y="{bottom + 16}">{x.show(tick)}</text>')
    if mark is not None:
        at = x_at(mark, x)
        parts.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>')
    for i, one in enumerate(dots):
        y = top + line_height * i
        low, at, high = (x_at(value, x) for value in (one.estimate.low, one.estimate.value, one.estimate.high))
        parts.append(f'<text x="{LEFT}" y="{y + 13}">{escape(one.name)}</text>')
        parts.append(f'<line class="{one.style} whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{y + 24}" y2="{y + 24}"/>')
        parts.append(f'<circle class="{one.style}" cx="{at:.1f}" cy="{y + 24}" r="5"/>')
    parts.append(f'<text class="middle" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{bottom + 34}">{escape(label)}</text>')
    spoken = "; ".join(
        f"{one.name} {one.estimate.value:.3f} ({one.estimate.low:.3f} to {one.estimate.high:.3f})" for one in dots
    )
    return svg(title, spoken, parts, height=bottom + 42)


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
    return svg(
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


def svg(title: str, description: str, parts: Sequence[str], *, height: float = HEIGHT) -> str:
    """The drawing, with its title and what it shows in words for those who do not see it."""
    name = re.sub(r"\W+", "-", title.lower())
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-description">{escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def x_at(value: float, x: Axis) -> float:
    """Where a value of the axis lies in the drawing."""
    return LEFT + (value - x.low) / (x.high - x.low) * (WIDTH - LEFT - RIGHT)


def y_at(value: float, y: Axis) -> float:
    """Where a value of the axis lies in the drawing."""
    return HEIGHT - BOTTOM - (value - y.low) / (y.high - y.low) * (HEIGHT - TOP - BOTTOM)


def frame(x: Axis, y: Axis) -> str:
    """Grid, ticks and the names of two axes."""
    parts = []
    for tick in y.ticks:
        at = y_at(tick, y)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text class="end" x="{LEFT - 6}" y="{at + 4:.1f}">{y.show(tick)}</text>')
    parts += [
        f'<text class="middle" x="{x_at(tick, x):.1f}" y="{HEIGHT - BOTTOM + 16}">{x.show(tick)}</text>'
        for tick in x.ticks
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="middle" x="{middle}" y="{HEIGHT - 6}">{escape(x.label)}</text>')
    upright = f'transform="translate(11 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'
    parts.append(f'<text class="middle" {upright}>{escape(y.label)}</text>')
    return "".join(parts)


def upright_mark(value: float, caption: str, x: Axis, caption_y: float) -> str:
    """A line at a value of x, its caption on the side where there is room."""
    at = x_at(value, x)
    offset, side = (-5, "end") if at > WIDTH / 2 else (5, "start")
    return (
        f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        f'<text class="{side}" x="{at + offset:.1f}" y="{caption_y}">{escape(caption)}</text>'
    )


def curve(series: Series, x: Axis, y: Axis) -> str:
    """A line through its points; few of them are dotted."""
    places = [(x_at(a, x), y_at(b, y)) for a, b in series.points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    dots = "".join(_dot(series.style, a, b) for a, b in places) if len(places) <= 40 else ""
    return f'<polyline class="{series.style}" points="{path}"/>{dots}'


def _dot(style: str, x: float, y: float) -> str:
    """Discs and squares, so that no one has to tell colours apart."""
    if style == "first":
        return f'<circle class="first" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
    return f'<rect class="second" x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"/>'


def legend(series: Sequence[Series]) -> str:
    """The names of the lines, above them."""
    parts, at = [], float(LEFT)
    for one in series:
        parts.append(f'<line class="{one.style} whisker" x1="{at}" x2="{at + 18}" y1="14" y2="14"/>')
        parts.append(_dot(one.style, at + 9, 14))
        parts.append(f'<text x="{at + 24}" y="18">{escape(one.name)}</text>')
        at += 44 + 6.6 * len(one.name)
    return "".join(parts)
