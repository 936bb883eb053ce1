"""The answer to every row of a table by readers that have not seen it: counting, and word vectors beside it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from glassformer.data.arrays import Array
from glassformer.labels.repeats import OnProgress, silent
from glassformer.readers.counting.fitting import held_out_logits as counting_logits
from glassformer.readers.joining import join, log_odds
from glassformer.readers.label_loss import label_loss
from glassformer.readers.reader import Fold, Rows
from glassformer.targets.probabilities import probabilities

if TYPE_CHECKING:
    from glassformer.data.inputs import Inputs
    from glassformer.readers.body.vectors import Body


def rows_of(texts: Sequence[str], labels: Array, names: Sequence[str], inputs: Inputs | None = None) -> Rows:
    """Return labelled rows as readers learn them. Each counts as much as any other.

    Args:
        labels: (rows,) class numbers, or ones and zeros (rows, n_classes) for several labels per text.
        names: (n_classes,)
    """
    weights = np.ones(len(texts), np.float32)
    return Rows(
        texts=texts, truth=labels, width=len(names), weights=weights, loss=label_loss, inputs=inputs, seed=0,
        labels=tuple(names),
    )  # fmt: skip


def held_out_probabilities(rows: Rows, folds: Sequence[Fold], on_progress: OnProgress = silent) -> Array:
    """Return the probabilities (rows, n_classes) of each row. The folds hold out each row once."""
    logits = np.empty((len(rows.texts), rows.width))
    logits[np.concatenate([fold.held_out for fold in folds])] = held_out_logits(rows, folds, on_progress)
    return probabilities(logits, multilabel=rows.truth.ndim == 2)


def held_out_logits(rows: Rows, folds: Sequence[Fold], on_progress: OnProgress = silent) -> Array:
    """Return the logits (rows of the folds, n_classes) of the rows that the folds hold out, in the order of the folds.

    Word vectors of English answer too where `train` would use them by default. They found more wrong labels on every
    table (docs/log.md).
    """
    from glassformer.readers.body.fitting import LEAST_KNOWN, LOOKED_AT, fit_body, share_known

    counting = counting_logits(rows.texts, rows.truth, n_classes=rows.width, folds=folds, on_progress=on_progress)
    if share_known(_english(), rows.texts[:LOOKED_AT]) < LEAST_KNOWN:
        return counting
    body = fit_body(_english(), rows, folds).held_out
    truth = rows.truth[np.concatenate([fold.held_out for fold in folds])]
    prior = log_odds(truth, np.ones(len(truth)), rows.width)
    joined = join([counting, body], truth, multilabel=truth.ndim == 2, prior=prior)
    of_counting, of_body = joined.weights
    return of_counting * counting + of_body * body + joined.prior * prior


@cache
def _english() -> Body:
    from glassformer.readers.body.vectors import DEFAULT_BODY, Body, body_folder

    return Body.load(body_folder(DEFAULT_BODY))
