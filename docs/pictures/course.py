"""Draws the figures of the course, docs/pictures/course/: runs each lesson, and keeps what it shows."""

from __future__ import annotations

import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import torch

from glassformer.course import figures
from glassformer.course.lessons import lessons

HERE = Path(__file__).parent / "course"


def main() -> None:
    """Write the figures of all lessons."""
    torch.set_num_threads(1)
    shown: list[figures.Figure] = []
    figures.show = lambda *these: shown.extend(these)
    with tempfile.TemporaryDirectory() as desk, chdir(desk):
        for lesson in lessons():
            shown.clear()
            scope: dict[str, Any] = {}
            for cell in lesson.cells():
                if cell.kind == "code":
                    exec(compile(cell.text, lesson.name, "exec"), scope)
            for number, figure in enumerate(shown, 1):
                (HERE / f"{lesson.number:02}-{number}.svg").write_text(figure.svg, encoding="utf-8")


if __name__ == "__main__":
    main()
