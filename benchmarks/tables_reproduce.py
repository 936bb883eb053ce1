"""The tables of docs/systems, from benchmarks/results/reproduce: one for each file, and `all`."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from benchmarks.tables_common import Document, command_today, computer, read, seeds_in_words, span
from glassformer.cli.output import duration
from glassformer.evaluation.record import Estimate
from glassformer.experiments.published.systems import ENTRIES, VARIANTS, TableEntry
from glassformer.experiments.published.table import HEADINGS, markdown, over_seeds, short

NOT_YET = "not measured yet"

_NAMES = {"literal": "literal", "corrected": "corrected", "default": "our default"}


def read_results(folder: Path) -> dict[str, Document]:
    """Return name of the file → the line that it holds."""
    return {file.stem: read(file) for file in sorted(folder.glob("*.json"))}


def name_of(entry: TableEntry) -> str:
    """Return the name of a line, which is also the name of its file."""
    return f"{entry.system} {entry.data}".replace(" ", "-")


def reproduced(name: str, found: Mapping[str, Document]) -> Iterator[str]:
    """Show a line of `glassformer reproduce` with what it was measured on, or `all` lines.

    Raises:
        ValueError: no line has this name.
    """
    entries = {name_of(entry): entry for entry in ENTRIES}
    if name == "all":
        rows = (_row(entry, found.get(name)) for name, entry in entries.items())
        yield markdown([HEADINGS, *((f"[{row[0]}]({row[0].split()[0]}.md)", *row[1:]) for row in rows)])
    elif name not in entries:
        raise ValueError(f"no line is named {name!r}")
    elif name not in found:
        yield f"This line is {NOT_YET}."
    else:
        line = found[name]
        yield markdown([HEADINGS[2:], _row(entries[name], line)[2:]])
        yield "\n".join(_facts(line))
        for variant, cell in line["cells"].items():
            if cell["epochs"]:
                yield from _epochs(line, variant)


def _row(entry: TableEntry, line: Document | None) -> tuple[str, ...]:
    if line is None:
        cells = [NOT_YET if variant in entry.variants else "–" for variant in VARIANTS]
        return entry.system, entry.data, entry.reported, *cells
    cells = [
        over_seeds([Estimate(**run["accuracy"]) for run in line["cells"][variant]["runs"]])
        if variant in line["cells"] else "–" for variant in VARIANTS
    ]  # fmt: skip
    return line["system"], line["data"], line["reported"], *cells


def _facts(line: Document) -> Iterator[str]:
    for variant, cell in line["cells"].items():
        yield f"- {_NAMES[variant]}: {_of_the_runs(cell)}"
    yield f"- measured on {line['test_rows']:,} test rows of `{line['data']}`"
    machine, used = line["machine"], line["measured_with"]
    processors = _different(each.get("processor", "") for each in used)
    where = computer(machine) + (f" ({processors})" if processors else "")
    yield f"- {where}, threads used: {_different(str(each['threads']) for each in used)}"
    versions = f"torch {_different(each['torch'] for each in used)}, Python {machine['python']}"
    commits = _different(each.get("commit", "")[:10] for each in used)
    yield f"- {versions}, commit {commits or 'unknown'}, `{command_today(line['command'])}`"


def _of_the_runs(cell: Document) -> str:
    runs, first = cell["runs"], cell["runs"][0]

    def mean(figure: str) -> float:
        return statistics.mean(run[figure] for run in runs)

    accuracies = [run["accuracy"]["value"] for run in runs]
    parts = [f"recipe `{cell['recipe']}`", seeds_in_words([run["seed"] for run in runs])]
    if cell["init"] is not None:
        parts.append(f"from the weights `{cell['init']['from']}`")
    if len(runs) > 1:
        parts.append(f"accuracies from {short(min(accuracies))} to {short(max(accuracies))}")
    parts.append(f"weighted F1 {short(mean('weighted_f1'))}")
    if "training_accuracy" in first:
        parts.append(f"training accuracy {short(mean('training_accuracy'))}")
    parts.append(f"{span([run['parameters'] for run in runs])} parameters")  # the vocabulary follows the rows
    parts.append(f"{first['training_rows']:,} training and {cell['validation_rows']:,} validation rows")
    parts.append(f"trained in {duration(mean('training_seconds'))}")
    return ", ".join(parts)


def _epochs(line: Document, variant: str) -> Iterator[str]:
    """Yield the first seed's epochs, then its evaluation, as the documents print them."""
    cell = line["cells"][variant]
    run = cell["runs"][0]
    yield (
        f"<details><summary>{_NAMES[variant]}, seed {run['seed']}, epoch by epoch "
        f"(accuracy on {cell['validation_rows']:,} validation rows)</summary>"
    )
    rows = ((f"{epoch:.0f}", *(f"{figure:.6f}" for figure in figures)) for epoch, *figures in cell["epochs"])
    yield markdown([("epoch", "training loss", "validation loss", "accuracy"), *rows])
    yield (
        f"Epoch {run['best_epoch']} was kept. Evaluation on {line['test_rows']:,} test rows: accuracy "
        f"{run['accuracy']['value']:.6f}, runtime {cell['evaluation_seconds']:.3f} s, "
        f"{cell['evaluation_texts_per_second']:,.1f} samples per second."
    )
    yield "</details>"


def _different(values: Iterable[str]) -> str:
    return ", ".join(value for value in dict.fromkeys(values) if value)
