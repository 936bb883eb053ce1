"""The tables of docs/systems, from benchmarks/results/reproduce: one for each file, and `all`."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from benchmarks.tables_common import command_today, seeds_in_words
from glassformer.cli.output import duration
from glassformer.experiments.published.system_run import SystemRun
from glassformer.experiments.published.systems import ENTRIES, VARIANTS, TableEntry
from glassformer.experiments.published.table import Cell, Line, Reproduction, markdown, rows, short

NOT_YET = "not measured yet"

_NAMES = {"literal": "literal", "corrected": "corrected", "default": "our default"}


def read_results(folder: Path) -> dict[str, Reproduction]:
    """What was measured, by the name of its file.

    Raises:
        ValueError: a file is of a first look, or is not named after the one line that it holds.
    """
    found = {}
    for file in sorted(folder.glob("*.json")):
        one = Reproduction.model_validate_json(file.read_text(encoding="utf-8"))
        if one.quick:
            raise ValueError(f"{file.name} is of a first look (--quick), which proves nothing")
        if [name_of(line) for line in one.lines] != [file.stem]:
            raise ValueError(f"{file.name} holds {', '.join(name_of(line) for line in one.lines) or 'no line'}")
        found[file.stem] = one
    return found


def name_of(line: TableEntry | Line) -> str:
    """A line's name, which is that of its file too."""
    return f"{line.system} {line.data}".replace(" ", "-")


def reproduced(name: str, found: Mapping[str, Reproduction]) -> Iterator[str]:
    """A line of `glassformer reproduce` and what it stands on; or `all` lines.

    Raises:
        ValueError: no line has this name.
    """
    if name == "all":
        yield _whole_table(found)
    elif name not in map(name_of, ENTRIES):
        raise ValueError(f"no line is named {name!r}")
    elif name not in found:
        yield f"This line is {NOT_YET}."
    else:
        (line,) = found[name].lines
        yield markdown([row[2:] for row in rows([line])])
        yield "\n".join(_facts(found[name], line))
        yield from (_epochs(cell) for cell in line.cells if cell.variant != "default" and _validated(cell.runs[0]))


def _whole_table(found: Mapping[str, Reproduction]) -> str:
    headings, body = next(rows([])), []
    for entry in ENTRIES:
        if name_of(entry) in found:
            _, row = rows(found[name_of(entry)].lines)
        else:
            cells = (NOT_YET if variant in entry.variants else "–" for variant in VARIANTS)
            row = (entry.system, entry.data, entry.reported, *cells)
        body.append((f"[{row[0]}]({row[0].split()[0]}.md)", *row[1:]))
    return markdown([headings, *body])


def _facts(one: Reproduction, line: Line) -> Iterator[str]:
    """Seeds, sizes, rows, machine, versions, command: what the figures stand on."""
    runs = [run for cell in line.cells for run in cell.runs]
    for cell in line.cells:
        yield f"- {_NAMES[cell.variant]}: {_of_the_runs(cell)}"
    yield f"- measured on {_all(f'{run.test_rows:,}' for run in runs)} test rows of `{line.data}`"
    processors = _all(run.versions.get("processor", "") for run in runs)
    machine = f"{one.machine.system}, {one.machine.architecture}, {one.machine.cores} cores"
    machine += f" ({processors})" if processors else ""
    yield f"- {machine}, threads used: {_all(str(run.threads) for run in runs)}"
    versions = f"torch {_all(run.versions['torch'] for run in runs)}, Python {one.machine.python}"
    commits = _all(run.versions.get("commit", "")[:10] for run in runs)
    yield f"- {versions}, commit {commits or 'unknown'}, `{command_today(one.command)}`"


def _of_the_runs(cell: Cell) -> str:
    runs, first = cell.runs, cell.runs[0]
    accuracies = cell.accuracies()
    parts = [f"recipe `{first.recipe_name}`", seeds_in_words([run.seed for run in runs])]
    if first.init is not None:
        parts.append(f"from the weights `{first.init['from']}`")
    if len(runs) > 1:
        parts.append(f"accuracies from {short(min(accuracies))} to {short(max(accuracies))}")
    parts.append(f"weighted F1 {short(statistics.mean(run.weighted_f1 for run in runs))}")
    training = [run.training_accuracy for run in runs if run.training_accuracy is not None]
    if training:
        parts.append(f"training accuracy {short(statistics.mean(training))}")
    fewest, most = min(run.parameters for run in runs), max(run.parameters for run in runs)
    span = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"  # the vocabulary follows the rows
    parts.append(f"{span} parameters")
    parts.append(f"{first.training_rows:,} training and {first.validation_rows:,} validation rows")
    parts.append(f"trained in {duration(statistics.mean(run.training_seconds for run in runs))}")
    return ", ".join(parts)


def _epochs(cell: Cell) -> str:
    """The first seed's epochs, then its evaluation, as the documents print them."""
    run = cell.runs[0]
    return "\n".join(
        [
            f"<details><summary>{_NAMES[cell.variant]}, seed {run.seed}, epoch by epoch "
            f"(accuracy on {run.validation_rows:,} validation rows)</summary>",
            "",
            epoch_table(run),
            "",
            f"Epoch {run.best_epoch} was kept. Evaluation on {run.test_rows:,} test rows: accuracy "
            f"{run.accuracy.value:.6f}, runtime {run.evaluation_seconds:.3f} s, "
            f"{run.evaluation_texts_per_second:,.1f} samples per second.",
            "",
            "</details>",
        ]
    )


def _validated(run: SystemRun) -> bool:
    """Whether there is something to print by epoch: runs on `zhou` hold nothing out."""
    return "validation_loss" in run.history[-1]


def _all(values: Iterable[str]) -> str:
    """The different ones, in the order that they come."""
    return ", ".join(value for value in dict.fromkeys(values) if value)


def epoch_table(run: SystemRun) -> str:
    """A run's epochs as the documents print them: training loss, validation loss and accuracy."""
    lines: list[tuple[str, ...]] = [("epoch", "training loss", "validation loss", "accuracy")]
    for row in run.history:
        figures = (row["train_loss"], row["validation_loss"], row["validation_accuracy"])
        lines.append((f"{row['epoch']:.0f}", *(f"{figure:.6f}" for figure in figures)))
    return markdown(lines)
