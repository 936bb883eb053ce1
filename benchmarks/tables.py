"""The result tables of docs/systems and docs/designs.md, written from the committed results.

    python benchmarks/tables.py            # writes every table anew
    python benchmarks/tables.py --check    # writes nothing; names the pages that are out of date, and exits with 1

A table stands between `<!-- results: NAME -->` and `<!-- end -->`. NAME is that of a file in
benchmarks/results/reproduce without its ending, or `all`; for `designs:` it is one in benchmarks/results/designs.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from glassformer.cli.output import duration
from glassformer.data.files import written_aside
from glassformer.evaluation.charts import Dot, interval_chart
from glassformer.evaluation.designs.effects import KeyEffect
from glassformer.evaluation.designs.result import DesignComparison
from glassformer.evaluation.reproduce.runs import SystemRun
from glassformer.evaluation.reproduce.systems import ENTRIES, VARIANTS, Entry
from glassformer.evaluation.reproduce.table import Cell, Line, Reproduction, markdown, rows, short
from glassformer.evaluation.result import Estimate
from glassformer.evaluation.verdict import signed

ROOT = Path(__file__).parent.parent
PAGES, RESULTS = ROOT / "docs" / "systems", ROOT / "benchmarks" / "results" / "reproduce"
DESIGNS = ROOT / "benchmarks" / "results" / "designs"
NOT_YET = "not measured yet"

_DESIGNS_BLOCK = re.compile(r"(<!-- designs: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_BLOCK = re.compile(r"(<!-- results: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_NAMES = {"literal": "literal", "corrected": "corrected", "default": "our default"}


def main() -> None:
    """Write the tables, or say which are not as they would be written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    found = read_results(RESULTS)
    pages = {**dict(filled_pages(PAGES, found)), **design_pages()}
    stale = {
        page: text for page, text in pages.items() if not page.is_file() or text != page.read_text(encoding="utf-8")
    }
    if options.check and stale:
        sys.exit(f"out of date: {', '.join(page.name for page in stale)}; run python benchmarks/tables.py")
    for page, text in stale.items():
        with written_aside(page) as aside:
            aside.write_text(text, encoding="utf-8")
        print(f"wrote {page.relative_to(ROOT)}")


def design_pages() -> dict[Path, str]:
    """The page on designs and its charts, as they should be."""
    comparisons, page = read_comparisons(DESIGNS), ROOT / "docs" / "designs.md"
    charts = {page.with_name(f"designs-{name}.svg"): chart(one) for name, one in comparisons.items()}
    return {page: fill_designs(page.read_text(encoding="utf-8"), comparisons), **charts}


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


def name_of(line: Entry | Line) -> str:
    """A line's name, which is that of its file too."""
    return f"{line.system} {line.data}".replace(" ", "-")


def filled_pages(folder: Path, found: Mapping[str, Reproduction]) -> Iterator[tuple[Path, str]]:
    """Each page with the text that it should have."""
    for page in sorted(folder.glob("*.md")):
        yield page, fill(page.read_text(encoding="utf-8"), found)


def fill(text: str, found: Mapping[str, Reproduction]) -> str:
    """The page with every table written anew.

    Raises:
        ValueError: a table has a name that no line of `glassformer reproduce` has.
    """
    return _BLOCK.sub(lambda block: block[1] + _written(block[2], found) + "\n" + block[3], text)


def _written(name: str, found: Mapping[str, Reproduction]) -> str:
    if name == "all":
        return _whole_table(found)
    if name not in map(name_of, ENTRIES):
        raise ValueError(f"no line is named {name!r}")
    if name not in found:
        return f"This line is {NOT_YET}."
    one = found[name]
    (line,) = one.lines
    parts = [markdown([row[2:] for row in rows([line])]), "\n".join(_facts(one, line))]
    parts += [_epochs(cell) for cell in line.cells if cell.variant != "default" and _validated(cell.runs[0])]
    return "\n\n".join(parts)


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
    yield f"- {versions}, commit {commits or 'unknown'}, `{one.command}`"


