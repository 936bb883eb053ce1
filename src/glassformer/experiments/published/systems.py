"""The systems, what their documents report, and the runs for each of them.

Reported figures are accuracies as the documents print them, or "none" if a document prints none. They were measured on
other splits, with other vocabularies or after an unknown number of tries. So they are landmarks, not targets.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Literal

VariantName = Literal["literal", "corrected", "default"]
VARIANTS: tuple[VariantName, ...] = ("literal", "corrected", "default")

_QUICK_STEPS = 400


@dataclass(frozen=True, kw_only=True)
class SystemVariant:
    """One way to run a system: a recipe (None is the default recipe), changes to it, and the number of seeds."""

    seeds: int
    recipe: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    from_weights: bool = False
    """Whether it starts from weights that the user names."""


@dataclass(frozen=True, kw_only=True)
class TableEntry:
    """One line of the table: a system on a data set."""

    system: str
    data: str
    reported: str
    """The document's figures in its own words, or why there are none."""
    variants: Mapping[VariantName, SystemVariant]
    quick_in_full: bool = False
    """Whether a first look keeps its runs in full, with fewer seeds, because they are short."""


def quick(entry: TableEntry) -> TableEntry:
    """Return the entry for a first look: one seed with a few hundred steps, or three full runs if they are short."""
    seeds, changes = (3, {}) if entry.quick_in_full else (1, {"training.max_steps": _QUICK_STEPS})
    variants = {
        name: replace(variant, seeds=min(seeds, variant.seeds), overrides={**variant.overrides, **changes})
        for name, variant in entry.variants.items()
    }
    return replace(entry, variants=variants)


def quick_in_words(entries: Sequence[TableEntry]) -> str:
    """Describe the runs of a first look at these entries."""
    whole = list(dict.fromkeys(entry.system for entry in entries if entry.quick_in_full))
    if all(entry.quick_in_full for entry in entries):
        return "few seeds, each run in full"
    but = f" except for full runs of {' and '.join(whole)}" if whole else ""
    return f"few seeds, {_QUICK_STEPS} steps per run{but}"


def _entries() -> Iterator[TableEntry]:
    """Read `systems.toml`."""
    found = tomllib.loads(files(__package__).joinpath("systems.toml").read_text(encoding="utf-8"))
    for line in found["entry"]:
        variants = {name: _variant(line.pop(name), found["sizes"]) for name in VARIANTS if name in line}
        yield TableEntry(**line, variants=variants)


def _variant(line: dict[str, Any], sizes: Mapping[str, Mapping[str, Any]]) -> SystemVariant:
    overrides = {**sizes.get(line.pop("sizes", ""), {}), **line.pop("overrides", {})}
    return SystemVariant(**line, overrides=overrides)


ENTRIES = tuple(_entries())
SYSTEMS = tuple(dict.fromkeys(entry.system.split()[0] for entry in ENTRIES))
