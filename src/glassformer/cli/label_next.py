"""`glassformer labels --next`: write the unlabelled texts that are worth labelling next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.output import doing, one_line, print_json, say, show
from glassformer.cli.writers import write_columns
from glassformer.errors import quoted

if TYPE_CHECKING:
    from glassformer.data.rows import Delimited
    from glassformer.labels.truth import Truth

_SHOWN, _CHARACTERS_SHOWN = 3, 100


def label_next(
    truth: Truth,
    number: int,
    unlabelled: Path,
    out: Path,
    *,
    apply: str | None,
    like: Delimited,
    safe_csv: bool,
    json: bool,
) -> None:
    """Choose texts, and write them with an empty column of labels.

    Args:
        apply: the command that adds them to the table, up to the name of the file; None if the table is not one file.
    """
    from glassformer.data.inputs import shown
    from glassformer.data.wording import counted
    from glassformer.labels.labelled import read_unlabelled, rows_to_label
    from glassformer.labels.to_label import to_label

    doing(f"reading {unlabelled}")
    table = truth.table
    pool = read_unlabelled(unlabelled, table)
    for note in pool.notes:
        say(note)
    doing("choosing texts")
    found = to_label(truth, pool, number)
    rows = rows_to_label(unlabelled, pool, table, found.rows.drop("text"))
    with write_columns(out, added=[], source=str(out), like=like, safe=safe_csv) as write:
        write(rows, rows.select())
    if json:
        figures = {"new_texts": found.new, "chosen": rows.height}
        print_json({"data": table.source, "unlabelled": str(unlabelled), **figures, "out": str(out)})
        return
    show(f"{unlabelled}: {counted(found.new, 'text')} not in {table.source}; {rows.height:,} chosen")
    for row in found.rows.head(_SHOWN).iter_rows(named=True):
        show(one_line(f"  row {row['row']}: {beginning(shown(row['text']), _CHARACTERS_SHOWN)}"))
    label = quoted(table.label_column or "label")
    if apply is None:
        show(f"\n{out}: fill in the column {label}, and add these rows to {table.source}")
    else:
        show(f"\n{out}: {counted(rows.height, 'row')}. Fill in the column {label}")
        say(f"then: {apply} {shlex.quote(str(out))}")
    if rows.height < number:
        say(f"there are no more than {counted(rows.height, 'new text')}")


def beginning(text: str, most: int) -> str:
    """Return a text in one line, cut after so many characters."""
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[: most - 1]}…"
