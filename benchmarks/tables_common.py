"""What all tables of results share: their place in a page, number formats, and the machine and command below them.

A result file also names the versions and the commit. A page names the commit if the code had been changed since.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from glassformer.experiments.published.table import short

Document = Mapping[str, Any]
Shown = Callable[[str], Iterable[str]]
"""NAME → the paragraphs and tables that show the result of that name."""
NOT_YET = "Not measured yet."

_BLOCK = re.compile(r"(<!-- ([\w-]+): (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, kinds: Mapping[str, Shown]) -> str:
    """Write everything between `<!-- KIND: NAME -->` and `<!-- end -->` of a page anew.

    Raises:
        KeyError: a kind is not among `kinds`.
    """
    return _BLOCK.sub(lambda block: block[1] + "\n\n".join(kinds[block[2]](block[3])) + "\n" + block[4], text)


def read(file: Path) -> Document:
    """Return a result."""
    found: Document = json.loads(file.read_text(encoding="utf-8"))
    return found


def from_file(folder: Path, parts: Callable[[Document], Iterable[str]]) -> Shown:
    """Show a result file of a folder with its provenance, or that there is no such file yet."""

    def shown(name: str) -> Iterable[str]:
        file = folder / f"{name}.json"
        if not file.is_file():
            return [NOT_YET]
        found = read(file)
        return [*parts(found), _provenance(found)]

    return shown


def interval(estimate: Document, form: Callable[[float], str] = short) -> str:
    """Format an estimate: `.797 [.780, .812]`."""
    return f"{form(estimate['value'])} [{form(estimate['low'])}, {form(estimate['high'])}]"


def seeds_in_words(seeds: Sequence[int]) -> str:
    """Format seeds: "seed 3", "seeds 0–4"."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}–{seeds[-1]}"


def means_over(seeds: Sequence[int]) -> str:
    """Format the seeds of a mean: "seed 3", "means over seeds 0–4"."""
    return ("means over " if len(seeds) > 1 else "") + seeds_in_words(seeds)


def over_seeds_and_rows(found: Document) -> str:
    """Say what the means and intervals of a preset are over."""
    seeds = seeds_in_words(found["seeds"])
    return f"Preset `{found['preset']}`, {seeds}: means over the seeds, with 95% intervals over the test rows"


def with_spread(values: Sequence[float]) -> str:
    """Format a mean with its standard deviation: `.797 ± .012`. One value has none."""
    return short(mean(values)) + (f" ± {short(stdev(values))}" if len(values) > 1 else "")


def span(of_seeds: Sequence[int]) -> str:
    """Format counts of several seeds: the one that all have, or the fewest and the most, "90 to 1,200"."""
    fewest, most = min(of_seeds), max(of_seeds)
    return f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"


def computer(cores: int, processor: str, threads: str | int) -> str:
    """Format a machine, and how much of it was used: "2 cores (AMD EPYC), 1 thread"."""
    named = f" ({processor})" if processor else ""
    return f"{cores} cores{named}, {threads} {'thread' if str(threads) == '1' else 'threads'}"


def command_today(command: str) -> str:
    """Return the command that makes a result now. Older results were made by scripts, not by a package."""
    return re.sub(r"^python benchmarks/(\w+)\.py", r"python -m benchmarks.\1", command)


def _provenance(found: Document) -> str:
    machine = found["machine"]
    commit, *changed = found["commit"].split(" ", 1)
    changes = f"commit {commit[:10]} {changed[0]}; " if changed else ""
    return (
        f"{computer(machine['cores'], machine['processor'], machine['threads'])}; {changes}"
        f"`{command_today(found['command'])}`"
    )