def _of_the_runs(cell: Cell) -> str:
    runs, first = cell.runs, cell.runs[0]
    accuracies = cell.accuracies()
    parts = [f"recipe `{first.recipe_name}`", _span([run.seed for run in runs])]
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


def _span(seeds: Sequence[int]) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}–{seeds[-1]}"


def epoch_table(run: SystemRun) -> str:
    """A run's epochs as the documents print them: training loss, validation loss and accuracy."""
    lines: list[tuple[str, ...]] = [("epoch", "training loss", "validation loss", "accuracy")]
    for row in run.history:
        figures = (row["train_loss"], row["validation_loss"], row["validation_accuracy"])
        lines.append((f"{row['epoch']:.0f}", *(f"{figure:.6f}" for figure in figures)))
    return markdown(lines)


def read_comparisons(folder: Path) -> dict[str, DesignComparison]:
    """What was compared, by the name of its file."""
    return {
        file.stem: DesignComparison.model_validate_json(file.read_text(encoding="utf-8"))
        for file in sorted(folder.glob("*.json"))
    }


def fill_designs(text: str, found: dict[str, DesignComparison]) -> str:
    """The page with every comparison written anew (raises `KeyError` for a name without a file)."""
    return _DESIGNS_BLOCK.sub(
        lambda block: block[1] + "\n\n".join(_compared(block[2], found[block[2]])) + "\n" + block[3], text
    )


def chart(found: DesignComparison) -> str:
    """Mean accuracy of every value of every key with its interval, as an SVG file of its own."""
    dots = [
        Dot(name=f"{key.key} = {one.value}", estimate=one.accuracy, style="second" if number % 2 else "first")
        for number, key in enumerate(found.keys)
        for one in key.values
    ]
    css = files("glassformer.evaluation").joinpath("report.css").read_text(encoding="utf-8")
    drawn = interval_chart("Mean accuracy of the designs with each value", "accuracy with 95% interval", dots)
    return drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace(
        "<title", f"<style>{css}</style><title", 1
    )


def _compared(name: str, found: DesignComparison) -> Iterator[str]:
    yield f"![Mean accuracy with its interval for each value of each part](designs-{name}.svg)"
    yield f"**{found.verdict}**"
    yield "\n".join(f"- **{key.key}**: {key.verdict.removeprefix(key.key + ': ')}" for key in found.keys)
    yield markdown(_values(found.keys))
    yield f"Intervals cover {found.covers}."
    yield "\n".join(_compared_facts(found))
    yield "<details><summary>All designs, the best first</summary>"
    yield markdown(_all_designs(found))
    yield "</details>"


def _values(keys: tuple[KeyEffect, ...]) -> Iterator[tuple[str, ...]]:
    yield "part", "value", "mean accuracy", "95% interval", "less the mean of the part"
    for key in keys:
        for one in key.values:
            effect = f"{signed(one.effect.value)} ({signed(one.effect.low)} to {signed(one.effect.high)})"
            yield key.key, one.value, short(one.accuracy.value), _interval(one.accuracy), effect


def _all_designs(found: DesignComparison) -> Iterator[tuple[str, ...]]:
    yield "design", "mean accuracy", "95% interval", "spread over seeds", "parameters", "seconds"
    for one in found.designs:
        yield (
            one.name,
            short(one.accuracy.value),
            _interval(one.accuracy),
            short(one.spread),
            f"{one.parameters:,}",
            f"{one.seconds:.0f}",
        )


def _compared_facts(found: DesignComparison) -> Iterator[str]:
    data, machine = found.data, found.machine
    yield f"- {data.source}, {data.rows:,} training rows; {data.measured_on}"
    yield f"- {len(found.designs)} designs, {len(found.seeds)} seeds each, {found.budget} a run"
    yield f"- {machine.system}, {machine.architecture}, {machine.cores} cores, threads used: {found.threads}"
    trained = duration(sum(run.seconds for run in found.runs))
    yield f"- torch {found.versions['torch']}, {trained} of training in all, `{found.command}`"


def _interval(one: Estimate) -> str:
    return f"{short(one.low)}–{short(one.high)}"


if __name__ == "__main__":
    main()
