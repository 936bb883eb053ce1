"""The charts of the report: inline SVG, coloured by the style sheet of the page."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import Contestant, Reliability
from glassformer.evaluation.verdict import share
from glassformer.pages.html import asset

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 44, 40
WIDE = 760
MOST_MARKED_POINTS = 40  # a curve of more points is drawn without marks
_CHARACTER = 6.2  # the average width of a letter
_NARROWEST_NAMES, _WIDEST_NAMES = 60, 470


def tick_text(value: float) -> str:
    """Format a tick like the numbers of the report: without a zero before the point."""
    written = f"{value:g}".replace("-", "−")
    return written.replace("0.", ".", 1) if abs(value) < 1 else written


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line through (x, y) points. `style` is a class of the style sheet: `first` or `second`.

    `intervals` are those of its last points, from low to high: they are drawn as upright whiskers.
    """

    name: str
    style: str
    points: Sequence[tuple[float, float]]
    intervals: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A number with its interval. `style` is a class of the style sheet: `first` or `second`."""

    name: str
    estimate: Estimate
    style: str


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A scale from `low` to `high`; `show` formats its ticks."""

    label: str
    low: float
    high: float
    ticks: Sequence[float]
    show: Callable[[float], str] = tick_text


def axis(label: str, values: Sequence[float], *, whole: bool = False) -> Axis:
    """Return an axis that covers the values, with about five round ticks. With `whole`, ticks are integers."""
    low, high = min(values), max(values)
    if high - low < 1e-9:
        low, high = low - 0.5 if low < 0 else max(0.0, low - 0.5), high + 0.5  # a share is never below 0
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
    """Draw lines over two axes with a legend above. `mark` is a vertical line: its x, and a caption above the plot."""
    parts = [frame(x, y)]
    if mark is not None:
        parts.append(upright_mark(*mark, x))
    parts += [curve(line, x, y) for line in series]
    return svg(title, description, [*parts, legend(series)])


def unit_axis(label: str) -> Axis:
    """Return an axis from 0 to 1."""
    return Axis(label=label, low=0, high=1, ticks=[0, 0.2, 0.4, 0.6, 0.8, 1])


def square_chart(
    title: str, description: str, series: Sequence[Series], *, x: str, y: str, diagonal: bool = False
) -> str:
    """Draw lines over two axes from 0 to 1, and the diagonal if it has a meaning."""
    across, up = unit_axis(x), unit_axis(y)
    line = f'<line class="mark" x1="{LEFT}" y1="{HEIGHT - BOTTOM}" x2="{WIDTH - RIGHT}" y2="{TOP}"/>'
    curves = (curve(line, across, up) for line in series)
    return svg(title, description, [frame(across, up), line if diagonal else "", *curves, legend(series)])


def reliability_chart(before: Reliability | None, after: Reliability) -> str:
    """Draw the share of right answers against confidence. `before` is without the temperature, if one was fitted."""
    lines = [Series(name=f"ECE {share(after.ece)}", style="first", points=_reliability_points(after))]
    spoken = f"Expected calibration error {share(after.ece)}"
    if before is not None:
        lines = [
            Series(name=f"before, ECE {share(before.ece)}", style="second", points=_reliability_points(before)),
            Series(name=f"after, ECE {share(after.ece)}", style="first", points=_reliability_points(after)),
        ]
        spoken = f"Expected calibration error {share(before.ece)} before the temperature, {share(after.ece)} after"
    return square_chart(
        "Reliability diagram",
        f"Share right against confidence. {spoken}. A perfectly calibrated model lies on the diagonal.",
        lines,
        x="confidence",
        y="share right",
        diagonal=True,
    )


