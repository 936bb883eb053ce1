"""Check the labels of a table: doubtful ones, contradictions, and texts that occur more than once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl

from glassformer.data.arrays import Array
from glassformer.data.in_memory_rows import as_texts
from glassformer.data.inputs import shown, values_of
from glassformer.data.table import Table
from glassformer.data.wording import counted
from glassformer.errors import UsageError
from glassformer.labels.doubts import FOLDS, folds_apart
from glassformer.labels.findings import (
    CONFLICT,
    DOUBTFUL,
    IN_TEST,
    NEAR_CONFLICT,
    NEAR_REPEAT,
    NEAR_TEST,
    REPEAT,
    LabelCheck,
    knows_nothing,
    schema,
)
from glassformer.labels.repeats import Repeats, silent
from glassformer.labels.truth import NO_DOUBTS, Suggested, Truth
from glassformer.targets.parts import part_of

OnProgress = Callable[[str, float], None]

FEWEST_ROWS = 10


def check_labels(
    texts: Iterable[str],
    labels: Iterable[Any],
    *,
    groups: Iterable[Any] | None = None,
    test_texts: Any = None,
    task: str | None = None,
) -> LabelCheck:
    """Look for wrong labels, contradictions and repeated texts among labelled texts. Row 1 is `texts[0]`.

    Args:
        labels: one label per text: strings, whole numbers or truth values; or a list of labels. In the result they are
            strings.
        groups: a value for each text, such as its author. Texts of a group are held out together.
        task: `number` if the labels are numbers that are learned.

    Raises:
        InputError: the texts or labels cannot be used.
        UsageError: there are fewer than 10 texts.
    """
    kind: type[Truth] = part_of(task, "labels")
    table = kind.in_memory(texts, labels, groups)
    test = None
    if test_texts is not None:
        frame = pl.DataFrame({"text": as_texts(test_texts)}, schema={"text": pl.String}).with_row_index("row", offset=1)
        test = Table(frame=frame, source="test texts", text_column="text", label_column=None)
    return check_table(kind.of(table), test)


def check_table(truth: Truth, test: Table | None = None, *, on_progress: OnProgress = silent) -> LabelCheck:
    """Look for wrong labels, contradictions and repeated texts in a table.

    Each row is answered by a model that has not seen it, nor any row with nearly the same text or of the same
    group. No row of the test table is learned from. If these answers are not clearly better than always the most
    frequent label, nothing is suggested, and no label is doubted. Rows may have several inputs: a text is then the same
    if all texts of the row are, and labels contradict each other only if the columns beside the texts are equal too.

    Args:
        truth: the labels of the table. The column `group` of its frame is respected if there is one.
        on_progress: is called with what is being done, and the share of it that is done.

    Raises:
        UsageError: the table has fewer than 10 rows, or labels that cannot be learned.
    """
    table = truth.table
    if table.frame.height < FEWEST_ROWS:
        rows = counted(table.frame.height, "usable row")
        raise UsageError(f"{table.source} has {rows}; a check of labels needs at least {FEWEST_ROWS}")
    strata, texts = truth.strata, table.frame["text"].to_list()
    others = [] if test is None else test.frame["text"].to_list()
    looking = _told(on_progress, "looking for texts that are nearly the same")
    everything = Repeats.of([*texts, *others], on_progress=looking)
    text_of_row = everything.text_of_row[: len(texts)]
    inside = everything.pairs.second <= text_of_row.max()  # texts are numbered in the order of the rows
    repeats = Repeats(text_of_row=text_of_row, pairs=everything.pairs.some(inside))
    group = table.frame["group"].to_numpy() if "group" in table.frame.columns else None
    groups = repeats.groups(FOLDS, group)
    if len(np.unique(groups)) == 1:
        raise UsageError(f"{table.source}: all rows are of one group or have the same text, so none can be held out")
    folds = folds_apart(strata, groups)
    answers = truth.answers(texts, folds, _told(on_progress, "answering each row by a model that has not seen it"))
    right, baseline_error = truth.agreement(answers)
    curve, doubts, trusted = None, NO_DOUBTS, not knows_nothing(right, baseline_error)
    if trusted:
        curve = truth.curve(texts, folds, answers, _told(on_progress, "learning from parts of the rows"))
        doubts = truth.doubts(answers)
    doubtful, suggested, estimated_wrong = doubts
    found = _Found(truth, answers, trusted=trusted)
    parts = [
        found.of_rows(DOUBTFUL, doubtful, suggested=suggested),
        *_conflicts_and_repeats(found, repeats if table.inputs is None else repeats.by_value([*map(values_of, texts)])),
    ]
    if test is not None:
        parts += _in_test(found, everything, test)
    return LabelCheck(
        findings=pl.concat(parts),
        rows=len(texts),
        labels=truth.names,
        agreement=float(right.mean()),
        majority=float(baseline_error.mean()),
        knows_nothing=not trusted,
        estimated_wrong=estimated_wrong,
        curve=curve,
    )


def _told(on_progress: OnProgress, what: str) -> Callable[[float], None]:
    """Say what is being done, and return what tells the share of it that is done."""
    on_progress(what, 0.0)
    return lambda share: on_progress(what, share)


class _Found:
    """Turns places of rows into findings. Answers are suggested if they are trusted."""

    def __init__(self, truth: Truth, answers: Array, *, trusted: bool) -> None:
        self.truth, self.answers, self.trusted = truth, answers, trusted
        self.frame = truth.table.frame.with_columns(label=pl.Series(truth.cells, dtype=pl.String))
        self.numbers = self.frame["row"].to_numpy()

    def of_rows(
        self,
        why: str,
        rows: Array,
        *,
        suggested: Suggested | None = None,
        other_row: Array | None = None,
        similarity: Array | None = None,
    ) -> pl.DataFrame:
        """Return the findings of a kind.

        Args:
            rows: (findings,) the places of the rows in the table.
            other_row: the numbers of the other rows.
        """
        measure = self.truth.measure
        columns: dict[str, Any] = {
            "row": self.numbers[rows],
            "text": [shown(text) for text in self.frame["text"][rows.tolist()]],
            "label": self.frame["label"][rows.tolist()],
            "why": [why] * len(rows),
            "suggested_label": None if suggested is None else suggested.cells,
            measure: None if suggested is None else suggested.measures,
            "other_row": other_row,
            "similarity": None if similarity is None else np.round(similarity, 3),
        }
        filled = {name: [None] * len(rows) if values is None else values for name, values in columns.items()}
        return pl.DataFrame(filled, schema=schema(measure))

    def of_labels(self, why: str, rows: Array, other: Array, similarity: Array | None = None) -> pl.DataFrame:
        """Return the findings about rows that other rows contradict."""
        suggested = self.truth.suggested(self.answers, rows) if self.trusted else None
        return self.of_rows(why, rows, suggested=suggested, other_row=self.numbers[other], similarity=similarity)


def _conflicts_and_repeats(found: _Found, repeats: Repeats) -> Iterator[pl.DataFrame]:
    """Yield findings about rows with the same text, then those about rows with nearly the same text."""
    text, kinds, numbers = repeats.text_of_row, found.truth.kinds, found.numbers
    _, first = np.unique(text, return_index=True)  # the first row of each text
    unlike = found.truth.unlike(text, found.answers)

    rows = np.flatnonzero(unlike >= 0)
    rows = rows[np.argsort(first[text[rows]], kind="stable")]
    yield found.of_labels(CONFLICT, rows, unlike[rows])

    one, other, similarity = repeats.both_ways()
    differ = found.truth.differ(first[one], first[other], found.answers)  # texts, by their first rows
    near = one, other
    one, other, similarity = repeats.nearest(differ)
    order = np.lexsort((first[one], np.minimum(first[one], first[other]), -similarity))
    one, other, similarity = one[order], other[order], similarity[order]
    yield found.of_labels(NEAR_CONFLICT, first[one], first[other], similarity)

    _, places, of_row = np.unique(np.stack([text, kinds], axis=1), axis=0, return_index=True, return_inverse=True)
    earliest = places[of_row.reshape(-1)]  # the first row with the same text and label
    rows = np.flatnonzero((unlike < 0) & (earliest != np.arange(len(text))))
    yield found.of_rows(REPEAT, rows, other_row=numbers[earliest[rows]])

    equal = kinds[first[near[0]]] == kinds[first[near[1]]]
    one, other, similarity = repeats.nearest(equal & (near[1] < near[0]) & ~np.isin(near[0], one))
    order = np.lexsort((one, -similarity))
    rows = first[one[order]]
    yield found.of_rows(NEAR_REPEAT, rows, other_row=numbers[first[other[order]]], similarity=similarity[order])


def _in_test(found: _Found, everything: Repeats, test: Table) -> Iterator[pl.DataFrame]:
    """Yield findings about rows whose text is in the test table, then about those whose text is nearly in it."""
    rows = len(found.numbers)
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
