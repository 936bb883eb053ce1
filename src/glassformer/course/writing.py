"""A lesson as a notebook for Jupyter, or as a script for Python alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from os.path import normpath
from pathlib import Path
from typing import Any

from glassformer.course.lessons import Cell, Lesson
from glassformer.data.files import check_link, write_aside
from glassformer.errors import UsageError

_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)\n*")
_TO_LESSON = re.compile(r"\[([^\]]+)\]\((\d\d)-[\w-]+\.md\)")
_TO_FILE = re.compile(r"\[([^\]]+)\]\(\.\./([\w./-]+)[^)]*\)")
_FOLDED = re.compile(r"<details>.*?</details>\n*", re.DOTALL)


def write_lesson(lesson: Lesson, path: Path, *, overwrite: bool = False) -> None:
    """Write a lesson to a file. Its ending decides: `.ipynb` is a notebook, `.py` a script.

    Raises:
        UsageError: the file has another ending, is already there or a link that leads nowhere; or there is no folder.
    """
    if path.suffix not in FORMATS:
        raise UsageError(f"{path}: a lesson is written as {' or '.join(FORMATS)}")
    check_link(path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")
    if path.exists() and not overwrite:
        raise UsageError(
            f"{path} is already there, perhaps with your answers; choose another `out=`, or `overwrite=True` to "
            "replace it"
        )
    write_aside(path, FORMATS[path.suffix](lesson))


def notebook(lesson: Lesson) -> str:
    """Return the lesson as a notebook (nbformat 4.5). It draws its own figures, so the pictures are left out."""
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "markdown" if cell.kind == "prose" else "code",
            "id": f"cell-{number}",
            "metadata": {},
            "source": cell.text,
        }
        | ({} if cell.kind == "prose" else {"execution_count": None, "outputs": []})
        for number, cell in enumerate(_adapted(lesson))
    ]
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def script(lesson: Lesson) -> str:
    """Return the lesson as a script. Editors such as VS Code show its cells; the solutions are at its end."""
    parts = []
    for cell in _adapted(lesson):
        prose = _FOLDED.sub("", cell.text).strip("\n")
        if cell.kind == "code":
            parts.append(f"# %%\n{cell.text}\n")
        elif prose:
            parts.append(f"# %% [markdown]\n{_commented(prose)}\n")
    solved = [f"Solution of exercise {name}:\n\n{code.rstrip()}" for name, code in lesson.solutions().items()]
    parts.append("# %% [markdown]\n" + _commented("\n\n".join(solved)) + "\n")
    return "\n".join(parts)


FORMATS: Mapping[str, Callable[[Lesson], str]] = {".ipynb": notebook, ".py": script}
"""The ending of a file → what writes a lesson in this format."""


def _adapted(lesson: Lesson) -> list[Cell]:
    """Return the cells without pictures. Links to other pages say where these are."""
    return [cell if cell.kind == "code" else Cell("prose", _without_links(cell.text)) for cell in lesson.cells()]


def _without_links(prose: str) -> str:
    prose = _PICTURE.sub("", prose)
    prose = _TO_LESSON.sub(lambda link: f"{link[1]} (`glassformer course {int(link[2])}`)", prose)
    return _TO_FILE.sub(lambda link: f"{link[1]} ({normpath(f'docs/{link[2]}')})", prose)


def _commented(text: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in text.splitlines())