def confidence_chart(reliability: Reliability, what: str) -> str:
    """Draw a histogram of the confidences."""
    x = unit_axis("confidence")
    y = axis(what, [0, max((each.count for each in reliability.bins), default=1) or 1], whole=True)
    bars = [
        f'<rect class="heat" x="{x_at(each.low, x) + 1:.1f}" width="{x_at(each.high, x) - x_at(each.low, x) - 2:.1f}" '
        f'y="{y_at(each.count, y):.1f}" height="{HEIGHT - BOTTOM - y_at(each.count, y):.1f}">'
        f"<title>{share(each.low)}–{share(each.high)}: {each.count:,}</title></rect>"
        for each in reliability.bins
        if each.count
    ]
    most = max(reliability.bins, key=lambda each: each.count)
    spoken = f"Histogram of confidences. Most {what}, {most.count:,}, lie from {share(most.low)} to {share(most.high)}."
    return svg("Confidence of the answers", spoken, [frame(x, y), *bars])


def contestants_chart(contestants: Sequence[Contestant[Any]], figure: str) -> str:
    """Draw a dot for the leading figure of each contestant, with its 95% interval. The last one is our model."""
    ours = len(contestants) - 1
    dots = [
        Dot(name=each.name, estimate=each.metrics.leading, style="first" if i == ours else "second")
        for i, each in enumerate(contestants)
    ]
    return interval_charts(f"{figure[:1].upper()}{figure[1:]} of each contestant", f"{figure} with 95% interval", dots)


def interval_chart(
    title: str, label: str, dots: Sequence[Dot], *, mark: float | None = None, narrow: bool = False
) -> str:
    """Draw each name with its number and interval on a common scale. `mark` is the value of a vertical line.

    Names are on the left, or with `narrow` above the intervals.
    """
    edges = [edge for dot in dots for edge in (dot.estimate.low, dot.estimate.high)]
    x = axis(label, edges if mark is None else [*edges, mark])
    longest = max(len(dot.name) for dot in dots)
    left = LEFT if narrow else min(max(_CHARACTER * longest + 16, _NARROWEST_NAMES), _WIDEST_NAMES)
    width, line_height, top = (WIDTH, 38, 6) if narrow else (WIDE, 26, 6)
    most_letters = int((width if narrow else left - 16) / _CHARACTER)
    right, bottom = width - 24, top + line_height * len(dots)

    def at(value: float) -> float:
        return left + (value - x.low) / (x.high - x.low) * (right - left)

    parts = []
    for tick in x.ticks:
        parts.append(f'<line class="grid" x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{top}" y2="{bottom}"/>')
        parts.append(f'<text class="middle" x="{at(tick):.1f}" y="{bottom + 16}">{x.show(tick)}</text>')
    if mark is not None:
        parts.append(f'<line class="mark" x1="{at(mark):.1f}" x2="{at(mark):.1f}" y1="{top}" y2="{bottom}"/>')
    for number, dot in enumerate(dots):
        y = top + line_height * (number + (0.75 if narrow else 0.5))
        low, middle, high = (at(value) for value in (dot.estimate.low, dot.estimate.value, dot.estimate.high))
        short = dot.name if len(dot.name) <= most_letters else dot.name[: most_letters - 1] + "…"
        place = f'x="4" y="{y - 12}"' if narrow else f'class="end" x="{left - 12:.1f}" y="{y + 4}"'
        parts.append(f"<text {place}>{escape(short)}</text>")
        parts.append(f'<line class="{dot.style} whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>')
        parts.append(f'<circle class="{dot.style}" cx="{middle:.1f}" cy="{y}" r="5"/>')
    parts.append(f'<text class="middle" x="{(left + right) / 2:.1f}" y="{bottom + 34}">{escape(label)}</text>')
    spoken = "; ".join(
        f"{dot.name} {share(dot.estimate.value)} ({share(dot.estimate.low)} to {share(dot.estimate.high)})"
        for dot in dots
    )
    return svg(title, spoken, parts, width=width, height=bottom + 42)


def interval_charts(title: str, label: str, dots: Sequence[Dot]) -> str:
    """Draw the chart for wide screens and for narrow ones. The style sheet shows one of them."""
    wide = interval_chart(title, label, dots)
    narrow = interval_chart(f"{title}, narrow", label, dots, narrow=True)
    return f'<figure class="on-wide">{wide}</figure><figure class="on-narrow">{narrow}</figure>'


