"""How many threads a run computes with: one for small steps, which more threads make slower."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from glassformer.training.loop import Observer
from glassformer.training.preparation import Prepared

_LARGE_STEP = 750_000
"""The tokens of a step times the width of the model from which several threads pay. `small` is slower with two threads
on tweets (220,000) and faster on film reviews (1,000,000): see docs/how-to/many-processes.md."""


@contextmanager
def fitting_threads(prepared: Prepared, observer: Observer) -> Iterator[None]:
    """Compute with one thread in the `with` block if the steps of the run are small. `OMP_NUM_THREADS` goes first.

    The number depends on the table and the recipe alone, so a resumed run has the same.
    """
    before = torch.get_num_threads()
    if before == 1 or "OMP_NUM_THREADS" in os.environ or prepared.device != "cpu" or not _small_steps(prepared):
        yield
        return
    observer.on_message(f"computing with one thread in place of {before}, which is faster for small steps")
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _small_steps(prepared: Prepared) -> bool:
    model, training = prepared.recipe.model, prepared.recipe.training
    lengths = np.minimum(prepared.data.train.lengths, model.max_seq_len)
    tokens = min(training.batch_size * float(lengths.mean()), training.batch_tokens)
    return tokens * getattr(model, "d_model", np.inf) < _LARGE_STEP  # not every design has one width
