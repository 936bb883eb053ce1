"""The tables of docs/how-it-works/faithfulness.md, from benchmarks/results/faithfulness.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, interval
from glassformer.experiments.published.table import markdown, short

_HEADINGS = ("method", "score", "trusted", "comprehensiveness", "sufficiency", "not explained", "time")


def faithfulness_tables(found: Document) -> Iterator[str]:
    for data in found["data"]:
        methods = data["methods"]
        with_reasons = "first" in next(iter(methods.values()))
        quickest = min(figures["seconds"]["value"] for figures in methods.values())
        yield (
            f"**`{data['data']}`**: {data['texts']} held-out texts, half of them longer than {data['words']:.0f} "
            f"words; trained on {data['training_rows']:,} rows, accuracy {short(data['accuracy'])}."
        )
        ranked = sorted(methods.items(), key=lambda item: -item[1]["score"]["value"])
        heads = (*_HEADINGS, "largest share is a true reason") if with_reasons else _HEADINGS
        yield markdown([heads, *(_row(name, figures, quickest) for name, figures in ranked)])
        if with_reasons:
            chance = next(iter(methods.values()))["first_by_chance"]["value"]
            yield f"A word drawn by chance is a true reason in {chance:.0%} of the texts."


def _row(name: str, figures: Document, quickest: float) -> tuple[str, ...]:
    cells = (
        f"`{name}`",
        interval(figures["score"]),
        f"{figures['trusted']['value']:.0%}",
        f"{figures['comprehensiveness']['value']:.2f}",
        f"{figures['sufficiency']['value']:.2f}",
        f"{figures['error']['value'] / figures['margin']['value']:.1%}",
        f"{figures['seconds']['value'] / quickest:.1f} ×",
    )
    return (*cells, short(figures["first"]["value"])) if "first" in figures else cells
