"""Runs the lessons of the course, and writes what they show: figures to docs/pictures/course/, and below each cell of a
lesson in docs/course/ what it printed."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import torch

from glassformer.course import figures
from glassformer.course.lessons import Lesson, lessons

HERE = Path(__file__).parent / "course"
LESSONS = HERE.parent.parent / "course"
_CELL = re.compile(r"<details>.*?</details>|(```python\n(.*?)\n```\n)(\n```text\n.*?\n```\n)?", re.DOTALL)


def main() -> None:
    """Write the figures and the outputs of all lessons."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as desk, chdir(desk):
        for lesson in lessons():
            printed, shown = run(lesson)
            (LESSONS / f"{lesson.name}.md").write_text(with_outputs(lesson.text, printed), encoding="utf-8")
            for number, figure in enumerate(shown, 1):
                (HERE / f"{lesson.number:02}-{number}.svg").write_text(figure.svg, encoding="utf-8")


def run(lesson: Lesson) -> tuple[list[str], list[figures.Figure]]:
    """Run a lesson in the current folder. Return what each cell printed, and all figures."""
    torch.manual_seed(0)
    shown: list[figures.Figure] = []
    figures.show, show = lambda *these: shown.extend(these), figures.show
    printed, scope = [], dict[str, Any]()
    for cell in lesson.cells():
        if cell.kind == "code":
            with redirect_stdout(io.StringIO()) as out:
                exec(compile(cell.text, lesson.name, "exec"), scope)
            printed.append(out.getvalue())
    figures.show = show
    return printed, shown


def with_outputs(text: str, printed: Sequence[str]) -> str:
    """Put below each cell what it printed, in place of what stands there. Exercises print nothing of interest."""
    outputs = iter(printed)

    def filled(found: re.Match[str]) -> str:
        if found[1] is None:  # a solution
            return found[0]
        output = next(outputs).rstrip()
        return found[1] + (f"\n```text\n{output}\n```\n" if output and 'check("' not in found[2] else "")

    return _CELL.sub(filled, text)


if __name__ == "__main__":
    main()
