"""The accuracies of docs/how-it-works/results.md, and the attacks of docs/how-it-works/attacks.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tables_common import NOT_YET, Document, command_today, read, seeds_in_words
from glassformer.data.wording import duration
from glassformer.experiments.published.table import markdown, short

BASELINE = "TF-IDF + logistic regression"
_HEADINGS = ("data, test rows", "accuracy", BASELINE, "training", "command")


def measured_table(results: Path, names: Sequence[str]) -> list[str]:
    """Show each of these results as a row."""
    found = (read(results / f"{name}.json") for name in names)
    return [markdown([_HEADINGS, *map(_row, found)])]


def _row(found: Document) -> tuple[str, ...]:
    command = command_today(found["command"])
    folds = re.search(r" --folds (\d+)", command)
    rows = f"{folds[1]} folds" if folds else f"{found['runs'][0]['rows']:,}"
    baseline = short(found["baselines"][BASELINE]["accuracy"]["mean"])
    training = duration(found["training_seconds"]["mean"])
    data = command.split()[3]
    return f"`{data}`, {rows}", _accuracy(found, "folds" if folds else "seeds"), baseline, training, f"`{command}`"


def _accuracy(found: Document, runs: str) -> str:
    """Show the mean and deviation over seeds or folds. Show one run with its interval, and equal runs once."""
    accuracy, count = found["accuracy"], len(found["runs"])
    if count == 1:
        only = found["runs"][0]
        interval = f"{short(only['accuracy']['low'])} – {short(only['accuracy']['high'])}"
        return f"{short(accuracy['mean'])} (95% interval {interval}), {seeds_in_words([only['seed']])}"
    if accuracy["min"] == accuracy["max"]:
        return f"{short(accuracy['mean'])} in each of {count} {runs}"
    return f"{short(accuracy['mean'])} ± {short(accuracy['stdev'])} over {count} {runs}"


def attacks_table(file: Path, suite: Path) -> list[str]:
    """Show a row for each family of attacks, with the first sentence of its file in `suite`, and the sum."""
    if not file.is_file():
        return [NOT_YET]
    found = read(file)
    columns = ("tried", "answered_well", "lost", "mended")
    rows = [
        (family, _tries(suite, family), *(str(counts.get(key, "")) for key in columns))
        for family, counts in found.items()
    ]
    total = (str(sum(counts.get(key, 0) for counts in found.values())) for key in columns)
    titles = ("family", "what is tried", "tried", "answered well", "lost", "mended")
    return [markdown([titles, *rows, ("all", "", *total)])]


def _tries(suite: Path, family: str) -> str:
    doc = ast.get_docstring(ast.parse((suite / f"test_{family}.py").read_text(encoding="utf-8"))) or ""
    return doc.split("\n\n")[0].replace("\n", " ").rstrip(".")
