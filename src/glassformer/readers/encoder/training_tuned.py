"""Tune an encoder on pairs of rows: those with the same label get near vectors (Tunstall et al. 2022, SetFit)."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from glassformer.data.arrays import Array, FloatArray, IntArray
from glassformer.data.batches import assemble
from glassformer.data.store import TokenStore
from glassformer.data.windows import Windows, random_windows
from glassformer.data.wording import about
from glassformer.errors import GlassformerError
from glassformer.models.pretrained import PretrainedEncoder
from glassformer.readers.encoder.prediction import TextEncoder, numbered_texts, texts_of
from glassformer.readers.reader import Rows

Say = Callable[[str], None]
_BATCH_PAIRS, _RATE, _WARMUP = 16, 2e-5, 0.1  # as SetFit has them
_ALIKE = 0.5
_SAID_AFTER = 15.0  # seconds


def tuned(encoder: TextEncoder, rows: Rows, times: int, say: Say) -> TextEncoder:
    """Return the encoder tuned on pairs of these rows, on the same device. Its weights are again of 16 bits.

    Args:
        times: how many pairs of each kind are drawn for each row.
        say: is told from time to time how far it is.

    Raises:
        GlassformerError: the weights became NaN or infinite.
    """
    torch.manual_seed(rows.seed)
    one, other, alike = draw_pairs(rows.truth, times, rows.seed)
    roots = np.sqrt(rows.weights[one] * rows.weights[other])  # a pair's error counts as both weights multiplied
    different, places = numbered_texts(rows.texts, texts_of(rows))
    store = TokenStore.in_memory(encoder.encode(different))
    windows = random_windows(store.lengths, encoder.config.trunk.max_seq_len, seed=rows.seed, epoch=0)
    model = copy.deepcopy(encoder.model).requires_grad_(True).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=0.01)
    steps = -(-len(one) // _BATCH_PAIRS)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate_at(step, steps))
    began = said = time.perf_counter()
    for step in range(steps):
        batch = slice(step * _BATCH_PAIRS, (step + 1) * _BATCH_PAIRS)
        both = np.concatenate([one[batch], other[batch]])
        first, second = _vectors(model, store, windows, places[both]).chunk(2)
        truth, root = (torch.from_numpy(each[batch]).to(first) for each in (alike, roots))
        optimizer.zero_grad()
        F.mse_loss(root * F.cosine_similarity(first, second), root * truth).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if (now := time.perf_counter()) - said > _SAID_AFTER:
            said = now
            left = about((now - began) / (step + 1) * (steps - step - 1))
            say(f"tuned on {step + 1:,} of {steps:,} batches, {left} left")
    return replace(encoder, model=_rounded(model))


def draw_pairs(truth: Array, times: int, seed: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Draw for each row so many rows that are like it, and as many that are not, in random order.

    A row without any that are like it (or unlike it) has no such pairs.

    Returns:
        The numbers of the rows of each pair, and how alike they are: (pairs,) each.
    """
    draw = np.random.default_rng(seed)
    one, other, alike = list[IntArray](), list[IntArray](), list[FloatArray]()
    for row in range(len(truth)):
        likeness = _likeness(truth, row)
        near = likeness >= _ALIKE
        near_others = np.flatnonzero(near)
        for candidates in (near_others[near_others != row], np.flatnonzero(~near)):
            if len(candidates):
                chosen = draw.choice(candidates, times)
                one.append(np.full(times, row))
                other.append(chosen)
                alike.append(likeness[chosen].astype(np.float32))
    if not one:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
    order = draw.permutation(times * len(one))
    return np.concatenate(one)[order], np.concatenate(other)[order], np.concatenate(alike)[order]


def _likeness(truth: Array, row: int) -> FloatArray:
    """Return how alike the label of each row is to that of one row, from 0 to 1.

    Of several labels, it is the share that both have among those that either has. Numbers that are a deviation apart
    are not alike.
    """
    if truth.ndim == 2:
        either = np.maximum(truth, truth[row]).sum(axis=1)
        both = np.minimum(truth, truth[row]).sum(axis=1)
        return np.where(either > 0, both / np.maximum(either, 1), 1).astype(np.float32)
    if truth.dtype.kind == "f":
        return np.maximum(0, 1 - np.abs(truth - truth[row])).astype(np.float32)
    return (truth == truth[row]).astype(np.float32)


def _vectors(
    model: PretrainedEncoder, store: TokenStore, windows: Windows, texts: IntArray
) -> Float[Tensor, "rows dims"]:
    inputs = assemble(store, windows, texts.ravel()).inputs.to(next(model.parameters()).device)
    vectors: Tensor = model(*inputs)
    return vectors.reshape(len(texts), -1)


def _rate_at(step: int, steps: int) -> float:
    """Return the learning rate as a share of its peak: it rises in a tenth of the steps, and falls to 0."""
    warm = max(1, round(_WARMUP * steps))
    return (step + 1) / warm if step < warm else (steps - step) / max(1, steps - warm)


@torch.no_grad()
def _rounded(model: PretrainedEncoder) -> PretrainedEncoder:
    for name, weights in model.named_parameters():
        weights.copy_(weights.half())
        if not weights.isfinite().all():
            raise GlassformerError(f"tuning the encoder diverged: {name} holds NaN or infinite weights")
    return model.requires_grad_(False).eval()
