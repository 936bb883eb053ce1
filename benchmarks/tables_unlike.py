"""The tables of docs/how-it-works/unlike.md, from benchmarks/results/unlike.json."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown, short

_HEADINGS = {
    "words and pairs": "unseen words and pairs",
    "words": "unseen words",
    "distance": "distance",
    "pairs and distance": "words, pairs and distance",
    "probability": "1 − probability",
}


def unlike_tables(found: Document) -> Iterator[str]:
    yield "AUROC, means over the kinds of texts from elsewhere:"
    lines = [
        (table["data"], *(short(_mean_auroc([table], score)) for score in found["scores"])) for table in found["tables"]
    ]
    means = [short(_mean_auroc(found["tables"], score)) for score in found["scores"]]
    headings = tuple(_HEADINGS[score] for score in found["scores"])
    yield markdown([("table", *headings), *lines, ("mean", *means)])
    yield "Called unlike, by unseen words and pairs, with the threshold of the model:"
    of = found["scores"][0]
    others = [kind for table in found["tables"] for kind in table["scores"][of]["elsewhere"]]
    kinds = list(dict.fromkeys([table["data"] for table in found["tables"]] + others))
    rows = [
        (
            table["data"],
            short(table["scores"][of]["threshold"]),
            short(table["scores"][of]["own"]),
            *(
                short(table["scores"][of]["elsewhere"][kind]["unlike"]) if kind != table["data"] else ""
                for kind in kinds
            ),
        )
        for table in found["tables"]
    ]
    yield markdown([("table", "threshold", "its own rows", *kinds), *rows])
    alone = [table["data"] for table in found["tables"] if table["by_counting_alone"]]
    own = ", ".join(f"{table['data']} {table['held_out_rows']:,}" for table in found["tables"])
    yield (
        f"Held-out rows: {own}; at most 1,000 texts of another data set. "
        + (f"Of {', '.join(alone)}, the model answers by counting alone. " if alone else "")
        + f"Seed {found['seed']}."
    )


def _mean_auroc(tables: Sequence[Document], score: str) -> float:
    return statistics.mean(other["auroc"] for table in tables for other in table["scores"][score]["elsewhere"].values())
