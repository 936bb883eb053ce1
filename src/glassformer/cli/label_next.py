"""`glassformer labels --next`: write the unlabelled texts that are worth labelling next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.cli.output import doing, one_line, print_json, say, show
from glassformer.cli.writers import write_columns
from glassformer.errors import UsageError, quoted

if TYPE_CHECKING:
    from glassformer.data.rows import Delimited
    from glassformer.data.table import Table

_SHOWN, _CHARACTERS_SHOWN = 3, 100


def label_next(
    table: Table, number: int, unlabelled: Path, out: Path, *, like: Delimited, safe_csv: bool, json: bool
) -> None:
    """Choose texts, and write them with an empty column of labels."""
    import polars as pl

    from glassformer.data.input_columns import composed
    from glassformer.data.inputs import shown
    from glassformer.data.table import kept_name
    from glassformer.data.wording import counted
    from glassformer.labels.to_label import to_label

    pool = _read(unlabelled, table)
    doing("choosing texts")
    found = to_label(table, pool if table.inputs is None else composed(pool, table.inputs), number)
    columns = {table.text_column: "text"}
    if table.inputs is not None:
        columns |= {name: kept_name(name) for name in table.inputs.names[1:]}
    label = table.label_column or "label"
    inputs = pool.frame.select("row", *(pl.col(column).alias(name) for name, column in columns.items()))
    rows = found.rows.join(inputs, on="row", how="left", maintain_order="left").select(
        "row", *columns, pl.lit("").alias(label), "suggested_label", "probability"
    )
    with write_columns(out, added=[], source=str(out), like=like, safe=safe_csv) as write:
        write(rows, rows.select())
    if json:
        figures = {"new_texts": found.new, "chosen": rows.height}
        print_json({"data": table.source, "unlabelled": str(unlabelled), **figures, "out": str(out)})
        return
    show(f"{unlabelled}: {counted(found.new, 'text')} not in {table.source}; {rows.height:,} chosen")
    for row in found.rows.head(_SHOWN).iter_rows(named=True):
        words = " ".join(shown(row["text"]).split())
        beginning = words if len(words) <= _CHARACTERS_SHOWN else f"{words[: _CHARACTERS_SHOWN - 1]}…"
        show(one_line(f"  row {row['row']}: {beginning}"))
    show(f"\n{out}: fill in the column {label}, and add these rows to {table.source}")
    if rows.height < number:
        say(f"there are no more than {counted(rows.height, 'new text')}")


def _read(unlabelled: Path, table: Table) -> Table:
    """Read the unlabelled texts from the column of the table, if they have it; otherwise it is found.

    The rows of a table with several inputs are not composed yet.
    """
    from glassformer.data.columns import same_column
    from glassformer.data.shards import batches_of, files_of
    from glassformer.data.table import read_table

    doing(f"reading {unlabelled}")
    columns = next(batches_of(files_of(unlabelled), rows_per_batch=1)).columns
    text, inputs = same_column(table.text_column, columns), table.inputs
    others: dict[str, Any] = {}
    if inputs is not None:
        if missing := [name for name in inputs.names if same_column(name, columns) is None]:
            raise UsageError(f"{unlabelled} has no column {quoted(missing[0])}, which {table.source} is read with")
        others = {"other_texts": inputs.texts[1:], "beside": [column.name for column in inputs.columns]}
    pool = read_table(unlabelled, text=text, labelled=False, **others)
    for note in pool.notes:
        say(note)
    return pool
