"""The ten lessons. Each is a Markdown file in docs/course, from which its notebook and its script are made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from glassformer.errors import UsageError

_CODE, _OUTPUT, _END, _SOLUTION_END = "```python", "```text", "```", "</details>"
_CHECK = re.compile(r'check\("(\d+\.\d)"')
_SOLUTION = re.compile(r"<details>\s*<summary>Solution</summary>\s*```python\n(.*?)```\s*</details>", re.DOTALL)


class Cell(NamedTuple):
    """A part of a lesson: prose in Markdown, or Python code."""

    kind: Literal["prose", "code"]
    text: str


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson."""

    number: int
    name: str
    title: str
    summary: str
    text: str

    def cells(self) -> tuple[Cell, ...]:
        """Return prose and code in turn.

        The code of a solution is a part of the prose around it. What code printed, as the web shows it, is left out.
        """
        return tuple(cell for cell in _cells(self.text) if cell.text)

    def solutions(self) -> dict[str, str]:
        """Return exercise → the code that solves it."""
        names = [name for cell in self.cells() if cell.kind == "code" for name in _CHECK.findall(cell.text)]
        return dict(zip(names, _SOLUTION.findall(self.text), strict=True))


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons in their order."""
    package = Path(__file__).parent.parent
    installed, checkout = package / "lessons", package.parent.parent / "docs" / "course"
    folder = installed if installed.is_dir() else checkout
    return tuple(_read(path) for path in sorted(folder.glob("[0-9]*.md")))


def lesson(number: str) -> Lesson:
    """Return a lesson by its number.

    Raises:
        UsageError: there is no lesson of this number.
    """
    found = {str(each.number): each for each in lessons()}
    if number not in found:
        raise UsageError(f"there is no lesson {number!r}; give a number from 1 to {len(found)}")
    return found[number]


def _read(path: Path) -> Lesson:
    text = path.read_text(encoding="utf-8")
    heading, summary, _ = text.split("\n\n", 2)
    number, title = heading.removeprefix("# ").split(". ", 1)
    summary = " ".join(summary.split()).partition(". ")[0].rstrip(".") + "."
    return Lesson(number=int(number), name=path.stem, title=title, summary=summary, text=text)


def _cells(text: str) -> Iterator[Cell]:
    kind: Literal["prose", "code"] = "prose"
    lines: list[str] = []
    folded = printed = False

    def cell() -> Cell:
        return Cell(kind, "\n".join(lines).strip("\n"))

    for line in text.splitlines():
        if printed or line == _OUTPUT:
            printed = line != _END
            continue
        folded = (folded or line == "<details>") and line != _SOLUTION_END
        if line in (_CODE, _END) and not folded:
            yield cell()
            kind, lines = "code" if line == _CODE else "prose", []
            continue
        lines.append(line)
        if line == _SOLUTION_END:  # it stands below its exercise, and the next exercise apart from it
            yield cell()
            lines = []
    yield cell()