def _reliability_points(reliability: Reliability) -> list[tuple[float, float]]:
    return [
        (each.confidence, each.accuracy)
        for each in reliability.bins
        if each.confidence is not None and each.accuracy is not None
    ]


def svg(title: str, description: str, parts: Sequence[str], *, width: float = WIDTH, height: float = HEIGHT) -> str:
    """Return the drawing with its title and a description for screen readers."""
    name = re.sub(r"\W+", "-", title.lower())
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-description">{escape(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def standalone(drawn: str) -> str:
    """Return a chart as an SVG file of its own: with the style sheet of the pages, and their background."""
    own = "svg .paper { fill: var(--card); } svg .lead { stroke: var(--soft); stroke-width: .7; }"
    css = asset("pages", "page.css")
    paper = '<rect class="paper" width="100%" height="100%"/>'
    return (
        drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        .replace("<title", f"<style>{css}{own}</style><title", 1)
        .replace("</desc>", f"</desc>{paper}", 1)
    )


def x_at(value: float, x: Axis) -> float:
    """Return the horizontal place of a value in the drawing."""
    return LEFT + (value - x.low) / (x.high - x.low) * (WIDTH - LEFT - RIGHT)


def y_at(value: float, y: Axis) -> float:
    """Return the vertical place of a value in the drawing."""
    return HEIGHT - BOTTOM - (value - y.low) / (y.high - y.low) * (HEIGHT - TOP - BOTTOM)


def frame(x: Axis, y: Axis) -> str:
    """Draw the grid, the ticks and the names of two axes."""
    parts = []
    for tick in y.ticks:
        at = y_at(tick, y)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text class="end" x="{LEFT - 6}" y="{at + 4:.1f}">{y.show(tick)}</text>')
    for tick in x.ticks:
        shown = x.show(tick)
        at = min(x_at(tick, x), WIDTH - _CHARACTER * len(shown) / 2)
        parts.append(f'<text class="middle" x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}">{shown}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="middle" x="{middle}" y="{HEIGHT - 6}">{escape(x.label)}</text>')
    upright = f'transform="translate(11 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'
    parts.append(f'<text class="middle" {upright}>{escape(y.label)}</text>')
    return "".join(parts)


def upright_mark(value: float, caption: str, x: Axis) -> str:
    """Draw a vertical line at a value of x, with its caption above the plot."""
    at = x_at(value, x)
    half = _CHARACTER * len(caption) / 2
    middle = min(max(at, LEFT + half), WIDTH - RIGHT - half)
    return (
        f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        f'<text class="middle" x="{middle:.1f}" y="{TOP - 8}">{escape(caption)}</text>'
    )


def curve(series: Series, x: Axis, y: Axis) -> str:
    """Draw a line through its points, and their intervals. If there are few points, mark each."""
    places = [(x_at(a, x), y_at(b, y)) for a, b in series.points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    dots = "".join(_dot(series.style, a, b) for a, b in places) if len(places) <= MOST_MARKED_POINTS else ""
    intervals = zip(places[len(places) - len(series.intervals) :], series.intervals, strict=True)
    whiskers = "".join(
        f'<line class="{series.style}" x1="{a:.1f}" x2="{a:.1f}" y1="{y_at(low, y):.1f}" y2="{y_at(high, y):.1f}"/>'
        for (a, _), (low, high) in intervals
    )
    return f'{whiskers}<polyline class="{series.style}" points="{path}"/>{dots}'


def _dot(style: str, x: float, y: float) -> str:
    """Draw a disc or a square: styles differ by more than their colour."""
    if style == "first":
        return f'<circle class="first" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
    return f'<rect class="second" x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"/>'


def legend(series: Sequence[Series]) -> str:
    """Draw the names of the lines above the plot."""
    parts, at = [], float(LEFT)
    for line in series:
        parts.append(f'<line class="{line.style} whisker" x1="{at}" x2="{at + 18}" y1="10" y2="10"/>')
        parts.append(_dot(line.style, at + 9, 10))
        parts.append(f'<text x="{at + 24}" y="14">{escape(line.name)}</text>')
        at += 44 + _CHARACTER * len(line.name)
    return "".join(parts)
