"""The table of docs/how-to/distil.md, from benchmarks/results/distil.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown, short

_HEADINGS = (
    "model", "answers by", "accuracy", "answers of the teacher", "parameters", "MB on disk", "texts per second",
    "seconds of training",
)  # fmt: skip


def distil_tables(found: Document) -> Iterator[str]:
    for line in found["lines"]:
        more = f", and {line['more_texts']:,} other texts for the student" if line["more_texts"] else ""
        yield (
            f"**`{line['table']}`**: {line['labelled_rows']:,} labelled rows{more}; measured on "
            f"{line['held_out_rows']:,} held-out training rows."
        )
        yield markdown([_HEADINGS, *map(_row, line["models"])])
    yield (
        f"One run each, seed {found['seed']}. Texts per second of processor time. The student's seconds include those "
        "in which its teacher answered."
    )


def _row(model: Document) -> tuple[str, ...]:
    return (
        model["name"],
        model["answers_by"],
        short(model["accuracy"]),
        short(model["agreement"]),
        f"{model['parameters']:,}",
        f"{model['bytes'] / 1e6:.1f}",
        f"{model['texts_per_second']:,.0f}",
        f"{model['training_seconds'] + model['teacher_seconds']:.0f}",
    )
