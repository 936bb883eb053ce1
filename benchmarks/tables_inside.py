"""What explaining and silent taps cost, from benchmarks/results/inside-cost.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, interval
from glassformer.experiments.published.table import markdown


def explaining_tables(found: Document) -> Iterator[str]:
    """Return how long explanations take."""
    heads = ("texts", "words", "median", "95% take less than", "`--counterfactual`", "`--heads`", "`--neighbours`")
    yield markdown(
        [
            heads,
            *(
                (
                    f"{row['texts']} of `{row['data']}`",
                    f"{row['words']:.0f}",
                    f"{row['seconds']['median']:.2f} s",
                    f"{row['seconds']['95%']:.2f} s",
                    *(f"+{max(0.0, row['more_seconds'][extra]):.2f} s" for extra in row["more_seconds"]),
                )
                for row in found["explained"]
            ),
        ]
    )
    yield f"A text of {found['long_text']['words']:,} words took {found['long_text']['seconds']:.0f} s."


def taps_tables(found: Document) -> Iterator[str]:
    """Return what silent taps cost."""
    heads = ("texts at once", "work", "with taps ÷ without", "with taps ÷ with taps")
    yield markdown(
        [
            heads,
            *(
                (
                    f"{row['rows']} of `{row['data']}`",
                    work.replace("_", " "),
                    *(interval(ratio, "{:.3f}".format) for ratio in row[work].values()),
                )
                for row in found["silent_taps"]
                for work in ("answers", "training_step")
            ),
        ]
    )
