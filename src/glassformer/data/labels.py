"""The classes of a task: their names and order, and labels as numbers."""

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

import numpy as np
import polars as pl

from glassformer.data.arrays import gathered
from glassformer.data.column_kinds import is_near_unique, kind_of
from glassformer.data.column_names import may_name_degree
from glassformer.data.spellings import flat_labels, label_key
from glassformer.data.table import Table, perhaps_repeated, row_list, text_keys
from glassformer.data.wording import counted, in_option, listed
from glassformer.errors import UsageError, brief_value, quoted

MOST_LABELS = 10_000  # a report has a line for each, and the confusion matrix the square of it
LONGEST_LABEL = 1_000  # characters: a name, which tables and pages print
_MOST_SHOWN, _LONGEST_SHOWN = 10, 60
_DEGREES = 3  # two classes have no other order
_USUAL_DEGREES = {"1", "2", "3", "4", "5"}
_BEGINS_AS_DEGREE = re.compile(r"[-+]?[\d.]|★|⭐")  # such as "4 stars"
_ROWS_AT_ONCE = 200_000
_NOT_COPIED = re.compile(r"""['"`\\\x00-\x1f]""")  # a shell, or our own messages, read these in another way


@dataclass(frozen=True, kw_only=True)
class LabelSet:
    """The classes, in the order of the logits. With `multilabel` a text may have several classes, or none.

    With `ordered`, each class is more than the one before it. `levels` separates the levels of a name, if it has some.
    """

    names: tuple[str, ...]
    multilabel: bool = False
    ordered: bool = False
    levels: str | None = None

    @classmethod
    def from_table(cls, table: Table) -> "LabelSet":
        """Collect the labels of a training table. Numbers are sorted by size, other labels by code point.

        Raises `UsageError` if there is nothing to learn: no label, only one class (unless `multilabel`), or a class
        with a single row.
        """
        counts = label_counts(table).sort("label")
        names = in_order(counts["label"].to_list())
        place = table.place(table.label_column)
        if not names:
            raise UsageError(f"{place}: no text has a label, so there is nothing to learn.")
        _refuse_what_is_no_label(counts, place, _is_it_the_column(table))
        if len(names) == 1 and not table.multilabel:
            raise UsageError(
                f"{place}: every row has the label {quoted(names[0])}. A classifier needs at least two classes. "
                f"{_is_it_the_column(table)}"
            )
        if single := counts.filter(pl.col("len") == 1).rows(named=True):
            shown = listed([f"{quoted(label['label'])} (row {label['row']})" for label in single], 5)
            distinct = len(set(map(label_key, names)))
            spellings = _is_it_the_column(table)
            if distinct < len(names):
                spellings = (
                    f"Without case and white space there are {distinct:,} classes: `fold_labels=True` joins them."
                )
            raise UsageError(
                f"{place}: {len(single):,} of {len(names):,} classes {'has' if len(single) == 1 else 'have'} a single "
                f"row: {shown}. A class needs at least two rows; "
                f"add some, merge the class with another, or remove the row. {spellings}"
            )
        if table.order is not None:
            return cls(names=table.order, ordered=True)
        if table.levels is not None and not any(table.levels in name for name in names):
            raise UsageError(
                f"{place}: no label holds {table.levels!r}, for example {quoted(names[0])}; name what stands between "
                f"two levels, or leave out `levels={table.levels!r}`"
            )
        return cls(names=names, multilabel=table.multilabel, levels=table.levels)

    def encode(self, table: Table) -> np.ndarray:
        """Return class numbers, int64 (n_rows,), or with `multilabel` ones and zeros, uint8 (n_rows, n_classes).

        Raises `UsageError` for a label that is not among `names`. The message gives its rows.
        """
        labels = table.frame.select("row", pl.col("label"))
        if self.multilabel != table.multilabel:
            one, several = "one label per text", "several labels per text (`multilabel=`)"
            expected, found = (several, one) if self.multilabel else (one, several)
            raise UsageError(f"{table.source} was read with {found}, the model was trained with {expected}.")
        flat = labels.with_row_index("index")
        if self.multilabel:
            flat = flat.explode("label", empty_as_null=True).drop_nulls()
        parts = list(flat.iter_slices(_ROWS_AT_ONCE)) or [flat]  # Polars takes 40 bytes a row for what follows
        unseen = pl.concat(part.filter(~pl.col("label").is_in(list(self.names))) for part in parts)
        if not unseen.is_empty():
            self._refuse(unseen, table, are_new=unseen.height == flat.height)
        number = dict(zip(self.names, range(len(self.names)), strict=True))
        numbers = gathered(part["label"].replace_strict(number, return_dtype=pl.Int64).to_numpy() for part in parts)
        if not self.multilabel:
            return numbers
        encoded = np.zeros((len(labels), len(self.names)), dtype=np.uint8)
        encoded[flat["index"].to_numpy(), numbers] = 1
        return encoded

    def _refuse(self, unseen: pl.DataFrame, table: Table, *, are_new: bool) -> None:
        label = unseen["label"][0]
        rows = unseen.filter(pl.col("label") == label)["row"].to_list()
        others = unseen["label"].n_unique() - 1
        nor = f", nor {counted(others, 'other label')}" if others else ""
        known = ", ".join(quoted(name) for name in self.names[:10]) + (", …" if len(self.names) > 10 else "")
        same = [name for name in self.names if label_key(name, self.levels) == label_key(label, self.levels)]
        near = difflib.get_close_matches(label[:LONGEST_LABEL], self.names, n=1, cutoff=0.8)
        if len(same) == 1:
            way_out = f"It is {quoted(same[0])} in another spelling: `fold_labels=True` reads it so."
        elif same:
            known_as = " and ".join(map(quoted, same[:3]))
            way_out = f"The model takes {known_as} for different labels; train it again with `fold_labels=True`."
        else:
            hint = f"Did you mean {quoted(near[0])}? " if near else ""
            way_out = f"{hint}Correct these labels, remove the rows, or train with rows of that label."
            if are_new and not near:
                way_out = (
                    "No label of this column is known: name the right column with `label=`. `glassformer predict` "
                    "answers texts that have no label."
                )
        raise UsageError(
            f"{table.place(table.label_column)}: the label {quoted(label)} ({row_list(rows)}) was "
            f"not seen in training{nor}. Known: {known}. {way_out}"
        )


