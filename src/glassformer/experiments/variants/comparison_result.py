"""The record that a comparison of variants leaves, written to `results.json` as it stands."""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue

from glassformer.evaluation.result import Estimate, Machine, Record
from glassformer.experiments.variants.effects import Difference, KeyEffect
from glassformer.experiments.variants.variant_run import VariantRun


class ComparedData(Record):
    """The table, and which rows each run was measured on. Where every seed has rows of its own to measure on, they
    follow from the table and the seed, and there is no `measured_sha256`."""

    source: str
    rows: int
    sha256: str
    measured_on: str
    measured_rows: int
    measured_sha256: str | None


class VariantSummary(Record):
    """One variant over its seeds. `spread` is the standard deviation of its accuracy. Seconds (validation included) and
    tokens per second (padding left out) are means; parameters are those of the first seed, as the vocabulary follows
    the rows. `behind_best` is what the variant with the highest mean has over this one; None for that one itself."""

    name: str
    settings: dict[str, JsonValue]
    accuracy: Estimate
    spread: float
    parameters: int
    seconds: float
    tokens_per_second: float
    diverged: int
    behind_best: Difference | None


class VariantComparison(Record):
    """Everything that a comparison found; the page shows nothing that is not in here.

    Variants are sorted by their mean, the highest first. `recipe` is that of the first combination with the first seed.
    `covers` says what the intervals cover. In `runs` the answers row by row are left out; the runs' files have them.
    """

    format: int = 2
    data: ComparedData
    varied: dict[str, list[JsonValue]]
    recipe: dict[str, JsonValue]
    seeds: tuple[int, ...]
    budget: str
    variants: tuple[VariantSummary, ...]
    keys: tuple[KeyEffect, ...]
    best: str
    verdict: str
    covers: str
    notes: tuple[str, ...]
    runs: tuple[VariantRun, ...]
    device: str
    threads: int
    versions: dict[str, str]
    machine: Machine
    command: str
    created: str

    def in_words(self) -> str:
        """What was compared: `norm (rms, layer) on reviews.csv, 5 seeds, 1,000 steps`."""
        keys = ", ".join(f"{key} ({', '.join(map(str, values))})" for key, values in self.varied.items())
        return f"{keys} on {self.data.source}, {len(self.seeds)} seeds, {self.budget}"

    def holds(self, earlier: VariantComparison) -> bool:
        """Whether this one has every run of an earlier one: the same, or one with more values or seeds."""

        def fixed(comparison: VariantComparison) -> tuple[object, ...]:
            recipe = {
                f"{name}.{key}": value
                for name, part in comparison.recipe.items()
                if isinstance(part, dict)
                for key, value in part.items()
                if name != "model" or not {"preset", "design"} & comparison.varied.keys()
            }
            varied = {key if "." in key else f"model.{key}" for key in comparison.varied}
            kept = {key: value for key, value in recipe.items() if key not in varied}
            return (
                kept,
                comparison.varied.keys(),
                comparison.budget,
                comparison.data.sha256,
                comparison.data.measured_sha256,
                comparison.device,
            )

        variants = [variant.settings for variant in self.variants]
        return (
            fixed(self) == fixed(earlier)
            and set(earlier.seeds) <= set(self.seeds)
            and all(variant.settings in variants for variant in earlier.variants)
        )


def read_comparison(file: Path) -> VariantComparison | None:
    """What `results.json` says; none where there is no such file, or none that can be read."""
    try:
        return VariantComparison.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
