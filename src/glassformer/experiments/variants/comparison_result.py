"""The record of a comparison of variants, which is written to `results.json`."""

from __future__ import annotations

from pathlib import Path

from pydantic import JsonValue

from glassformer.evaluation.record import Estimate, Record
from glassformer.experiments.keeper import Experiment
from glassformer.experiments.variants.effects import Difference, KeyEffect
from glassformer.experiments.variants.variant_run import VariantRun


class ComparedData(Record):
    """The table, and the rows that each run was measured on. `measured_sha256` is None if every seed measures on its
    own rows. These rows follow from the table and the seed."""

    source: str
    rows: int
    sha256: str
    measured_on: str
    measured_rows: int
    measured_sha256: str | None


class VariantSummary(Record):
    """One variant over its seeds. `spread` is the standard deviation of its mean. Seconds (with validation) and
    tokens per second (without padding) are means. `parameters` is that of the first seed, because the vocabulary
    depends on the rows. `behind_best` is the lead of the variant with the highest mean. It is None for that variant
    itself."""

    name: str
    settings: dict[str, JsonValue]
    mean: Estimate
    spread: float
    parameters: int
    seconds: float
    tokens_per_second: float
    diverged: int
    behind_best: Difference | None


class VariantComparison(Experiment):
    """Everything that a comparison found. The page shows nothing else.

    `figure` is the name of what is compared: accuracy or R². Variants are sorted by its mean, the highest first.
    `recipe` is that of the first combination with the first seed. `covers` says what the intervals cover. `runs` does
    not contain the values of the rows. The runs' files do.
    """

    format: int = 3
    data: ComparedData
    figure: str
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

    def in_words(self) -> str:
        """Describe what was compared: `norm (rms, layer) on reviews.csv, 5 seeds, 1,000 steps`."""
        keys = ", ".join(f"{key} ({', '.join(map(str, values))})" for key, values in self.varied.items())
        return f"{keys} on {self.data.source}, {len(self.seeds)} seeds, {self.budget}"

    def holds(self, earlier: VariantComparison) -> bool:
        """Return whether this comparison has every run of an earlier one. It may have more values or seeds."""

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
    """Read `results.json`, or return None if there is no such file or it cannot be read."""
    try:
        return VariantComparison.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
