"""The order in which a run reads its texts: a function of (seed, epoch) and the lengths of the texts."""

from __future__ import annotations

import math

from glassformer.data.batches import Windows, bucket, chunk, random_windows
from glassformer.data.store import IntArray
from glassformer.training.config import TrainingConfig


def plan_epoch(
    lengths: IntArray, config: TrainingConfig, *, max_seq_len: int, epoch: int
) -> tuple[Windows, list[list[IntArray]]]:
    """What the texts show in an epoch, and its steps, each a group of batches; few texts come several times."""
    windows = random_windows(lengths, max_seq_len, seed=config.seed, epoch=epoch)
    first = one_pass(windows, config, epoch * 1_000)
    passes = math.ceil(config.min_steps_per_epoch / len(first))
    return windows, first + [group for i in range(1, passes) for group in one_pass(windows, config, epoch * 1_000 + i)]


def one_pass(windows: Windows, config: TrainingConfig, number: int) -> list[list[IntArray]]:
    """Steps in which every window comes once; each pass, by its number, in an order of its own."""
    size, seed = config.batch_size, config.seed
    if config.order == "bucketed":
        tokens = config.batch_tokens
        batches = bucket(windows.lengths, batch_tokens=tokens, batch_size=size, seed=seed, epoch=number)
    else:
        shuffled = None if config.order == "as-given" else (seed, number)
        batches = chunk(len(windows.rows), batch_size=size, shuffled=shuffled)
    return [batches[i : i + config.accumulation] for i in range(0, len(batches), config.accumulation)]
