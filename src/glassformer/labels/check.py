"""Check the labels of a table: probably wrong ones, contradictions, and texts that occur more than once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from glassformer.data.arrays import Array
from glassformer.data.in_memory import as_table
from glassformer.data.in_memory_rows import as_texts
from glassformer.data.inputs import shown, values_of
from glassformer.data.labels import LabelSet
from glassformer.data.table import Table
from glassformer.data.wording import counted
from glassformer.errors import InputError, UsageError
from glassformer.labels.doubts import FOLDS, doubtful, folds_apart, held_out_probabilities
from glassformer.labels.findings import (
    CONFLICT,
    IN_TEST,
    NEAR_CONFLICT,
    NEAR_REPEAT,
    NEAR_TEST,
    REPEAT,
    SCHEMA,
    WRONG,
    LabelCheck,
)
from glassformer.labels.learning_curve import learning_curve
from glassformer.labels.near import silent
from glassformer.labels.repeats import Repeats

OnProgress = Callable[[str, float], None]

FEWEST_ROWS = 10


def check_labels(
    texts: Iterable[str], labels: Iterable[Any], *, groups: Iterable[Any] | None = None, test_texts: Any = None
) -> LabelCheck:
    """Look for wrong labels, contradictions and repeated texts among labelled texts. Row 1 is `texts[0]`.

    Args:
        labels: one label per text: strings, whole numbers or truth values. In the result they are strings.
        groups: a value for each text, such as its author. Texts of a group are held out together.
        test_texts: texts that should not be among `texts`.

    Raises:
        InputError: the texts or labels cannot be used.
        UsageError: there are fewer than 10 texts, or a text has several labels.
    """
    table, _ = as_table(texts, labels)
    if groups is not None:
        values = list(groups)
        if len(values) <= int(table.frame["row"][-1]) - 1:
            raise InputError(f"{counted(len(values), 'group')} for more texts; give each text its group")
        frame = table.frame.with_columns(group=pl.Series([str(values[row - 1]) for row in table.frame["row"]]))
        table = replace(table, frame=frame)
    test = None
    if test_texts is not None:
        frame = pl.DataFrame({"text": as_texts(test_texts)}, schema={"text": pl.String}).with_row_index("row", offset=1)
        test = Table(frame=frame, source="test texts", text_column="text", label_column=None)
    return check_table(table, test)


def check_table(table: Table, test: Table | None = None, *, on_progress: OnProgress = silent) -> LabelCheck:
    """Look for wrong labels, contradictions and repeated texts in a table.

    Each row is answered by a counting reader that has not seen it, nor any row with nearly the same text or of the same
    group. No row of the test table is learned from. Rows may have several inputs: a text is then the same if all texts
    of the row are, and labels contradict each other only if the columns beside the texts are equal too.

    Args:
        table: with one label per text. The column `group` of its frame is respected if there is one.
        test: a table whose texts should not be in `table`.
        on_progress: is called with what is being done, and the share of it that is done.

    Raises:
        UsageError: the table has fewer than 10 rows, several labels per text, or labels that cannot be learned.
    """
    if table.multilabel:
        raise UsageError(f"{table.source}: only tables with one label per text can be checked")
    if table.frame.height < FEWEST_ROWS:
        rows = counted(table.frame.height, "usable row")
        raise UsageError(f"{table.source} has {rows}; a check of labels needs at least {FEWEST_ROWS}")
    names = LabelSet.from_table(table)
    classes = names.encode(table)
    texts = table.frame["text"].to_list()
    others = [] if test is None else test.frame["text"].to_list()
    looking = "looking for texts that are nearly the same"
    on_progress(looking, 0.0)
    everything = Repeats.of([*texts, *others], on_progress=lambda share: on_progress(looking, share))
    repeats = _among(everything, len(texts))
    group = table.frame["group"].to_numpy() if "group" in table.frame.columns else None
    groups = repeats.groups(FOLDS, group)
    if len(np.unique(groups)) == 1:
        raise UsageError(f"{table.source}: all rows are of one group or have the same text, so none can be held out")
    folds = folds_apart(classes, groups)
    answering = "answering each row by a model that has not seen it"
    on_progress(answering, 0.0)
    probabilities = held_out_probabilities(
        texts, classes, folds, n_classes=len(names.names),
        on_progress=lambda share: on_progress(answering, share),
    )  # fmt: skip
    growing = "learning from parts of the rows"
    curve = learning_curve(
        texts, classes, folds, probabilities.argmax(axis=1) == classes, n_classes=len(names.names),
        on_progress=lambda share: on_progress(growing, share),
    )  # fmt: skip
    doubts = doubtful(probabilities, classes)
    found = _Found(table, names.names, classes, probabilities)
    parts = [
        found.of_rows(WRONG, doubts.rows, suggested=doubts.suggested),
        *_conflicts_and_repeats(
            found, repeats if table.inputs is None else repeats.by_value(list(map(values_of, texts)))
        ),
    ]
    if test is not None:
        parts += _in_test(found, everything, test)
    return LabelCheck(
        findings=pl.concat(parts),
        rows=len(texts),
        labels=names.names,
        agreement=float((probabilities.argmax(axis=1) == classes).mean()),
        majority=float(np.bincount(classes).max() / len(classes)),
        estimated_wrong=doubts.estimated_wrong,
        curve=curve,
    )


def _among(everything: Repeats, rows: int) -> Repeats:
    """Return the repeats among the first so many rows."""
    text_of_row = everything.text_of_row[:rows]
    inside = everything.pairs.second <= text_of_row.max()  # texts are numbered in the order of the rows
    return Repeats(text_of_row=text_of_row, pairs=everything.pairs.some(inside))


class _Found:
    """Turns places of rows into findings."""

    def __init__(self, table: Table, names: tuple[str, ...], classes: Array, probabilities: Array) -> None:
        self.frame, self.names, self.classes, self.probabilities = table.frame, names, classes, probabilities
        self.numbers = table.frame["row"].to_numpy()

    def of_rows(
        self,
        why: str,
        rows: Array,
        *,
        suggested: Array | None = None,
        other_row: Array | None = None,
        similarity: Array | None = None,
    ) -> pl.DataFrame:
        """Return the findings of a kind.

        Args:
            rows: (findings,) the places of the rows in the table.
            suggested: their suggested classes, if it is about labels.
            other_row: the numbers of the other rows.
        """
        columns: dict[str, Any] = {
            "row": self.numbers[rows],
            "text": [shown(text) for text in self.frame["text"][rows.tolist()]],
            "label": self.frame["label"][rows.tolist()],
            "why": [why] * len(rows),
            "suggested_label": None,
            "probability": None,
            "other_row": other_row,
            "similarity": None if similarity is None else np.round(similarity, 3),
        }
        if suggested is not None:
            columns["suggested_label"] = [self.names[number] for number in suggested]
            columns["probability"] = np.round(self.probabilities[rows, suggested], 4)
        filled = {name: [None] * len(rows) if values is None else values for name, values in columns.items()}
        return pl.DataFrame(filled, schema=SCHEMA)


def _conflicts_and_repeats(found: _Found, repeats: Repeats) -> Iterator[pl.DataFrame]:
    """Yield findings about rows with the same text, then those about rows with nearly the same text."""
    text, classes, numbers = repeats.text_of_row, found.classes, found.numbers
    _, first = np.unique(text, return_index=True)  # the first row of each text
    _, cell = np.unique(text * (int(classes.max()) + 1) + classes, return_inverse=True)
    _, first_of_cell = np.unique(cell, return_index=True)  # the first row of each text and label
    labels_of_text = np.bincount(text[first_of_cell])
    conflicting = labels_of_text[text] > 1
    best = found.probabilities.argmax(axis=1)

    rows = np.flatnonzero(conflicting)
    rows = rows[np.argsort(first[text[rows]], kind="stable")]
    yield found.of_rows(CONFLICT, rows, suggested=best[rows], other_row=numbers[_unlike(rows, text, classes, first)])

    agrees = classes[first]  # the class of each text, by its first row
    one, other, similarity = repeats.both_ways()
    one, other, similarity = repeats.nearest(agrees[one] != agrees[other])
    order = np.lexsort((first[one], np.minimum(first[one], first[other]), -similarity))
    one, other, similarity = one[order], other[order], similarity[order]
    rows = first[one]
    yield found.of_rows(
        NEAR_CONFLICT, rows, suggested=best[rows], other_row=numbers[first[other]], similarity=similarity
    )

    rows = np.flatnonzero(~conflicting & (first_of_cell[cell] != np.arange(len(text))))
    yield found.of_rows(REPEAT, rows, other_row=numbers[first[text[rows]]])

    disputed = np.isin(np.arange(len(first)), one)
    one, other, _ = repeats.both_ways()
    one, other, similarity = repeats.nearest((agrees[one] == agrees[other]) & (other < one) & ~disputed[one])
    order = np.lexsort((one, -similarity))
    rows = first[one[order]]
    yield found.of_rows(NEAR_REPEAT, rows, other_row=numbers[first[other[order]]], similarity=similarity[order])


def _unlike(rows: Array, text: Array, classes: Array, first: Array) -> Array:
    """Return for each row of a contradicted text the first row with this text and another label."""
    other = first[text[rows]]
    is_first = classes[other] == classes[rows]
    unlike_first = np.full(len(first), -1)
    for row in np.flatnonzero(np.isin(text, text[rows])).tolist():
        if unlike_first[text[row]] < 0 and classes[row] != classes[first[text[row]]]:
            unlike_first[text[row]] = row
    return np.where(is_first, unlike_first[text[rows]], other)


def _in_test(found: _Found, everything: Repeats, test: Table) -> Iterator[pl.DataFrame]:
    """Yield findings about rows whose text is in the test table, then about those whose text is nearly in it."""
    rows = len(found.classes)
    text, of_test = everything.text_of_row[:rows], everything.text_of_row[rows:]
    test_row = np.full(int(everything.text_of_row.max()) + 1, -1)
    test_row[of_test[::-1]] = test.frame["row"].to_numpy()[::-1]  # the first row with a text stays
    same = np.flatnonzero(test_row[text] >= 0)
    yield found.of_rows(IN_TEST, same, other_row=test_row[text[same]])
    one, other, _ = everything.both_ways()
    near, other, similarity = everything.nearest((test_row[one] < 0) & (test_row[other] >= 0))
    place = np.full(len(test_row), -1)
    place[near] = np.arange(len(near))
    like = np.flatnonzero(place[text] >= 0)
    like = like[np.argsort(-similarity[place[text[like]]], kind="stable")]
    at = place[text[like]]
    yield found.of_rows(NEAR_TEST, like, other_row=test_row[other[at]], similarity=similarity[at])
