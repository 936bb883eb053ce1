"""The plots of docs/how-it-works/results.md, drawn from the committed results: `python -m benchmarks.tables`.

Every point and line has its name beside it. The colours are those of the pages of glassformer, light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from pathlib import Path
from statistics import median

from benchmarks.tables_common import Document, read
from benchmarks.tables_speed import kinds_of_texts
from glassformer.evaluation.charts import Axis, Series, axis, standalone, svg

WIDTH, GAP = 720, 8
LEFT, RIGHT, TOP, BOTTOM = 60, 22, 30, 42  # of a panel
_LETTER, _LINE = 6.0, 13  # average width of a letter, height of a line
_NEAR, _MARK = 9, 5  # from a point to a name beside it; half the size of a mark
_TRIED = 5  # lines above and below a point where its name may stand
_FEW_POWERS = 2.5  # of ten: an axis of fewer has more ticks
_FARTHER = 2.0  # a name may rather be one pixel farther from its point than cover so many pixels

Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A plot with its own axes. The name of a series stands beside its last point."""

    title: str
    series: Sequence[Series]
    x: Axis
    y: Axis
    width: float
    height: float

    def at(self, point: tuple[float, float]) -> tuple[float, float]:
        """Return the place of a point in the panel."""
        across = (point[0] - self.x.low) / (self.x.high - self.x.low)
        up = (point[1] - self.y.low) / (self.y.high - self.y.low)
        return LEFT + across * (self.width - LEFT - RIGHT), self.height - BOTTOM - up * (self.height - TOP - BOTTOM)

    def draw(self) -> str:
        return "".join([f'<text class="middle" x="{self._middle():.1f}" y="16">{escape(self.title)}</text>',
                        *self._frame(), *map(self._line, self.series), *self._names()])  # fmt: skip

    def _middle(self) -> float:
        return (LEFT + self.width - RIGHT) / 2

    def _frame(self) -> Iterator[str]:
        bottom, right = self.height - BOTTOM, self.width - RIGHT
        for tick in self.y.ticks:
            _, at = self.at((self.x.low, tick))
            yield f'<line class="grid" x1="{LEFT}" x2="{right:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>'
            yield f'<text class="end" x="{LEFT - 6}" y="{at + 4:.1f}">{self.y.show(tick)}</text>'
        for tick in self.x.ticks:
            at, _ = self.at((tick, self.y.low))
            yield f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom:.1f}"/>'
            yield f'<text class="middle" x="{at:.1f}" y="{bottom + 16:.1f}">{self.x.show(tick)}</text>'
        yield f'<text class="middle" x="{self._middle():.1f}" y="{self.height - 8:.1f}">{escape(self.x.label)}</text>'
        turned = f'transform="translate(11 {(TOP + bottom) / 2:.1f}) rotate(-90)"'
        yield f'<text class="middle" {turned}>{escape(self.y.label)}</text>'

    def _line(self, series: Series) -> str:
        places = [self.at(point) for point in series.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        return f'<polyline class="{series.style}" points="{path}"/>' + "".join(
            f'<circle class="first" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' if series.style == "first" else
            f'<rect class="second" x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7"/>' for x, y in places
        )  # fmt: skip

    def _names(self) -> Iterator[str]:
        """Draw each name near its point, where it covers little. A line leads from a name that is not beside it."""
        taken = [box for each in self.series for box in _covered([self.at(point) for point in each.points])]
        for each in self.series:
            x, y = self.at(each.points[-1])
            box = self._place(x, y, _LETTER * len(each.name), taken)
            taken.append(box)
            near_x, near_y = min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3])
            if math.dist((x, y), (near_x, near_y)) > _NEAR + 1:
                yield f'<line class="lead" x1="{x:.1f}" y1="{y:.1f}" x2="{near_x:.1f}" y2="{near_y:.1f}"/>'
            yield f'<text x="{box[0]:.1f}" y="{box[3] - 3:.1f}">{escape(each.name)}</text>'

    def _place(self, x: float, y: float, length: float, taken: Sequence[Box]) -> Box:
        """Return the best place for a name: near its point, over few other things, and inside the panel."""
        lefts = [x + away for away in (_NEAR, -_NEAR - length, -length / 2, 3 * _NEAR, -3 * _NEAR - length)]
        middles = [y + line * _LINE for line in range(-_TRIED, _TRIED + 1)]
        boxes = [(left, at - _LINE / 2, left + length, at + _LINE / 2) for at in middles for left in lefts]
        inside = [
            box for box in boxes
            if box[0] > LEFT and box[2] < self.width and box[1] > TOP - _LINE and box[3] < self.height - BOTTOM
        ]  # fmt: skip

        def cost(box: Box) -> float:
            away = math.dist((x, y), (min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3])))
            return _FARTHER * away + sum(_overlap(box, other) for other in taken)

        return min(inside or boxes, key=cost)


