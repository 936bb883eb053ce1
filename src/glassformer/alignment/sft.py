"""Supervised fine-tuning: a language model learns to answer prompts as given completions do.

The loss is that of the completions alone; pairs are packed, and no token looks beyond its pair (Ouyang et al. 2022,
§3.5).
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
from glassformer.alignment.pairs import Pair
from glassformer.alignment.reading import ReadPair, read_together
from glassformer.alignment.stage_run import Facts, Run, card
from glassformer.data.batches import ModelInputs
from glassformer.data.store import IntArray
from glassformer.data.tokenizers import PAD_ID, START_ID
from glassformer.models.language_model import TokenPredictor
from glassformer.prediction.folder_config import LanguageFolderConfig
from glassformer.prediction.model_folder import TrainedLanguageModel, save_model
from glassformer.training.language_modelling import IGNORED, answer_cost, count_answers, measure_answers
from glassformer.training.loop import Cost, Examples
from glassformer.training.order import even_parts, several_passes


def fine_tune(run: Run, pairs: Sequence[Pair], *, source: str) -> TrainedLanguageModel:
    """Teach a causal language model to answer prompts; leave a model folder in `run.out`.

    Args:
        source: what the user called the pairs.

    Raises:
        UsageError: no pair fits into the window, the folder is taken, or the model is not causal.
        InterruptedTraining, NotANumberError: see `Run.learn`.
    """
    shape, tokenizer = run.start.shape, run.start.trained.tokenizer

    def read(some: Sequence[Pair]) -> list[ReadPair]:
        return read_together(tokenizer, [pair.prompt for pair in some], [pair.completion for pair in some])

    train, held_out, records = run.divide(pairs, read, source=source)
    task = Completions(train, run.config, window=shape.max_seq_len, held_out=held_out)

    def save(model: TokenPredictor, facts: Facts) -> TrainedLanguageModel:
        config = LanguageFolderConfig(model=shape, **facts.config)
        trained = TrainedLanguageModel(config=config, model=model, tokenizer=tokenizer, metrics=facts.metrics)
        does = "It answers prompts as its records do, their mistakes and prejudices included. Fluent is not true."
        loss = facts.metrics["best"].get("validation_loss")
        figures = "" if loss is None else f"loss {loss:.4f} nats per token of a completion"
        save_model(run.out, trained, card=card("A fine-tuned language model", does, facts, figures))
        return trained

    return run.learn(copy.deepcopy(run.start.trained.model), task, records, save)


class Completions:
    """The task of saying the completions; prompts are read and never learned.

    Pairs are packed into windows in an order of their own in each epoch, and no token looks beyond its pair.

    Args:
        train: pairs that fit into the window.
        held_out: pairs that are only measured.
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
        return count_answers(examples)

    def count(self, examples: Examples) -> int:
        return int(examples.inputs.attention_mask.sum())

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        return Cost(answer_cost(model, examples))

    def validate(self, model: nn.Module) -> dict[str, float]:
        if not self.held_out:
            return {}
        size = self.config.batch_size
        batches = (stack(self.held_out[first : first + size]) for first in range(0, len(self.held_out), size))
        loss, answers = measure_answers(model, batches)
        return {"validation_loss": loss / answers}


class Packed(NamedTuple):
    """One window: what is read, whether it is there, and what follows where that counts; each (window,)."""

    token_ids: IntArray
    attention_mask: NDArray[np.bool_]
    answers: IntArray


def windows(pairs: Sequence[ReadPair], window: int) -> list[list[int]]:
    """The numbers of the pairs of each window, taken one after another as long as they fit."""
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
    """Pairs one after another. What counts are the completions' tokens and the end token after each."""
    token_ids = np.full(window, PAD_ID, dtype=np.int64)
    answers = np.full(window, IGNORED, dtype=np.int64)
    place = 0
    for pair in pairs:
        end = place + len(pair.token_ids)
        token_ids[place:end] = pair.token_ids
        answers[place + pair.begins - 1 : end] = [*pair.token_ids[pair.begins :], START_ID]
        place = end
    return Packed(token_ids, np.arange(window) < place, answers)


def stack(rows: Sequence[Packed]) -> Examples:
    """Windows as one batch, without what is padding in all of them."""
    longest = max(int(row.attention_mask.sum()) for row in rows)
    columns = [torch.from_numpy(np.stack(column)[:, :longest]) for column in zip(*rows, strict=True)]
    return Examples(ModelInputs(*columns[:2]), columns[2])
