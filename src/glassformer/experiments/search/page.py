"""The page of a search, one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from glassformer.data.files import write_aside
from glassformer.data.wording import counted
from glassformer.evaluation.charts import Dot, interval_chart
from glassformer.experiments.pages import rendered_experiment
from glassformer.experiments.search.effects import FEWEST_TRIALS
from glassformer.experiments.search.halving import DIGITS
from glassformer.experiments.search.result import SearchResult, SettingEffect
from glassformer.experiments.search.rows import PARTS


def write_page(path: Path, found: SearchResult) -> None:
    """Write the page. It follows the reader's light or dark scheme."""
    write_aside(path, render_search(found))


def render_search(found: SearchResult) -> str:
    """Return the page as HTML. Everything that comes from the user is escaped."""
    return rendered_experiment(
        "search",
        found,
        title=f"Search on {found.data.source}",
        fewest_trials=FEWEST_TRIALS,
        parts=PARTS,
        digits=DIGITS,
        searched="; ".join(f"{key}: {', '.join(map(str, values))}" for key, values in found.space.items()),
        effect_chart=_effect_chart,
    )


def _effect_chart(effect: SettingEffect) -> str:
    dots = [
        Dot(name=f"{each.value} ({counted(each.trials, 'trial')})", estimate=each.effect, style="first")
        for each in effect.values
    ]
    return interval_chart(f"Effect of {effect.key}", "loss minus the mean loss", dots, mark=0, narrow=True)