def _covered(places: Sequence[tuple[float, float]]) -> Iterator[Box]:
    """Yield small boxes that cover a line with its marks."""
    for (x, y), (to_x, to_y) in zip(places, [*places[1:], places[-1]], strict=True):
        yield x - _MARK, y - _MARK, x + _MARK, y + _MARK
        steps = int(math.dist((x, y), (to_x, to_y)) / _MARK)
        for step in range(1, steps):
            at_x, at_y = x + (to_x - x) * step / steps, y + (to_y - y) * step / steps
            yield at_x - 2, at_y - 2, at_x + 2, at_y + 2


def _overlap(one: Box, other: Box) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    return max(0.0, across) * max(0.0, min(one[3], other[3]) - max(one[1], other[1]))


def log_axis(label: str, values: Sequence[float]) -> Axis:
    """Return an axis of logarithms that covers the values, with a tick at each power of ten, or at 1, 2, 5, 10, …"""
    low, high = math.log10(min(values)) - 0.15, math.log10(max(values)) + 0.15
    steps = (1, 2, 5) if high - low < _FEW_POWERS else (1,)
    every = [power + math.log10(step) for power in range(math.floor(low), math.ceil(high)) for step in steps]
    ticks = [tick for tick in every if low <= tick <= high]
    return Axis(label=label, low=low, high=high, ticks=ticks, show=lambda tick: _amount(10.0**tick))


