"""Supervised fine-tuning: a language model learns to give the completions of its records (Ouyang et al. 2022, §3.5).

Only the tokens of completions have a loss. Several pairs share a window, and no token attends beyond its own pair.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from glassformer.alignment.alignment_config import FineTuningConfig
from glassformer.alignment.pairs import ReadPair
from glassformer.data.arrays import IntArray
from glassformer.data.batches import ModelInputs
from glassformer.data.tokenizers import PAD_ID, START_ID
from glassformer.training.language_modelling import IGNORED, count_tokens, measure_tokens, token_cost
from glassformer.training.order import even_parts, several_passes
from glassformer.training.task import Cost, Examples


class Completions:
    """The training task of fine-tuning: predict the tokens of completions. Tokens of prompts have no loss.

    Each epoch packs the pairs into windows in a new random order. No token attends beyond its own pair.

    Args:
        train: pairs that fit into the window.
    """

    unit = "tokens"

    def __init__(
        self, train: Sequence[ReadPair], config: FineTuningConfig, *, window: int, held_out: Sequence[ReadPair] = ()
    ) -> None:
        self.train, self.config, self.window = list(train), config, window
        self.held_out = [pack([held_out[i] for i in row], window) for row in windows(held_out, window)]

    def steps(self, epoch: int) -> Sequence[Callable[[], list[Examples]]]:
        return several_passes(self._pass, epoch, at_least=self.config.min_steps_per_epoch)

    def _pass(self, number: int) -> list[Callable[[], list[Examples]]]:
        rng = np.random.default_rng([self.config.seed, number])
        shuffled = [self.train[i] for i in rng.permutation(len(self.train))]
        packed = windows(shuffled, self.window)
        size = self.config.batch_size * self.config.accumulation
        return [
            partial(self._assemble, shuffled, packed, rows) for rows in even_parts(rng.permutation(len(packed)), size)
        ]

    def _assemble(self, pairs: list[ReadPair], packed: list[list[int]], rows: IntArray) -> list[Examples]:
        parts = even_parts(rows, self.config.batch_size)
        return [stack([pack([pairs[i] for i in packed[row]], self.window) for row in part]) for part in parts]

    def weight(self, examples: Examples) -> float:
        return count_tokens(examples)

    def count(self, examples: Examples) -> int:
        return int(examples.inputs.attention_mask.sum())

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        return Cost(token_cost(model, examples))

    def validate(self, model: nn.Module) -> dict[str, float]:
        if not self.held_out:
            return {}
        size = self.config.batch_size
        batches = (stack(self.held_out[first : first + size]) for first in range(0, len(self.held_out), size))
        loss, count = measure_tokens(model, batches)
        return {"validation_loss": loss / count}


class Packed(NamedTuple):
    """One window of packed pairs. Each array has the shape (window,).

    Attributes:
        labels: the token that follows at each place, or `IGNORED` where it has no loss.
    """

    token_ids: IntArray
    attention_mask: NDArray[np.bool_]
    labels: IntArray


def windows(pairs: Sequence[ReadPair], window: int) -> list[list[int]]:
    """Return the indices of the pairs in each window. Pairs are taken in their order as long as they fit."""
    found: list[list[int]] = []
    room = 0
    for number, pair in enumerate(pairs):
        if (size := len(pair.token_ids)) > room:
            found.append([])
            room = window
        found[-1].append(number)
        room -= size
    return found


def pack(pairs: Sequence[ReadPair], window: int) -> Packed:
    """Pack pairs one after another into a window. Only the tokens and the end token of completions have a loss."""
    token_ids = np.full(window, PAD_ID, dtype=np.int64)
    labels = np.full(window, IGNORED, dtype=np.int64)
    place = 0
    for pair in pairs:
        end = place + len(pair.token_ids)
        token_ids[place:end] = pair.token_ids
        labels[place + pair.begins - 1 : end] = [*pair.token_ids[pair.begins :], START_ID]
        place = end
    return Packed(token_ids, np.arange(window) < place, labels)


def stack(rows: Sequence[Packed]) -> Examples:
    """Return windows as one batch, without the columns that are padding in all of them."""
    longest = max(int(row.attention_mask.sum()) for row in rows)
    columns = [torch.from_numpy(np.stack(column)[:, :longest]) for column in zip(*rows, strict=True)]
    return Examples(ModelInputs(*columns[:2]), columns[2])
