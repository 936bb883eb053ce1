"""The record that a comparison of designs leaves, written to `results.json` as it stands."""

from __future__ import annotations

from pydantic import JsonValue

from glassformer.evaluation.designs.effects import Difference, KeyEffect
from glassformer.evaluation.designs.runs import DesignRun
from glassformer.evaluation.result import Estimate, Machine, Record


class DesignData(Record):
    """The table, and which rows each run was measured on. Where every seed has rows of its own to measure on, they
    follow from the table and the seed, and there is no `measured_sha256`."""

    source: str
    rows: int
    sha256: str
    measured_on: str
    measured_rows: int
    measured_sha256: str | None


class DesignSummary(Record):
    """One design over its seeds. `spread` is the standard deviation of its accuracy. Seconds (validation included) and
    tokens per second (padding left out) are means; parameters are those of the first seed, as the vocabulary follows
    the rows. `behind_best` is what the design with the highest mean has over this one; None for that one itself."""

    name: str
    settings: dict[str, JsonValue]
    accuracy: Estimate
    spread: float
    parameters: int
    seconds: float
    tokens_per_second: float
    diverged: int
    behind_best: Difference | None


class DesignComparison(Record):
    """Everything that a comparison found; the page shows nothing that is not in here.

    Designs are sorted by their mean, the highest first. `recipe` is that of the first combination with the first seed.
    `covers` says what the intervals cover. In `runs` the answers row by row are left out; the runs' files have them.
    """

    format: int = 1
    data: DesignData
    varied: dict[str, list[JsonValue]]
    recipe: dict[str, JsonValue]
    seeds: tuple[int, ...]
    budget: str
    designs: tuple[DesignSummary, ...]
    keys: tuple[KeyEffect, ...]
    best: str
    verdict: str
    covers: str
    notes: tuple[str, ...]
    runs: tuple[DesignRun, ...]
    device: str
    threads: int
    versions: dict[str, str]
    machine: Machine
    command: str
    created: str
