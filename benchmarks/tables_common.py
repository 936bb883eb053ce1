"""What all tables of results share: their place in a page, number formats, and the machine and command below them.

A result file also names the versions and the commit. A page names the commit if the code had been changed since.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
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


def from_file(folder: Path, parts: Callable[[Document], Iterable[str]]) -> Shown:
    """Show a result file of a folder with its provenance, or that there is no such file yet."""

    def shown(name: str) -> Iterable[str]:
        file = folder / f"{name}.json"
        if not file.is_file():
            return [NOT_YET]
        found = json.loads(file.read_text(encoding="utf-8"))
        return [*parts(found), _provenance(found)]

    return shown


def interval(estimate: Document, form: Callable[[float], str] = short) -> str:
    """Format an estimate: `.797 [.780, .812]`."""
    return f"{form(estimate['value'])} [{form(estimate['low'])}, {form(estimate['high'])}]"


def seeds_in_words(seeds: Sequence[int]) -> str:
    """Format seeds: "seed 3", "seeds 0–4"."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}–{seeds[-1]}"


def command_today(command: str) -> str:
    """Return the command that makes a result now. Older results were made by scripts, not by a package."""
    return re.sub(r"^python benchmarks/(\w+)\.py", r"python -m benchmarks.\1", command)


def _provenance(found: Document) -> str:
    machine = found["machine"]
    commit, *changed = found["commit"].split(" ", 1)
    changes = f"commit {commit[:10]} {changed[0]}; " if changed else ""
    return (
        f"{machine['system']}, {machine['architecture']}, {machine['cores']} cores ({machine['processor']}), threads "
        f"used: {machine['threads']}; {changes}`{command_today(found['command'])}`"
    )
