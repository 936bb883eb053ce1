"""What the tables of results have in common: where they stand, and what is said below them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Document = Mapping[str, Any]
Shown = Callable[[str], Iterable[str]]
"""NAME → the paragraphs and tables that show the result of that name."""
NOT_YET = "Not measured yet."

_BLOCK = re.compile(r"(<!-- ([\w-]+): (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, kinds: Mapping[str, Shown]) -> str:
    """A page with what stands between `<!-- KIND: NAME -->` and `<!-- end -->` written anew.

    Raises:
        KeyError: a kind is not among `kinds`.
    """
    return _BLOCK.sub(lambda block: block[1] + "\n\n".join(kinds[block[2]](block[3])) + "\n" + block[4], text)


def from_file(folder: Path, parts: Callable[[Document], Iterable[str]]) -> Shown:
    """Shows a result file of a folder with its provenance; where there is no such file yet, the page says so."""

    def shown(name: str) -> Iterable[str]:
        file = folder / f"{name}.json"
        if not file.is_file():
            return [NOT_YET]
        found = json.loads(file.read_text(encoding="utf-8"))
        return [*parts(found), _provenance(found)]

    return shown


def seeds_in_words(seeds: Sequence[int]) -> str:
    """ "seed 3", "seeds 0–4": which they were."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}–{seeds[-1]}"


def command_today(command: str) -> str:
    """The command of a result as it is run now: older results were made by scripts, before these were a package."""
    return re.sub(r"^python benchmarks/(\w+)\.py", r"python -m benchmarks.\1", command)


def _provenance(found: Document) -> str:
    machine, versions = found["machine"], found["versions"]
    commit, *changed = found["commit"].split(" ", 1)
    return (
        f"{machine['system']}, {machine['architecture']}, {machine['cores']} cores ({machine['processor']}), threads "
        f"used: {machine['threads']}; torch {versions['torch']}, Python {machine['python']}; commit "
        f"{' '.join([commit[:10], *changed])}; `{command_today(found['command'])}`"
    )
