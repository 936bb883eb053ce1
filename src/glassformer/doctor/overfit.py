"""Check that the model can learn one small batch by heart. If it cannot, more data does not help."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from typing import Literal

import numpy as np
import polars as pl

from glassformer.data.arrays import IntArray
from glassformer.data.batches import Batch, assemble
from glassformer.data.windows import random_windows
from glassformer.data.wording import counted
from glassformer.doctor.bench import Bench
from glassformer.doctor.findings import Finding, Level
from glassformer.training.training_config import TrainingConfig

_STEPS = 200
_RATES = (2e-3, 3e-4)  # the second is for designs for which the first is too high
_MOST_TEXTS, _MOST_TOKENS = 32, 4096
_BY_HEART, _HALF_WAY, _ENOUGH = 0.1, 0.5, 0.02  # as a share of the loss of equal chances


def check_overfitting(bench: Bench, *, seconds: float) -> tuple[Finding, tuple[float, ...]]:
    """Train on the same few texts without dropout until they are learned by heart.

    Returns: the finding, and the losses of the better attempt.
    """
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
    used, own, why = _optimizer(bench.config), bench.config.optimizer, ""
    if used != own:
        why = f" (the recipe's {own} at {bench.config.learning_rate:g} is too slow for this short check)"
    elif best_rate != bench.config.learning_rate:
        why = f" (this short check does not use the recipe's {bench.config.learning_rate:g})"
    found = (
        f"on {len(batch.rows):,} texts alone, without dropout, the loss went from {best[0]:.3f} to {reached:.4f} in "
        f"{counted(len(best), 'step')} of {used} at a learning rate of {best_rate:g}{why}"
    )
    if reached < _BY_HEART * reference:
        return Finding(
            check="one batch by heart", level="good", found=f"the model can learn these texts by heart: {found}"
        ), tuple(best)
    alike = _alike(batch, bench.data.train_labels)
    advice = (
        f"{alike} of these texts look to the model like a text with another {bench.target}: see the findings on "
        f"unknown words and conflicting {bench.target}s"
        if alike
        else "the model has a broken path (no gradient, dead or saturated units), too few parameters, or a window that "
        "cuts off the words that matter; see the findings on activations and gradients"
    )
    level: Level = "worth knowing" if reached < _HALF_WAY * reference or alike else "problem"
    missed = f"the model did not learn these texts by heart: {found}"
    return Finding(check="one batch by heart", level=level, found=missed, advice=advice), tuple(best)


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
    """Return the optimizer of this check. It tests the model, and plain SGD is too slow for that."""
    return "muon" if config.optimizer == "muon" else "adamw"


def _few_texts(bench: Bench) -> Batch:
    """Choose some texts from each class in turn. Otherwise one frequent answer could be right for most of them."""
    store, labels = bench.data.train, bench.data.train_labels
    windows = random_windows(store.lengths, bench.max_seq_len, seed=bench.config.seed, epoch=0)
    width = int(windows.lengths.max()) + 1
    count = min(_MOST_TEXTS, max(4, _MOST_TOKENS // width), len(store))
    order = np.random.default_rng(bench.config.seed).permutation(len(store))
    of_classes = labels.ndim == 1 and labels.dtype.kind == "i"
    return assemble(store, windows, (_in_turns(order, labels) if of_classes else order)[:count])


def _in_turns(order: IntArray, labels: IntArray) -> IntArray:
    """Order rows so that the first row of each class comes first, then the second of each, and so on."""
    turns = pl.DataFrame({"label": labels[order]}).select(pl.int_range(pl.len()).over("label")).to_series()
    return order[np.argsort(turns, kind="stable")]


def _alike(batch: Batch, labels: IntArray) -> int:
    """Count the texts of the batch that have the same tokens as a text with another label."""
    tokens = [token_ids.numpy().tobytes() for token_ids in batch.inputs.token_ids]
    texts = pl.DataFrame({"tokens": tokens, "label": [labels[row].tobytes() for row in batch.rows]})
    return int(texts.select(pl.col("label").n_unique().over("tokens") > 1).sum().item())
