"""Labels that differ in case, white space or invisible characters alone, and values that mean "missing"."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from glassformer.data.table import Table
from glassformer.data.wording import counted, listed
from glassformer.errors import quoted

STAND_INS = (
    *("n/a", "na", "#n/a", "<na>", "null", "none", "nil", "nan", "-", "--", "?", ".", "\\n", "k.a.", "k. a."),
    *("(null)", "<null>", "(blank)", "(leer)", "(empty)"),
    *("#nv", "#ref!", "#bezug!", "#value!", "#wert!", "#name?", "#div/0!", "#num!", "#zahl!", "#null!"),
)
"""In any case: what programs write where a value is missing or an error."""
_STAND_IN = rf"(?i)^\s*(?:{'|'.join(map(re.escape, STAND_INS))})\s*$"  # a pattern copies no texts
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """One label with several spellings. Each comes with its number of rows, the most frequent spelling first."""

    ways: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """The most frequent spelling."""
        return self.ways[0][0]

    def __str__(self) -> str:
        return " = ".join(f"{quoted(way)} ({rows:,})" for way, rows in self.ways)


def label_key(label: str, levels: str | None = None) -> str:
    """Return a key that ignores case, white space, invisible characters and the Unicode form of a label (NFKC).

    Args:
        levels: what separates the levels of a label. White space around it is ignored too, and levels without a name.
    """
    if levels is not None:
        sign = levels.strip() or levels
        label = sign.join(filter(None, map(str.strip, label.split(sign)))) or label
    visible = "".join(char for char in unicodedata.normalize("NFKC", label) if unicodedata.category(char) != "Cf")
    return " ".join(visible.casefold().split())


def spellings(labels: Iterable[str], levels: str | None = None) -> list[Spelling]:
    """Return the labels with more than one spelling, those with the most rows first."""
    ways: dict[str, list[tuple[str, int]]] = {}
    for label, rows in sorted(Counter(labels).items(), key=lambda counted: (-counted[1], counted[0])):
        ways.setdefault(label_key(label, levels), []).append((label, rows))
    return [Spelling(ways=tuple(each)) for each in ways.values() if len(each) > 1]


def table_spellings(table: Table) -> str | None:
    """Return a message about the labels with several spellings, or None if every label has one spelling.

    It names the setting that joins them and counts the rows of each spelling.
    """
    labels = flat_labels(table)
    found = spellings(labels, table.levels)
    if not found:
        return None
    distinct = labels.n_unique()
    joined = distinct - sum(len(spelling.ways) - 1 for spelling in found)
    shown = listed([*map(str, found)], _SHOWN, between="; ")
    wrong = "some labels differ only by case or white space; `fold_labels=True` joins them"
    return f"{wrong}. {distinct:,} labels would be {joined:,}: {shown}"


def new_labels(new: Table, old: Table) -> str | None:
    """Return a message about the labels of later rows that earlier rows lack, or None."""
    known = flat_labels(old).unique(maintain_order=True).to_list()
    counts = Counter(flat_labels(new).to_list())
    ways = {label_key(name, old.levels): name for name in known}

    def described(label: str) -> str:
        near = ways.get(label_key(label, old.levels))
        differs = "" if near is None else f", which differs from {quoted(near)} only by case or white space"
        return f"{quoted(label)} ({counts[label]:,}){differs}"

    unknown = sorted(counts.keys() - set(known), key=lambda label: (-counts[label], label))
    return f"new labels: {listed([*map(described, unknown)], _SHOWN, between='; ')}" if unknown else None


def joined_spellings(
    labels: Sequence[str], names: Sequence[str] | None = None, levels: str | None = None
) -> dict[str, str]:
    """Return the spelling that replaces each other one: the most frequent one, or the one among `names`.

    A label that is among the names stays as it is. So does a label that matches none or several of them.
    """
    if names is None:
        return {way: spelling.name for spelling in spellings(labels, levels) for way, _ in spelling.ways[1:]}
    ways: dict[str, list[str]] = {}
    for name in names:
        ways.setdefault(label_key(name, levels), []).append(name)
    unknown = [label for label in dict.fromkeys(labels) if label not in names]
    return {label: ways[key][0] for label in unknown if len(ways.get(key := label_key(label, levels), ())) == 1}


def fold_labels(table: Table, names: Sequence[str] | None = None) -> Table:
    """Return the table with one spelling per label (see `joined_spellings`)."""
    labels = flat_labels(table)
    replaced = joined_spellings(labels.to_list() if names is None else labels.unique().to_list(), names, table.levels)
    if not replaced:
        return table
    column = pl.col("label")
    folded = column.replace(replaced)
    if table.multilabel:
        folded = column.list.eval(pl.element().replace(replaced)).list.unique(maintain_order=True)
    changed = int(labels.is_in(list(replaced)).sum())
    some = listed([f"{quoted(way)} as {quoted(name)}" for way, name in replaced.items()], _SHOWN)
    note = f"{counted(changed, 'label')} read in another spelling: {some}"
    return replace(table, frame=table.frame.with_columns(folded), notes=(*table.notes, note))


def stand_ins(table: Table) -> list[str]:
    """Return notes on texts and labels such as `n/a` and `NULL`, which may mean a missing value."""
    notes = []
    columns = {"text": table.frame["text"]} | ({"label": flat_labels(table)} if table.label_column else {})
    for what, values in columns.items():
        found = values.filter(values.str.contains(_STAND_IN)).value_counts(sort=True)
        for value, rows in found.rows()[:_SHOWN]:
            have = counted(rows, f"row has the {what}", f"rows have the {what}")
            notes.append(
                f"{have} {quoted(value)}. If it means that there is no {what}, empty these cells in {table.source}: "
                "such rows are left out"
            )
    return notes


def flat_labels(table: Table) -> pl.Series:
    """Return every label of every row."""
    labels = table.frame["label"]
    return labels.explode(empty_as_null=True).drop_nulls() if table.multilabel else labels
