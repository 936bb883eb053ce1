"""Texts of any length to logits: every window is read, and a text's windows are averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from glassformer.data.batches import covering_batches
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
) -> FloatArray:
    """Logits (rows, n_classes) in float32; a text that takes several windows gets the mean of their logits.

    The model is put into evaluation mode and back.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    totals = np.zeros((len(store), n_classes), dtype=np.float32)
    counts = np.zeros((len(store), 1), dtype=np.float32)
    for batch in covering_batches(store, max_seq_len, batch_tokens=_BATCH_TOKENS, batch_size=_BATCH_SIZE):
        logits = model(batch.token_ids.to(device), batch.attention_mask.to(device)).float().cpu().numpy()
        np.add.at(totals, batch.rows, logits)
        np.add.at(counts, batch.rows, 1)
    model.train(was_training)
    return totals / counts
