"""The tables of docs/how-it-works/systems, from benchmarks/results/reproduce: one for each file, and `all`."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.tables_common import command_today, seeds_in_words
from glassformer.cli.output import duration
from glassformer.experiments.published.systems import ENTRIES, VARIANTS, TableEntry
from glassformer.experiments.published.table import Cell, Line, Reproduction, markdown, rows, short

NOT_YET = "not measured yet"

_NAMES = {"literal": "literal", "corrected": "corrected", "default": "our default"}


def read_results(folder: Path) -> dict[str, Reproduction]:
    """Return name of the file → the one line that it holds, with what it was measured on."""
    files = sorted(folder.glob("*.json"))
    return {file.stem: Reproduction.model_validate_json(file.read_text(encoding="utf-8")) for file in files}


def name_of(line: TableEntry | Line) -> str:
    """Return the name of a line, which is also the name of its file."""
    return f"{line.system} {line.data}".replace(" ", "-")


def reproduced(name: str, found: Mapping[str, Reproduction]) -> Iterator[str]:
    """Show a line of `glassformer reproduce` with what it was measured on, several of them side by side, or `all`.

    Raises:
        ValueError: no line has this name.
    """
    if name == "all":
        yield _whole_table(found)
    elif "+" in name:
        yield from _side_by_side([found[each] for each in name.split("+")])
    elif name not in map(name_of, ENTRIES):
        raise ValueError(f"no line is named {name!r}")
    elif name not in found:
        yield f"This line is {NOT_YET}."
    else:
        (line,) = found[name].lines
        yield markdown([row[2:] for row in rows([line])])
        yield "\n".join(_facts(found[name], line))


def _side_by_side(found: Sequence[Reproduction]) -> Iterator[str]:
    """Show lines of one data set that were measured in the same way: a table, and what all of them stand on."""
    lines = [line for each in found for line in each.lines]
    yield markdown([(row[0], *row[2:]) for row in rows(lines)])
    kept = [list(_facts(each, line)) for each, line in zip(found, lines, strict=True)]
    literal = (f"- {line.system}: {facts[0].removeprefix('- ')}" for line, facts in zip(lines, kept, strict=True))
    yield "\n".join([*literal, *dict.fromkeys(fact for facts in kept for fact in facts[1:])])


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


def _facts(found: Reproduction, line: Line) -> Iterator[str]:
    runs = [run for cell in line.cells for run in cell.runs]
    for cell in line.cells:
        yield f"- {_NAMES[cell.variant]}: {_of_the_runs(cell, brief=cell.variant == 'default')}"
    processors = _different(run.versions.get("processor", "") for run in runs)
    processors = f" ({processors})" if processors else ""
    threads = _different(str(run.threads) for run in runs)
    yield (
        f"- {_different(f'{run.test_rows:,}' for run in runs)} test rows of `{line.data}`; {found.machine.system}, "
        f"{found.machine.architecture}, {found.machine.cores} cores{processors}, threads used: {threads}; "
        f"`{command_today(found.command)}`"
    )


def _of_the_runs(cell: Cell, *, brief: bool) -> str:
    runs, first = cell.runs, cell.runs[0]
    accuracies = cell.accuracies()
    parts = [f"recipe `{first.recipe_name}`", seeds_in_words([run.seed for run in runs])]
    if brief:
        return ", ".join(parts)
    if first.init is not None:
        parts.append(f"from the weights `{first.init['from']}`")
    if len(runs) > 1:
        parts.append(f"accuracies from {short(min(accuracies))} to {short(max(accuracies))}")
    training = [run.training_accuracy for run in runs if run.training_accuracy is not None]
    if training:
        parts.append(f"training accuracy {short(statistics.mean(training))}")
    parts.append(f"{first.training_rows:,} training rows")
    parts.append(f"trained in {duration(statistics.mean(run.training_seconds for run in runs))}")
    return ", ".join(parts)


def _different(values: Iterable[str]) -> str:
    return ", ".join(value for value in dict.fromkeys(values) if value)
