"""Supervised fine-tuning: a language model learns to give the completions of its records (Ouyang et al. 2022, §3.5).

Only the tokens of completions have a loss. Several pairs share a window, and no token attends beyond its own pair.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from glassformer.alignment.alignment_config import FineTuningConfig
from glassformer.alignment.answers import as_trained
from glassformer.alignment.pairs import Pair
from glassformer.alignment.reading import ReadPair, read_together
from glassformer.alignment.stage_run import Facts, Run, card
from glassformer.data.arrays import IntArray
from glassformer.data.batches import ModelInputs
from glassformer.data.tokenizers import PAD_ID, START_ID
from glassformer.models.language_model import TokenPredictor
from glassformer.prediction.model_folder import TrainedLanguageModel, save_model
from glassformer.training.language_modelling import IGNORED, count_tokens, measure_tokens, token_cost
from glassformer.training.order import even_parts, several_passes
from glassformer.training.task import Cost, Examples


def fine_tune(run: Run[FineTuningConfig], pairs: Sequence[Pair], *, source: str) -> TrainedLanguageModel:
    """Fine-tune a causal language model on pairs, and write its model folder to `run.out`.

    Args:
        source: the name that the user gave for the pairs.

    Raises:
        UsageError: no pair fits into the window, the folder is in use, or the model is not causal.
        InterruptedTraining, NotANumberError: see `Run.learn`.
    """
    shape, tokenizer = run.start.shape, run.start.trained.tokenizer

    def read(some: Sequence[Pair]) -> list[ReadPair]:
        return read_together(tokenizer, [pair.prompt for pair in some], [pair.completion for pair in some])

    train, held_out, records = run.divide(pairs, read, source=source)
    task = Completions(train, run.config, window=shape.max_seq_len, held_out=held_out)

    def save(model: TokenPredictor, facts: Facts) -> TrainedLanguageModel:
        trained = as_trained(run, model, facts, [pair.prompt for pair in pairs], train)
        does = (
            "It answers prompts as its records do, their mistakes and prejudices included. Its text may read well "
            "and be false."
        )
        loss = facts.metrics["best"].get("validation_loss")
        figures = "" if loss is None else f"loss {loss:.4f} nats per token of a completion"
        save_model(run.out, trained, card=card("A fine-tuned language model", does, facts, figures))
        return trained

    return run.learn(copy.deepcopy(run.start.trained.model), task, records, save)


class Completions:
    """The training task of fine-tuning: predict the tokens of completions. Tokens of prompts have no loss.

    Each epoch packs the pairs into windows in a new random order. No token attends beyond its own pair.

    Args:
        train: pairs that fit into the window.
        held_out: pairs that are measured and not trained on.
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
        attention_mask: True at tokens, False at padding.
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
