"""The figures of the course: pictures in a notebook, numbers in a terminal."""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from glassformer.evaluation.charts import Series, axis, line_chart, standalone, svg

_CELL, _LETTER, _LINE = 44, 6.4, 22
_SHADE, _STRONG, _FAINT = 0.85, 0.55, 0.01  # of the largest number; above it, text is light; up to it, it is grey
_ROWS_IN_TEXT = 9
_STYLES = ("first", "second")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure as a standalone SVG picture and as text."""

    title: str
    svg: str
    text: str

    def _repr_html_(self) -> str:
        """Show the picture in a notebook. As an image, its style does not change the rest of the notebook."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="{escape(self.title)}" src="data:image/svg+xml;base64,{data}">'


def show(*figures: Figure) -> None:
    """Show figures: as pictures in a notebook, as numbers elsewhere."""
    for figure in figures:
        if (display := _notebook_display()) is not None:
            display(figure)
        else:
            print(f"\n{figure.title}\n{figure.text}\n")


def heat_map(title: str, numbers: Any, rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Draw a matrix: the larger a number, the stronger the colour of its cell. Negative numbers are of another colour.

    Raises:
        ValueError: there are not as many names as rows and columns.
    """
    matrix = np.asarray(numbers, dtype=float)
    if matrix.shape != (len(rows), len(columns)):
        raise ValueError(f"the matrix has the shape {matrix.shape}, and there are {len(rows)} × {len(columns)} names")
    largest = np.abs(matrix[np.isfinite(matrix)]).max(initial=0.0) or 1.0
    left = 18 + _LETTER * max(map(len, rows))
    top = 34 + _LINE
    parts = [f'<text x="8" y="20" font-weight="600">{escape(title)}</text>']
    for i, name in enumerate(rows):
        middle = top + (i + 0.5) * _LINE + 4
        parts.append(f'<text class="end" x="{left - 6:.0f}" y="{middle:.0f}">{escape(name)}</text>')
    for j, name in enumerate(columns):
        middle = left + (j + 0.5) * _CELL
        parts.append(f'<text class="middle" x="{middle:.0f}" y="{top - 8}">{escape(name[:7])}</text>')
        for i, number in enumerate(matrix[:, j]):
            place = f'x="{left + j * _CELL:.0f}" y="{top + i * _LINE}" width="{_CELL - 1}" height="{_LINE - 1}"'
            shade = _SHADE * abs(number) / largest if np.isfinite(number) else 0.0
            if shade > _FAINT:
                style = "first" if number > 0 else "second"
                parts.append(f'<rect class="{style}" stroke="none" style="stroke:none" opacity="{shade:.2f}" {place}/>')
            look = ' style="fill:var(--card)"' if shade > _STRONG else ' opacity=".4"' if shade <= _FAINT else ""
            parts.append(
                f'<text class="middle"{look} x="{middle:.0f}" y="{top + (i + 0.5) * _LINE + 4:.0f}">'
                f"{_written(number)}</text>"
            )
    width, height = max(left + len(columns) * _CELL + 8, 16 + _LETTER * len(title)), top + len(rows) * _LINE + 8
    drawn = svg(title, "The numbers are in the cells.", parts, width=width, height=height)
    lines = [["", *[name[:7] for name in columns]]]
    lines += [[name, *map(_written, row)] for name, row in zip(rows, matrix, strict=True)]
    return Figure(title=title, svg=_sized(drawn, width, height), text=_table(lines))


def curves(title: str, lines: Mapping[str, Sequence[float]], *, x: str = "step", y: str = "loss") -> Figure:
    """Draw one or two lines over 0, 1, 2 … The names of the lines are those of the mapping."""
    points = {name: [(float(i), float(value)) for i, value in enumerate(values)] for name, values in lines.items()}
    series = [
        Series(name=name, style=style, points=found)
        for (name, found), style in zip(points.items(), _STYLES, strict=False)
    ]
    longest = max(map(len, points.values()))
    across = axis(x, [0, longest - 1], whole=True)
    up = axis(y, [value for found in points.values() for _, value in found])
    drawn = line_chart(title, "The numbers are those of the text below it in a terminal.", series, across, up)
    shown = np.unique(np.linspace(0, longest - 1, min(longest, _ROWS_IN_TEXT)).round().astype(int))
    cells = [[x, *points]]
    cells += [[str(i), *[_written(found[i][1]) if i < len(found) else "" for found in points.values()]] for i in shown]
    return Figure(title=title, svg=_sized(drawn, 432, 300), text=_table(cells))


def _notebook_display() -> Any:
    """Return the function that shows a picture if this is a notebook, else None."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from importlib import import_module

    return import_module("IPython.display").display


def _written(number: float) -> str:
    """Write a number with two decimals and a true minus sign. Minus infinity is −∞."""
    if not np.isfinite(number):
        return "−∞" if number < 0 else "∞"
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _table(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def _sized(drawn: str, width: float, height: float) -> str:
    return standalone(drawn).replace("<svg ", f'<svg width="{width:.0f}" height="{height:.0f}" ', 1)
