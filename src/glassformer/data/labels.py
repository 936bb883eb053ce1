"""The classes of a task: their names and order, and labels as numbers."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from glassformer.data.table import Table, row_list, text_keys
from glassformer.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class LabelSet:
    """The classes in the order of the logits; with `multilabel` a text may have several of them, or none."""

    names: tuple[str, ...]
    multilabel: bool = False

    @classmethod
    def from_table(cls, table: Table) -> "LabelSet":
        """The labels of a training table, by size when all are numbers, else by code point.

        Raises `UsageError` when there is nothing to learn: no label, one class only (unless `multilabel`), or a class
        with a single row.
        """
        labels = table.frame.select("row", pl.col("label"))
        if table.multilabel:
            labels = labels.explode("label", empty_as_null=True).drop_nulls()
        counts = labels.group_by("label").agg(pl.len(), pl.col("row").first()).sort("label")
        names = _in_order(counts["label"].to_list())
        place = f"{table.source}, column {table.label_column!r}"
        if not names:
            raise UsageError(f"{place}: no text has a label, so there is nothing to learn.")
        if len(names) == 1 and not table.multilabel:
            raise UsageError(
                f"{place}: every row has the label {names[0]!r}. A classifier needs at least two classes; "
                f"is --label the right column?"
            )
        if single := counts.filter(pl.col("len") == 1).rows(named=True):
            shown = ", ".join(f"{entry['label']!r} (row {entry['row']})" for entry in single[:5])
            more = f" and {len(single) - 5} more" if len(single) > 5 else ""
            raise UsageError(
                f"{place}: {len(single)} of {len(names)} classes {'has' if len(single) == 1 else 'have'} a single row: "
                f"{shown}{more}. A class needs "
                f"at least two rows; add some, merge the class with another, or remove the row. "
                f"Is --label the right column?"
            )
        return cls(names=names, multilabel=table.multilabel)

    def encode(self, table: Table) -> np.ndarray:
        """Class numbers, int64 (n_rows,); with `multilabel` ones and zeros, uint8 (n_rows, n_classes).

        Raises `UsageError` for a label that is not among `names`, with its rows.
        """
        labels = table.frame.select("row", pl.col("label"))
        if self.multilabel != table.multilabel:
            one, several = "one label per text", "several labels per text (--multilabel)"
            expected, found = (several, one) if self.multilabel else (one, several)
            raise UsageError(f"{table.source} was read with {found}, the model was trained with {expected}.")
        flat = labels.with_row_index("index")
        if self.multilabel:
            flat = flat.explode("label", empty_as_null=True).drop_nulls()
        unseen = flat.filter(~pl.col("label").is_in(list(self.names)))
        if not unseen.is_empty():
            self._refuse(unseen, table)
        numbers = flat["label"].replace_strict(list(self.names), list(range(len(self.names))), return_dtype=pl.Int64)
        if not self.multilabel:
            return numbers.to_numpy()
        encoded = np.zeros((len(labels), len(self.names)), dtype=np.uint8)
        encoded[flat["index"].to_numpy(), numbers.to_numpy()] = 1
        return encoded

    def _refuse(self, unseen: pl.DataFrame, table: Table) -> None:
        label = unseen["label"][0]
        rows = unseen.filter(pl.col("label") == label)["row"].to_list()
        others = unseen["label"].n_unique() - 1
        known = ", ".join(self.names[:20]) + ("…" if len(self.names) > 20 else "")
        raise UsageError(
            f"{table.source}, column {table.label_column!r}: the label {label!r} ({row_list(rows)}) was not seen in "
            f"training{f', nor others ({others} in all)' if others else ''}. Known: {known}. "
            f"Rename or remove these rows, or train with rows of that label."
        )


def label_name(label: object) -> str:
    """A label of any type as a table gives it: a whole number is one without ".0"."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def conflicting_rows(table: Table) -> list[list[int]]:
    """The rows of each text (equal by `text_keys`) that occurs with different labels; such rows are kept."""
    label = pl.col("label").list.sort().list.join("\0") if table.multilabel else pl.col("label")
    keys = text_keys(table.frame["text"])
    return (
        table.frame.select("row", keys, "label")
        .filter(keys.is_duplicated())  # most texts occur once; grouping all of them takes a list for each
        .with_columns(label)
        .group_by("text", maintain_order=True)
        .agg(pl.col("row"), pl.col("label").n_unique().alias("n_labels"))
        .filter(pl.col("n_labels") > 1)["row"]
        .to_list()
    )


def _in_order(names: list[str]) -> tuple[str, ...]:
    try:
        numbers = {name: float(name) for name in names}
    except ValueError:
        return tuple(sorted(names))
    if not all(map(math.isfinite, numbers.values())):
        return tuple(sorted(names))
    return tuple(sorted(names, key=lambda name: (numbers[name], name)))