def without_order(table: Table) -> str | None:
    """Return a message if the classes are degrees: by what they begin with and the name of their column, or 1 to 5."""
    if table.order is not None or table.multilabel:
        return None
    names = {*table.frame["label"].drop_nulls().unique()}
    told = may_name_degree(table.label_column or "") and all(map(_BEGINS_AS_DEGREE.match, names))
    if len(names) < _DEGREES or not (told or names == _USUAL_DEGREES):
        return None
    number = "" if any(_number(name) is None for name in names) else ", and `task='number'` a number"
    return (
        f"the values of {quoted(table.label_column)} are learned as classes without an order; `task='ordered'` learns "
        f"their order too{number}"
    )


def label_counts(table: Table) -> pl.DataFrame:
    """Return each label of a table, the number of its rows (`len`) and the first one (`row`), the most frequent first.

    Polars takes up to 30 bytes for each of the rows that it counts together.
    """
    rows = table.frame.select("row", "label")
    parts = (
        (part.explode("label", empty_as_null=True) if table.multilabel else part)
        .drop_nulls("label")
        .group_by("label", maintain_order=True)
        .agg(pl.len(), pl.col("row").first())
        for part in list(rows.iter_slices(_ROWS_AT_ONCE)) or [rows]
    )
    counts = pl.concat(parts).group_by("label", maintain_order=True).agg(pl.col("len").sum(), pl.col("row").first())
    return counts.sort("len", descending=True, maintain_order=True)


def _is_it_the_column(table: Table) -> str:
    """Ask whether the label column is the right one. Of decimal numbers, say so and name columns to use instead."""
    if table.multilabel or kind_of(table.frame["label"]) != "decimal numbers":
        return "Is `label=` the right column?"
    others = ", ".join(map(quoted, table.like_labels[:5]))
    instead = "No other column looks like labels. Labels have few different values, each in several rows."
    if others:
        instead = f"Name a column that looks like labels with `label=`: {others}."
    return f"The column holds numbers with decimals, not classes. {instead} Or learn the number: `task='number'`"


def _refuse_what_is_no_label(counts: pl.DataFrame, place: str, is_it_the_column: str) -> None:
    """Raise `UsageError` if there are too many labels, or labels too long, to show in tables and pages."""
    too_long = counts.filter(pl.col("label").str.len_chars() > LONGEST_LABEL)
    if not too_long.is_empty():
        label, row = too_long["label"][0], too_long["row"][0]
        raise UsageError(
            f"{place}: the label of row {row} has {len(label):,} characters, {quoted(label, most=30)}; a "
            f"label may have at most {LONGEST_LABEL:,}. {is_it_the_column}"
        )
    if len(counts) > MOST_LABELS:
        raise UsageError(
            f"{place}: {len(counts):,} different labels; at most {MOST_LABELS:,} can be learned. {is_it_the_column}"
        )


