"""Tables of labels."""

import polars as pl

from glassformer.data.table import Table


def table_of(labels: list[str] | list[list[str]], texts: list[str] | None = None) -> Table:
    frame = pl.DataFrame({"text": texts or [f"text {n}" for n in range(len(labels))], "label": labels})
    return Table(
        frame=frame.with_row_index("row", offset=1),
        source="a.csv",
        text_column="text",
        label_column="label",
        multilabel=bool(labels) and isinstance(labels[0], list),
    )
