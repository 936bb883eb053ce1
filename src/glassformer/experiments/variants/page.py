"""The page of a comparison of variants, one self-contained HTML file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from glassformer.data.files import write_aside
from glassformer.evaluation.charts import Dot, interval_chart, interval_charts
from glassformer.experiments.pages import rendered_experiment
from glassformer.experiments.variants.comparison_result import VariantComparison
from glassformer.experiments.variants.effects import KeyEffect


def write_page(path: Path, found: VariantComparison) -> None:
    """Write the page. It follows the reader's light or dark scheme."""
    write_aside(path, render_comparison(found))


def render_comparison(found: VariantComparison) -> str:
    """Return the page as HTML. Everything that comes from the user is escaped."""
    return rendered_experiment(
        "variants",
        found,
        title=f"{', '.join(found.varied)} on {found.data.source}",
        effect_chart=partial(_effect_chart, found.figure),
        variant_charts=_variant_charts,
    )


def _effect_chart(figure: str, key: KeyEffect) -> str:
    dots = [Dot(name=value.value, estimate=value.effect, style="first") for value in key.values]
    return interval_chart(f"Effect of {key.key}", f"{figure} minus the mean of these values", dots, mark=0, narrow=True)


def _variant_charts(found: VariantComparison) -> str:
    dots = [
        Dot(name=variant.name, estimate=variant.mean, style="first" if variant.name == found.best else "second")
        for variant in found.variants
    ]
    name = found.figure[:1].upper() + found.figure[1:]
    return interval_charts(f"{name} of each variant", f"mean {found.figure} with 95% interval", dots)