def ordered_labels(table: Table, order: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the labels of a training table from lowest to highest.

    Raises:
        UsageError: `order` does not name each label once, or labels are not numbers and there is no order.
    """
    place = table.place(table.label_column)
    rows = dict(table.frame.group_by("label").agg(pl.col("row").min()).sort("row").rows())
    if order is None:
        names = in_order(list(rows))
        if odd := next((name for name in names if _number(name) is None), None):
            raise UsageError(
                f"{place}: the label {quoted(odd)} (row {rows[odd]}) is not a number, so the order of the classes is "
                f"not known; {how_to_order(names)}"
            )
        if same := next((pair for pair in pairwise(names) if len(set(map(Decimal, pair))) == 1), None):
            written = " and ".join(f"{quoted(name)} (row {rows[name]})" for name in same)
            raise UsageError(
                f"{place}: the labels {written} are the same number, so neither is more than the other; write them "
                f"alike, or {how_to_order(names).replace('by the alphabet', 'by size')}"
            )
        return names
    check_order(order, {label: f"row {row}" for label, row in rows.items()}, "row", f"{place}: ", UsageError)
    return order


def how_to_order(names: Sequence[str]) -> str:
    """Say how the order of these labels is given, by a command that can be copied, or without their names."""
    if any(len(name) > _LONGEST_SHOWN or _NOT_COPIED.search(name) for name in names):
        return "name them from the lowest to the highest: `order='LOWEST,…,HIGHEST'`"
    some = ",".join([*map(in_option, names[:_MOST_SHOWN]), *(["…"] if names[_MOST_SHOWN:] else [])])
    return f"name them from the lowest to the highest (here by the alphabet): `order={some!r}`"


def check_order(order: Sequence[str], first: Mapping[str, str], unit: str, place: str, error: type[UsageError]) -> None:
    """Raise an error if an order does not name each label once. `first` says where each label stands first."""
    if twice := next((name for name in order if order.count(name) > 1), None):
        raise error(f"{place}`order=` names {quoted(twice)} twice; name each label once")
    absent = [name for name in order if name not in first]
    for label, where in first.items():
        if label not in order:
            near = difflib.get_close_matches(label, absent, n=1)
            hint = f". No {unit} has {quoted(near[0])}: did you mean {quoted(label)}?" if near else ""
            names = brief_value([*order])
            raise error(f"{place}`order=` lacks the label {quoted(label)} ({where}); it names {names}{hint}")
    if absent:
        raise error(f"{place}`order=` names {quoted(absent[0])}, which no {unit} has; leave it out")


def _number(name: str) -> float | None:
    """Return the finite number that a label is, or None."""
    try:
        number = float(name)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def conflicting_rows(table: Table) -> list[list[int]]:
    """Return the rows of each text that occurs with different labels (equal by `text_keys`). The rows are kept.

    Of rows with several inputs, the columns beside the texts must be equal too.
    """
    frame = table.frame.with_columns(label=table.label_keys).filter(perhaps_repeated(table.frame["text"]))
    keys = text_keys(frame["text"]) if table.inputs is None else frame["text"]
    return (
        frame.select("row", keys, "label")
        .filter(keys.is_duplicated())  # most texts occur once, and grouping them would build a list for each
        .group_by("text", maintain_order=True)
        .agg(pl.col("row"), pl.col("label").n_unique().alias("n_labels"))
        .filter(pl.col("n_labels") > 1)["row"]
        .to_list()
    )


def in_order(names: list[str]) -> tuple[str, ...]:
    """Return labels in the order of the logits: numbers by size, others by code point."""
    numbers = {name: number for name in names if (number := _number(name)) is not None}
    return tuple(sorted(names, key=lambda name: (numbers[name], name) if len(numbers) == len(names) else (0, name)))


def labels_of_blocks(table: Table) -> str | None:
    """Return a message if labels seem to stand in the first row of each block of rows alone, or None.

    Then the first row has one, most rows have none, and no two rows that follow each other have one.
    """
    rows, others = table.frame["row"], pl.Series([]) if table.unlabelled is None else table.unlabelled["row"]
    if not 1 < len(rows) <= len(others) or rows[0] > others[0] or (rows.diff().drop_nulls() < 2).any():
        return None
    return (
        f"perhaps each label of the column {quoted(table.label_column)} stands in the first row of its block alone: "
        "fill in the rows below it"
    )


def unlike_labels(table: Table) -> str | None:
    """Return a message if the label column is one that is never guessed, as it holds dates or ids, say, or None."""
    labels = flat_labels(table)
    kind = kind_of(labels)
    if kind in ("words", "whole numbers", "empty"):
        if not is_near_unique(labels):
            return None
        what = "has a different value in nearly every row"
    else:
        what = f"holds {kind}"
    return (
        f"the label column {quoted(table.label_column)} {what}: {counted(labels.n_unique(), 'class', 'classes')} in "
        f"{counted(len(labels), 'row')}. Such columns are rarely classes; `label=` names another one"
    )
