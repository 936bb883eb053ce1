"""Which texts an epoch reads, and in which order: a function of (seed, epoch), their lengths and their classes."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import TypeVar

import numpy as np

from glassformer.data.arrays import Array, IntArray
from glassformer.data.windows import Windows, bucket, chunk, random_windows
from glassformer.training.training_config import TrainingConfig

Step = TypeVar("Step")
PASSES_OF_AN_EPOCH = 1_000
"""The passes of epoch e have the numbers from e times this on."""


def plan_epoch(
    lengths: IntArray, config: TrainingConfig, *, max_seq_len: int, epoch: int, classes: Array
) -> tuple[Windows, list[list[IntArray]]]:
    """Return the windows of an epoch and its steps, each a group of batches. If texts are few, they come repeatedly.

    Args:
        classes: (texts,) what each text is labelled with, by which `training.resample` draws.
    """
    windows = windows_of(lengths, config, max_seq_len=max_seq_len, epoch=epoch, classes=classes)
    first = one_pass(windows, config, epoch * PASSES_OF_AN_EPOCH)
    return windows, first + [
        group
        for i in range(1, _passes(first, config))
        for group in one_pass(windows, config, epoch * PASSES_OF_AN_EPOCH + i)
    ]


def windows_of(lengths: IntArray, config: TrainingConfig, *, max_seq_len: int, epoch: int, classes: Array) -> Windows:
    """Return the windows that a pass of an epoch reads. For `classes`, see `plan_epoch`."""
    if config.resample != "balanced":
        return random_windows(lengths, max_seq_len, seed=config.seed, epoch=epoch)
    rows = balanced_rows(classes, seed=config.seed, epoch=epoch)
    return replace(random_windows(lengths[rows], max_seq_len, seed=config.seed, epoch=epoch), rows=rows)


def balanced_rows(classes: Array, *, seed: int, epoch: int) -> IntArray:
    """Draw equally many rows of each class, together as many as there are rows (rounded up).

    Those of a rare class come repeatedly, all about as often. Of a frequent class some are left out, others in each
    epoch.
    """
    draw, names = np.random.default_rng([seed, epoch, 3]), np.unique(classes)
    each = math.ceil(len(classes) / len(names))
    return np.sort(
        np.concatenate([np.resize(draw.permutation(np.flatnonzero(classes == name)), each) for name in names])
    )


def passes_per_epoch(lengths: IntArray, config: TrainingConfig, *, max_seq_len: int, classes: Array) -> int:
    """Return how often the first epoch reads its texts: once, or as often as it takes to have enough steps."""
    if fewest_steps(len(lengths), config) >= config.min_steps_per_epoch:
        return 1
    windows = windows_of(lengths, config, max_seq_len=max_seq_len, epoch=0, classes=classes)
    return _passes(one_pass(windows, config, 0), config)


def fewest_steps(rows: int, config: TrainingConfig) -> float:
    """Return a number that a pass over so many rows has at least as steps.

    It is known without a plan, which takes hundreds of MB for millions of rows.
    """
    return rows / (config.batch_size * config.accumulation)


def _passes(once: list[list[IntArray]], config: TrainingConfig) -> int:
    return math.ceil(config.min_steps_per_epoch / len(once))


def one_pass(windows: Windows, config: TrainingConfig, number: int) -> list[list[IntArray]]:
    """Return steps in which every window comes once. The number of the pass decides the order."""
    size, seed = config.batch_size, config.seed
    if config.order == "bucketed":
        tokens = config.batch_tokens
        batches = bucket(windows.lengths, batch_tokens=tokens, batch_size=size, seed=seed, epoch=number)
    else:
        shuffled = None if config.order == "as-given" else (seed, number)
        batches = chunk(len(windows.rows), batch_size=size, shuffled=shuffled)
    return [batches[i : i + config.accumulation] for i in range(0, len(batches), config.accumulation)]


def even_parts(rows: IntArray, at_most: int) -> list[IntArray]:
    """Split rows into as few parts as possible, of at most `at_most` rows each and of nearly equal size."""
    return np.array_split(rows, math.ceil(len(rows) / at_most))


def several_passes(steps_of: Callable[[int], list[Step]], epoch: int, *, at_least: int) -> list[Step]:
    """Return the steps of an epoch: of one pass over the data, or of as many passes as give `at_least` steps."""
    steps: list[Step] = []
    for number in count(epoch * PASSES_OF_AN_EPOCH):
        steps += steps_of(number)
        if len(steps) >= at_least:
            break
    return steps