def grid(title: str, panels: Sequence[Panel]) -> str:
    """Draw panels of one size, as many in a row as fit, as an SVG file."""
    width, height = panels[0].width, panels[0].height
    columns = int((WIDTH + GAP) // (width + GAP))
    places = [(number % columns * (width + GAP), number // columns * height) for number in range(len(panels))]
    parts = [
        f'<g transform="translate({x:g} {y:g})">{each.draw()}</g>' for (x, y), each in zip(places, panels, strict=True)
    ]
    spoken = " ".join(f"{each.title}: {'; '.join(map(_spoken(each), each.series))}." for each in panels)
    return standalone(svg(title, spoken, parts, width=WIDTH, height=math.ceil(len(panels) / columns) * height))


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _spoken(panel: Panel) -> Callable[[Series], str]:
    def spoken(series: Series) -> str:
        x, y = series.points[-1]
        return f"{series.name} {panel.x.show(x)}, {panel.y.show(y)}"

    return spoken


def _style(name: str) -> str:
    return "first" if name.startswith(("ours", "glassformer")) else "second"


def accuracy_by_time(found: Document) -> str:
    """Draw test accuracy against the seconds of training, for each table of the bench that is used as it is."""
    entries = [entry for entry in found["entries"] if entry["name"] == entry["data"]]
    timed = [
        {name: figures for name, figures in entry["contestants"].items() if figures["training_seconds"] is not None}
        for entry in entries
    ]
    x = log_axis("seconds of training", [each["training_seconds"] for one in timed for each in one.values()])
    panels = []
    for entry, contestants in zip(entries, timed, strict=True):
        series = [
            Series(name=name, style=_style(name), points=[(math.log10(each["training_seconds"]), each["accuracy"])])
            for name, each in contestants.items()
        ]
        y = axis("test accuracy", [point[1] for each in series for point in each.points])
        panels.append(Panel(title=entry["name"], series=series, x=x, y=y, width=356, height=220))
    return grid("Accuracy against training time", panels)


def accuracy_by_epoch(found: Document) -> str:
    """Draw validation accuracy after each epoch against the seconds of training so far, for each number format."""
    lines = {
        each["name"]: list(zip(accumulate(each["seconds_by_epoch"]), each["accuracy_by_epoch"], strict=True))
        for each in found["contestants"]
    }
    x = axis("seconds of training; a mark for each epoch", [0, *(x for points in lines.values() for x, _ in points)])
    y = axis("validation accuracy", [y for points in lines.values() for _, y in points])
    panels = []
    for precision in ("float32", "bfloat16"):
        series = [
            Series(name=name.removesuffix(f", {precision}"), style=_style(name), points=points)
            for name, points in lines.items()
            if name.endswith("float32") == (precision == "float32")  # ours computes in bfloat16 unless told otherwise
        ]
        panels.append(Panel(title=f"{found['data']}, {precision}", series=series, x=x, y=y, width=356, height=260))
    return grid("Accuracy after each epoch", panels)


def speed_by_size(found: Document) -> str:
    """Draw answers per second against the size on disk, for each kind of texts."""
    panels = []
    for kind in kinds_of_texts(found):
        shown = {each["name"]: each[kind] for each in found["contestants"] if "texts" in each[kind]}
        series = [
            Series(
                name=name.replace("logistic regression", "LR"),
                style=_style(name),
                points=[(math.log10(each["bytes"] / 1e6), math.log10(each["texts_per_second"]))],
            )
            for name, each in shown.items()
        ]
        x = log_axis("MB on disk", [each["bytes"] / 1e6 for each in shown.values()])
        y = log_axis("answers per second", [each["texts_per_second"] for each in shown.values()])
        panels.append(Panel(title=f"held-out {kind}", series=series, x=x, y=y, width=WIDTH, height=300))
    return grid("Answers per second against size on disk", panels)


def over_optimisation(found: Document) -> str:
    """Draw reward and exact share against KL, of policies that may move far, for two rewards (Gao et al. 2022)."""
    runs = found["loose"]
    panels = []
    for title, figure, label in (
        ("what the reward model says", "held_out_reward", "reward"),
        ("what is true: well formed and favourable", "held_out_favourable", "share"),
    ):
        series = [
            Series(
                name=name,
                style=style,
                points=sorted((row["held_out_kl"], row[figure]) for row in rows),
            )
            for (name, rows), style in zip(runs.items(), ("second", "first"), strict=True)
        ]
        every = [point for each in series for point in each.points]
        x = axis("KL from the start, nats", [0, *(point[0] for point in every)])
        y = axis(label, [point[1] for point in every] + ([0, 1] if label == "share" else []))
        panels.append(Panel(title=title, series=series, x=x, y=y, width=(WIDTH - GAP) / 2, height=280))
    return grid("Over-optimisation", panels)


def time_by_rows(found: Document) -> str:
    """Draw the seconds from the command to the finished model against the rows of the table."""
    lines = found["lines"]
    series = [
        Series(
            name=name,
            style=_style(name),
            points=[
                (math.log10(line["rows"]), math.log10(median(line["contestants"][name]["seconds"]))) for line in lines
            ],
        )
        for name in lines[0]["contestants"]
    ]
    x = log_axis("rows", [line["rows"] for line in lines])
    y = log_axis("seconds", [10 ** point[1] for each in series for point in each.points])
    return grid("Time of training by rows", [Panel(title="tweets", series=series, x=x, y=y, width=WIDTH, height=300)])


PLOTS: dict[str, tuple[str, Callable[[Document], str]]] = {
    "accuracy-by-time": ("bench-of-tables/test", accuracy_by_time),
    "accuracy-by-epoch": ("training-speed-disaster-tweets-small", accuracy_by_epoch),
    "speed-by-size": ("answering-speed", speed_by_size),
    "time-by-rows": ("wall-time", time_by_rows),
    "over-optimisation": ("assistant", over_optimisation),
}
"""Name of the file in docs/pictures → the result that it shows, and what draws it."""


def plots(results: Path, pictures: Path) -> dict[Path, str]:
    """Return the file of each plot → its content."""
    return {pictures / f"{name}.svg": draw(read(results / f"{result}.json")) for name, (result, draw) in PLOTS.items()}
