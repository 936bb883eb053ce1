"""Texts of any length to logits: every window is read, and a text's windows are averaged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from glassformer.data.batches import covering_batches, covering_windows
from glassformer.data.store import TokenStore

FloatArray = np.ndarray[Any, np.dtype[np.float32]]

_BATCH_TOKENS, _BATCH_SIZE = 16_384, 256


@torch.inference_mode()
def score(
    model: nn.Module,
    store: TokenStore,
    *,
    max_seq_len: int,
    n_classes: int,
    on_progress: Callable[[float], None] | None = None,
) -> FloatArray:
    """Logits (rows, n_classes) in float32; a text that takes several windows gets the mean of their logits.

    The model is put into evaluation mode and back. `on_progress` hears the share of tokens that are read.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    totals = np.zeros((len(store), n_classes), dtype=np.float32)
    counts = np.zeros((len(store), 1), dtype=np.float32)
    tokens = max(1, int(covering_windows(store.lengths, max_seq_len).lengths.sum())) if on_progress else 1
    read = 0
    for batch in covering_batches(store, max_seq_len, batch_tokens=_BATCH_TOKENS, batch_size=_BATCH_SIZE):
        logits = model(batch.token_ids.to(device), batch.attention_mask.to(device)).float().cpu().numpy()
        np.add.at(totals, batch.rows, logits)
        np.add.at(counts, batch.rows, 1)
        if on_progress:
            read += int(batch.attention_mask[:, 1:].sum())
            on_progress(read / tokens)
    model.train(was_training)
    return totals / counts
