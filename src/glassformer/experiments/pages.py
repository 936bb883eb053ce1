"""The page of a search and that of a comparison of variants: one self-contained HTML file each.

They follow the reader's light or dark scheme. Everything that comes from the user is escaped.
"""

from functools import partial
from typing import Any

from glassformer.data.wording import counted
from glassformer.evaluation.charts import Dot, interval_chart, interval_charts
from glassformer.evaluation.report import seconds
from glassformer.evaluation.verdict import p_value, share, signed
from glassformer.experiments.search.effects import FEWEST_TRIALS
from glassformer.experiments.search.result import SearchResult, SettingEffect
from glassformer.experiments.search.rows import PARTS
from glassformer.experiments.search.trial import DIGITS
from glassformer.experiments.variants.comparison_result import VariantComparison
from glassformer.experiments.variants.effects import KeyEffect
from glassformer.pages.html import rendered


def search_page(found: SearchResult) -> str:
    return _rendered(
        "search",
        found,
        title=f"Search on {found.data.source}",
        fewest_trials=FEWEST_TRIALS,
        parts=PARTS,
        digits=DIGITS,
        searched="; ".join(f"{key}: {', '.join(map(str, values))}" for key, values in found.space.items()),
        effect_chart=_setting_chart,
    )


def comparison_page(found: VariantComparison) -> str:
    return _rendered(
        "variants",
        found,
        title=f"{', '.join(found.varied)} on {found.data.source}",
        effect_chart=partial(_key_chart, found.figure),
        variant_charts=_variant_charts,
    )


def _setting_chart(effect: SettingEffect) -> str:
    dots = [
        Dot(name=f"{each.value} ({counted(each.trials, 'trial')})", estimate=each.effect, style="first")
        for each in effect.values
    ]
    return interval_chart(f"Effect of {effect.key}", "loss minus the mean loss", dots, mark=0, narrow=True)


def _key_chart(figure: str, key: KeyEffect) -> str:
    dots = [Dot(name=value.value, estimate=value.effect, style="first") for value in key.values]
    return interval_chart(f"Effect of {key.key}", f"{figure} minus the mean of these values", dots, mark=0, narrow=True)


def _variant_charts(found: VariantComparison) -> str:
    dots = [
        Dot(name=variant.name, estimate=variant.mean, style="first" if variant.name == found.best else "second")
        for variant in found.variants
    ]
    name = found.figure[:1].upper() + found.figure[1:]
    return interval_charts(f"{name} of each variant", f"mean {found.figure} with 95% interval", dots)


def _rendered(kind: str, found: Any, **values: Any) -> str:
    wording = {"p_value": p_value, "seconds": seconds, "sentence": _sentence, "share": share, "signed": signed}
    return rendered(
        f"experiments/{kind}/page",
        kind=kind,
        found=found,
        measured_with=_measured_with,
        **wording,
        **values,
    )


def _sentence(text: str) -> str:
    """Return a remark as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def _measured_with(found: Any) -> dict[str, str]:
    """Return by which command, with which versions and on which machine something was measured."""
    machine = found.machine
    return {
        "command": found.command,
        "versions": ", ".join(f"{name} {version}" for name, version in found.versions.items()),
        "machine": f"{found.device}, {counted(found.threads, 'thread')}; {counted(machine.cores, 'core')}, "
        f"{machine.architecture}, {machine.system}, Python {machine.python}",
    }
