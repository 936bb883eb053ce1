"""The table with the columns reported, literal, corrected and our default. Each figure has its spread."""

import statistics
from collections.abc import Iterable, Iterator, Sequence

from glassformer.evaluation.record import Estimate, Machine, Record
from glassformer.experiments.published.system_run import SystemRun
from glassformer.experiments.published.systems import VARIANTS, VariantName

HEADINGS = ("system", "data", "reported", "literal", "corrected", "our default")


class Cell(Record):
    """The runs of one variant of one system on one data set."""

    variant: VariantName
    runs: tuple[SystemRun, ...]

    def in_words(self) -> str:
        return over_seeds([run.accuracy for run in self.runs])


class Line(Record):
    """One system on one data set."""

    system: str
    data: str
    reported: str
    cells: tuple[Cell, ...]

    def cell(self, variant: VariantName) -> Cell | None:
        return next((cell for cell in self.cells if cell.variant == variant), None)


class Reproduction(Record):
    """Everything that `glassformer reproduce` found: the table and each of its runs."""

    format: int = 1
    quick: bool
    lines: tuple[Line, ...]
    left_out: tuple[str, ...]
    """Why a line is missing, one sentence per line."""
    machine: Machine
    command: str
    created: str


def over_seeds(accuracies: Sequence[Estimate]) -> str:
    """Return mean ± sample standard deviation over seeds, or the value of a single run with its 95% interval.

    The interval is over test rows.
    """
    if len(accuracies) == 1:
        (only,) = accuracies
        return f"{short(only.value)} [{short(only.low)}, {short(only.high)}]"
    values = [accuracy.value for accuracy in accuracies]
    return f"{short(statistics.mean(values))} ± {short(statistics.stdev(values))} ({len(values)} seeds)"


def rows(lines: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table as text, headings first."""
    yield HEADINGS
    for line in lines:
        cells = (line.cell(variant) for variant in VARIANTS)
        yield line.system, line.data, line.reported, *("–" if cell is None else cell.in_words() for cell in cells)


def markdown(lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table. The first line holds the headings."""
    headings, *body = lines
    return "\n".join("| " + " | ".join(row) + " |" for row in [headings, ("---",) * len(headings), *body])


def short(value: float) -> str:
    """Write three decimals without the leading zero."""
    return f"{value:.3f}".removeprefix("0")
