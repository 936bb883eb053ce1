"""What the tables of results have in common: where they stand, and what is said below them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Document = Mapping[str, Any]
Parts = Callable[[Document], Iterator[str]]
"""A result → the paragraphs and tables that show it."""

_BLOCK = re.compile(r"(<!-- ([\w-]+): (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(text: str, kinds: Mapping[str, tuple[Path, Parts]]) -> str:
    """A page with what stands between `<!-- KIND: NAME -->` and `<!-- end -->` written anew.

    NAME is that of a result file without its ending; where there is no such file yet, the page says so.

    Args:
        kinds: KIND → the folder of its results, and how one is shown.

    Raises:
        KeyError: a kind is not among `kinds`.
    """

    def written(block: re.Match[str]) -> str:
        folder, parts = kinds[block[2]]
        file = folder / f"{block[3]}.json"
        if not file.is_file():
            return f"{block[1]}Not measured yet.\n{block[4]}"
        found = json.loads(file.read_text(encoding="utf-8"))
        return block[1] + "\n\n".join([*parts(found), _provenance(found)]) + "\n" + block[4]

    return _BLOCK.sub(written, text)


def seeds_in_words(seeds: Sequence[int]) -> str:
    """ "seed 3", "seeds 0–4": which they were."""
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}–{seeds[-1]}"


def _provenance(found: Document) -> str:
    machine, versions = found["machine"], found["versions"]
    commit, *changed = found["commit"].split(" ", 1)
    return (
        f"{machine['system']}, {machine['architecture']}, {machine['cores']} cores ({machine['processor']}), threads "
        f"used: {machine['threads']}; torch {versions['torch']}, Python {machine['python']}; commit "
        f"{' '.join([commit[:10], *changed])}; `{found['command']}`"
    )
