"""How many threads a run computes with: few for small steps, which too many threads make slower."""

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from glassformer.data.wording import counted
from glassformer.training.loop import Observer
from glassformer.training.preparation import Prepared

_NUMBERS_OF_A_THREAD = 40_000
"""The numbers of a layer (tokens of a step times the width of the model) for which a thread pays: torch splits no
operation into parts of fewer than 32,768. With two threads on two cores, a step of 44,000 numbers (`tiny` on questions)
is slower than with one, and steps of 87,000 (`small` on questions) or more are faster. More than two were not
measured."""


_CONTAINER_LIMIT = Path("/sys/fs/cgroup/cpu.max")


@contextmanager
def fitting_threads(prepared: Prepared, observer: Observer) -> Iterator[None]:
    """Compute with fewer threads in the `with` block if the steps of the run are small. `OMP_NUM_THREADS` goes first.

    The number depends on the machine, the table and the recipe alone, so a resumed run has the same.
    """
    before = torch.get_num_threads()
    paying, allowed = max(1, _numbers(prepared) // _NUMBERS_OF_A_THREAD), _cores_of_the_container()
    fitting = int(min(before, paying, allowed))
    if before == fitting or "OMP_NUM_THREADS" in os.environ or prepared.device != "cpu":
        yield
        return
    observer.on_message(
        f"computing with {counted(fitting, 'thread')} in place of {before}, as "
        f"{'each step is small' if paying <= allowed else 'this container may use no more cores'}; "
        "`OMP_NUM_THREADS` sets another number"
    )
    torch.set_num_threads(fitting)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _cores_of_the_container() -> float:
    """Return how many cores the container may use, rounded up. torch counts those of the machine."""
    try:
        quota, period = _CONTAINER_LIMIT.read_text().split()
        return math.ceil(int(quota) / int(period))
    except (OSError, ValueError):  # no such limit, or "max"
        return math.inf


def _numbers(prepared: Prepared) -> int:
    """Return the mean number of tokens of a step times the width of the model."""
    model, training = prepared.recipe.model, prepared.recipe.training
    lengths = np.minimum(prepared.data.train.lengths, model.max_seq_len)
    tokens = min(training.batch_size * float(lengths.mean()), training.batch_tokens)
    return int(tokens * getattr(model, "d_model", sys.maxsize))  # not every design has one width
