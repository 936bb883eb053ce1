"""Can the model learn one small batch by heart? If not, no amount of data will help."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import repeat
from typing import Literal

import numpy as np

from glassformer.data.batches import Batch, assemble, random_windows
from glassformer.data.store import IntArray
from glassformer.data.table import counted
from glassformer.doctor.bench import Bench
from glassformer.doctor.findings import Finding, Level
from glassformer.training.training_config import TrainingConfig

_STEPS = 200
_RATES = (2e-3, 3e-4)  # the second for designs that the first is too much for
_MOST_TEXTS, _MOST_TOKENS = 32, 4096
_BY_HEART, _HALF_WAY, _ENOUGH = 0.1, 0.5, 0.02  # of the loss of a model that knows nothing


def check_overfitting(bench: Bench, *, seconds: float) -> tuple[Finding, tuple[float, ...]]:
    """Train on the same few texts, dropout off, until they are known by heart; the losses of the better attempt."""
    batch = _few_texts(bench)
    reference = bench.loss_of_one_answer(bench.blind_answer(), bench.labels(batch))
    best: list[float] = []
    for rate in _RATES:
        losses = _attempt(bench, batch, rate, reference, seconds / len(_RATES))
        if not best or min(losses) < min(best):
            best, best_rate = losses, rate
        if min(best) < _BY_HEART * reference:
            break
    reached = min(best)
    found = (
        f"trained on the same {len(batch.rows)} texts alone, without dropout, the loss went from {best[0]:.3f} to "
        f"{reached:.4f} in {counted(len(best), 'step')} {_how(bench.config, best_rate)}"
    )
    if reached < _BY_HEART * reference:
        return Finding(
            check="one batch by heart", level="good", found=f"{found}: the model can learn what it is shown"
        ), tuple(best)
    alike = _alike(batch, bench.data.train_labels)
    advice = (
        f"{alike} of these texts look the same to the model as another one with another label: see the unknown words "
        "and the conflicting labels"
        if alike
        else "a model that cannot do this has a broken path (no gradient, units that are dead or saturated), too few "
        "parameters, or a window that hides what decides; see the findings on activations and gradients"
    )
    level: Level = "worth knowing" if reached < _HALF_WAY * reference or alike else "problem"
    return Finding(check="one batch by heart", level=level, found=found, advice=advice), tuple(best)


def _attempt(bench: Bench, batch: Batch, rate: float, reference: float, seconds: float) -> list[float]:
    losses = []
    bench = replace(bench, config=bench.config.model_copy(update={"optimizer": _optimizer(bench.config)}))
    model = bench.copy_of_model(dropout=False)
    for loss in bench.steps(model, repeat(rate, _STEPS), repeat([batch]), seconds=seconds):
        losses.append(loss)
        if loss < _ENOUGH * reference:
            break
    return losses


def _optimizer(config: TrainingConfig) -> Literal["adamw", "muon"]:
    """It is the model that is tried here; plain SGD is too slow for that."""
    return "muon" if config.optimizer == "muon" else "adamw"


def _how(config: TrainingConfig, rate: float) -> str:
    """With which optimizer and rate, and why these where they are not the recipe's."""
    used, own = _optimizer(config), config.optimizer
    if used != own:
        why = f" (not the recipe's {own} at {config.learning_rate:g}: this tries the model, in too few steps for {own})"
    elif rate != config.learning_rate:
        why = f" (not the recipe's {config.learning_rate:g}: this tries the model, in few steps)"
    else:
        why = ""
    return f"of {used} at a rate of {rate:g}{why}"


def _few_texts(bench: Bench) -> Batch:
    """Some texts, of each class in turn, so that a common answer is no way out."""
    store, labels = bench.data.train, bench.data.train_labels
    windows = random_windows(store.lengths, bench.max_seq_len, seed=bench.config.seed, epoch=0)
    width = int(windows.lengths.max()) + 1
    count = min(_MOST_TEXTS, max(4, _MOST_TOKENS // width), len(store))
    order = np.random.default_rng(bench.config.seed).permutation(len(store))
    return assemble(store, windows, order[:count] if labels.ndim == 2 else _in_turns(order, labels)[:count])


def _in_turns(order: IntArray, labels: IntArray) -> IntArray:
    """The first row of each class, then the second of each, and so on."""
    seen: dict[int, int] = defaultdict(int)
    turns = []
    for row in order.tolist():
        turns.append(seen[int(labels[row])])
        seen[int(labels[row])] += 1
    return order[np.argsort(turns, kind="stable")]


def _alike(batch: Batch, labels: IntArray) -> int:
    """Texts whose tokens are those of another text of the batch with another label."""
    answers: dict[bytes, set[bytes]] = defaultdict(set)
    keys = [token_ids.numpy().tobytes() for token_ids in batch.inputs.token_ids]
    for key, row in zip(keys, batch.rows.tolist(), strict=True):
        answers[key].add(labels[row].tobytes())
    return sum(len(answers[key]) > 1 for key in keys)
