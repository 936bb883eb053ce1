"""The tables of docs/how-it-works/systems, from benchmarks/results/reproduce: one for each file, and `all`."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.tables_common import Document, command_today, computer, read, seeds_in_words
from glassformer.data.wording import duration
from glassformer.evaluation.record import Estimate
from glassformer.experiments.published.systems import ENTRIES, VARIANTS, TableEntry
from glassformer.experiments.published.table import HEADINGS, markdown, over_seeds, short

NOT_YET = "not measured yet"


def read_results(folder: Path) -> dict[str, Document]:
    """Return name of the file → the line that it holds."""
    return {file.stem: read(file) for file in sorted(folder.glob("*.json"))}


def name_of(entry: TableEntry) -> str:
    """Return the name of a line, which is also the name of its file."""
    return f"{entry.system} {entry.data}".replace(" ", "-")


def reproduced(name: str, found: Mapping[str, Document]) -> Iterator[str]:
    """Show a line of `glassformer reproduce` with what it was measured on, several of them side by side, or `all`.

    Raises:
        ValueError: no line has this name.
    """
    entries = {name_of(entry): entry for entry in ENTRIES}
    if name == "all":
        forms: dict[tuple[str, str], list[tuple[str, ...]]] = {}
        for name, entry in entries.items():
            forms.setdefault((entry.system.split()[0], entry.data), []).append(_row(entry, found.get(name)))
        rows = ((f"[{page}]({page}.md)", *_together(of_one)[1:]) for (page, _), of_one in forms.items())
        yield markdown([HEADINGS, *rows])
    elif "+" in name:
        yield from _side_by_side([found[each] for each in name.split("+")])
    elif name not in entries:
        raise ValueError(f"no line is named {name!r}")
    elif name not in found:
        yield f"This line is {NOT_YET}."
    else:
        line = found[name]
        yield markdown([HEADINGS[2:], _row(entries[name], line)[2:]])
        yield "\n".join(_facts(line))


def _side_by_side(lines: Sequence[Document]) -> Iterator[str]:
    """Show literal lines of one data set that were measured in the same way: a table, and what they share."""
    runs = [_of_the_runs(line["cells"]["literal"]) for line in lines]
    shared = [part for part in runs[0] if all(part in parts for parts in runs)]
    rows = (
        (row[0], row[3], ", ".join(part for part in parts if part not in shared))
        for row, parts in zip(map(_measured, lines), runs, strict=True)
    )
    yield markdown([("system", "literal", "runs"), *rows])
    facts = dict.fromkeys(list(_facts(line))[-1] for line in lines)
    ours = dict.fromkeys(_measured(line)[5] for line in lines)
    yield "\n".join([f"- literal: {', '.join(shared)}", f"- our default: {', '.join(ours)}", *facts])


def _together(forms: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Show the forms of a system in one row: the lowest and the highest of their figures, where these differ."""
    if len(forms) == 1:
        return forms[0]
    return tuple(
        cells[0] if len(set(cells)) == 1 else f"{min(cells).split()[0]} to {max(cells).split()[0]} ({len(cells)} forms)"
        for cells in zip(*forms, strict=True)
    )


def _row(entry: TableEntry, line: Document | None) -> tuple[str, ...]:
    if line is None:
        cells = [NOT_YET if variant in entry.variants else "–" for variant in VARIANTS]
        return entry.system, entry.data, entry.reported, *cells
    return _measured(line)


def _measured(line: Document) -> tuple[str, ...]:
    cells = [
        over_seeds([Estimate(**run["accuracy"]) for run in line["cells"][variant]["runs"]])
        if variant in line["cells"] else "–" for variant in VARIANTS
    ]  # fmt: skip
    return line["system"], line["data"], line["reported"], *cells


def _facts(line: Document) -> Iterator[str]:
    for variant, cell in line["cells"].items():
        if variant != "default":
            yield f"- {variant}: {', '.join(_of_the_runs(cell))}"
    used = line["measured_with"]
    processors = _different(each.get("processor", "") for each in used)
    where = computer(line["machine"]["cores"], processors, _different(str(each["threads"]) for each in used))
    yield f"- {line['test_rows']:,} test rows of `{line['data']}`; {where}; `{command_today(line['command'])}`"


def _of_the_runs(cell: Document) -> list[str]:
    runs, first = cell["runs"], cell["runs"][0]

    def mean(figure: str) -> float:
        return statistics.mean(run[figure] for run in runs)

    accuracies = [run["accuracy"]["value"] for run in runs]
    parts = [f"recipe `{cell['recipe']}`", seeds_in_words([run["seed"] for run in runs])]
    if cell["init"] is not None:
        parts.append(f"from the weights `{cell['init']['from']}`")
    if len(runs) > 1:
        parts.append(f"accuracies {short(min(accuracies))}–{short(max(accuracies))}")
    if "training_accuracy" in first:
        parts.append(f"training accuracy {short(mean('training_accuracy'))}")
    parts.append(f"{first['training_rows']:,} rows in {duration(mean('training_seconds'))}")
    return parts


def _different(values: Iterable[str]) -> str:
    return ", ".join(value for value in dict.fromkeys(values) if value)
