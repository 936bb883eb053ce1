"""The page of a comparison of variants, one self-contained HTML file."""

from __future__ import annotations

from html import escape
from pathlib import Path

from glassformer.data.files import write_aside
from glassformer.data.wording import counted
from glassformer.evaluation.charts import Dot, interval_chart, interval_charts
from glassformer.evaluation.report import seconds
from glassformer.evaluation.verdict import p_value, share, signed
from glassformer.experiments.pages import list_of_facts, machine_in_words, sentence, with_interval
from glassformer.experiments.variants.comparison_result import VariantComparison, VariantSummary
from glassformer.experiments.variants.effects import KeyEffect
from glassformer.pages.html import Cells, page, table


def write_page(path: Path, found: VariantComparison) -> None:
    """Write the page. It follows the reader's light or dark scheme."""
    write_aside(path, render_comparison(found))


def render_comparison(found: VariantComparison) -> str:
    """Return the page as HTML. Everything that comes from the user is escaped."""
    sections = {
        "keys": ("What each choice does", "".join(_key(key) for key in found.keys)),
        "variants": ("The variants", _variants(found)),
        "notes": (
            "Notes",
            f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in found.notes)}</ul>" if found.notes else "",
        ),
        "method": ("How this was measured", _method(found)),
    }
    return page(
        f"{', '.join(found.varied)} on {found.data.source}",
        "variants",
        subtitle=f"{len(found.variants)} variants, {len(found.seeds)} seeds each, {escape(found.budget)} per run",
        headline=f'<p class="verdict">{escape(found.verdict)}</p>',
        sections=sections,
        footer=f"glassformer · {found.created}",
    )


def _key(key: KeyEffect) -> str:
    """Return a chart of the values' effects, the verdict in words, and a table of every pair."""
    dots = [Dot(name=value.value, estimate=value.effect, style="first") for value in key.values]
    chart = interval_chart(f"Effect of {key.key}", "accuracy minus the mean of these values", dots, mark=0, narrow=True)
    values = [
        (escape(value.value), [with_interval(value.accuracy, share), with_interval(value.effect, signed)])
        for value in key.values
    ]
    pairs = [
        (
            f"{escape(pair.better)} over {escape(pair.worse)}",
            [
                with_interval(pair.difference, signed),
                p_value(pair.p).removeprefix("p ").removeprefix("= "),
                p_value(pair.holm_p).removeprefix("p ").removeprefix("= "),
                "yes" if pair.beyond_noise else "no",
            ],
        )
        for pair in key.differences
    ]
    return (
        f'<h3>{escape(key.key)}</h3><p>{escape(sentence(key.verdict))}</p><div class="pair"><figure>{chart}</figure>'
        f"{table('Mean over all variants with the value.', ('value', 'accuracy', 'effect'), values)}</div>"
        f"{table('Every pair.', ('', 'difference', 'p', 'p, Holm', 'beyond noise'), pairs)}"
    )


def _variants(found: VariantComparison) -> str:
    dots = [
        Dot(name=variant.name, estimate=variant.accuracy, style="first" if variant.name == found.best else "second")
        for variant in found.variants
    ]
    head = ("variant", "accuracy", "behind the best", "spread", "parameters", "seconds", "tokens/s")
    rows = [(escape(variant.name), _variant_cells(variant)) for variant in found.variants]
    chart = interval_charts("Accuracy of each variant", "mean accuracy with 95% interval", dots)
    intervals = (
        "Variants share seeds and rows. So two intervals may overlap although the difference is beyond noise. "
        "The column “behind the best” is paired and says which differences are."
    )
    return (
        f'<p class="soft">The names are the values of {escape(", ".join(found.varied))}. {intervals}</p>'
        + chart
        + table("The highest mean is first. Spread is the standard deviation over seeds.", head, rows)
    )


def _variant_cells(variant: VariantSummary) -> Cells:
    behind = variant.behind_best
    diverged = f"<small>{variant.diverged} diverged</small>" if variant.diverged else ""
    return [
        with_interval(variant.accuracy, share),
        "–"
        if behind is None
        else f"{share(behind.difference.value)}<small>{p_value(behind.holm_p)}"
        f"{', beyond noise' if behind.beyond_noise else ''}</small>",
        share(variant.spread),
        f"{variant.parameters:,}",
        seconds(variant.seconds),
        f"{variant.tokens_per_second:,.0f}{diverged}",
    ]


def _method(found: VariantComparison) -> str:
    data = found.data
    facts = {
        "data": f"{data.source}, {counted(data.rows, 'row')}",
        "fingerprint": data.sha256,
        "measured on": f"{data.measured_on}: {counted(data.measured_rows, 'row')} per run",
        "budget": f"{found.budget} per run, with the learning-rate schedule stretched over it",
        "seeds": ", ".join(map(str, found.seeds)),
        "command": found.command,
        "versions": ", ".join(f"{name} {version}" for name, version in found.versions.items()),
        "machine": machine_in_words(found.device, found.threads, found.machine),
    }
    return (
        f'{list_of_facts(facts)}<p class="soft">Every run trains for the whole budget and keeps the weights '
        "of the epoch that is best on the validation rows, or the last weights if there are none. The validation rows "
        "are held out from the rows to learn from. The measured rows never influence the choice.</p>"
        f'<p class="soft">Intervals are 95% intervals. They include {escape(found.covers)}. Differences are '
        "paired: all variants of a seed learn from the same rows and answer the same rows. The p-values are those of "
        "t-tests. Holm’s correction covers the pairs of all varied keys together, and separately the pairs of all "
        "variants. A difference is beyond noise if the corrected p is below .05. An effect is a mean over the values "
        "of the other keys. A value may do well with some of them and badly with others; the table of variants shows "
        "that, but no "
        "test here does.</p>"
    )
