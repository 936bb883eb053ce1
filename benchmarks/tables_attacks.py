"""The table of docs/attacks.md, from what `pytest tests/attacks --attack-figures FILE` wrote."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.tables_common import NOT_YET
from glassformer.experiments.published.table import markdown

_COUNTS = ("tried", "answered_well", "lost")


def attacks_table(file: Path, suite: Path) -> Iterator[str]:
    """Show a row for each family of attacks, with the first sentence of its file, and the sum."""
    if not file.is_file():
        yield NOT_YET
        return
    found: dict[str, dict[str, int]] = json.loads(file.read_text(encoding="utf-8"))
    rows = [(family, _tries(suite, family), *(str(counts[key]) for key in _COUNTS)) for family, counts in found.items()]
    total = (str(sum(counts[key] for counts in found.values())) for key in _COUNTS)
    yield markdown([("family", "what is tried", "tried", "answered well", "lost"), *rows, ("all", "", *total)])


def _tries(suite: Path, family: str) -> str:
    """The first sentence of the file's docstring."""
    doc = ast.get_docstring(ast.parse((suite / f"test_{family}.py").read_text(encoding="utf-8")))
    return "" if doc is None else doc.split("\n\n")[0].replace("\n", " ").rstrip(".")
