"""Logits of texts of any length: a long text is read in windows, and the logits of its windows are averaged."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.data.arrays import BoolArray, FloatArray, IntArray
from glassformer.data.batches import Batch, ModelInputs, covering_batches
from glassformer.data.store import TokenStore
from glassformer.data.windows import covering_windows
from glassformer.errors import GlassformerError, is_out_of_memory

Precision = TypeVar("Precision", np.float32, np.float64)

BATCH_TOKENS, _BATCH_SIZE = 16_384, 256
TOKENS_ON_CPU = 768
"""Batches of this many tokens are read fastest on a CPU: activations fit into its cache, and little is padding."""


def logits_of(model: nn.Module) -> Callable[[ModelInputs], Tensor]:
    """Return a classifier as a function for `score`. It computes on the model's device, in evaluation mode."""

    def read(inputs: ModelInputs) -> Tensor:
        on_device = inputs.to(next(model.parameters()).device)
        if not model.training:  # asked first: to set it takes as long as a tenth of an answer to a short text
            return _logits(model, on_device)
        model.eval()
        try:
            return _logits(model, on_device)
        finally:  # `score` tries again if memory was too small
            model.train()

    return read


def _logits(model: nn.Module, inputs: ModelInputs) -> Tensor:
    return model(*inputs)


def array_logits_of(model: nn.Module) -> Callable[[IntArray, BoolArray], FloatArray]:
    """Return a classifier as a function of arrays: token ids and mask (windows, seq) → logits (windows, n_classes)."""
    logits = logits_of(model)

    @torch.inference_mode()
    def read(token_ids: IntArray, attention_mask: BoolArray) -> FloatArray:
        inputs = ModelInputs(torch.from_numpy(token_ids), torch.from_numpy(attention_mask))
        return logits(inputs).float().cpu().numpy()

    return read


def score(
    read: Callable[[ModelInputs], Tensor],
    store: TokenStore,
    *,
    max_seq_len: int,
    n_classes: int,
    batch_tokens: int = BATCH_TOKENS,
    on_progress: Callable[[float], None] | None = None,
) -> FloatArray:
    """Return the logits (rows, n_classes) in float32. A text of several windows gets the mean of their logits.

    Args:
        read: computes the logits (batch, n_classes) of a batch of windows, like `logits_of(model)`.
        batch_tokens: the most tokens of a batch, with padding.
    """
    tokens = max(1, int(covering_windows(store.lengths, max_seq_len).lengths.sum())) if on_progress else 1
    so_far, parts = 0, 1

    def sums(batch: Batch) -> tuple[Tensor, Tensor]:
        nonlocal so_far, parts
        logits, parts = _in_parts(read, batch.inputs, parts)
        if on_progress:
            so_far += int(batch.inputs.attention_mask[:, 1:].sum())
            on_progress(so_far / tokens)
        return logits, torch.ones(len(logits), 1)

    return window_means(
        sums, store, max_seq_len=max_seq_len, width=n_classes, precision=np.float32, batch_tokens=batch_tokens
    )


@torch.inference_mode()
def window_means(
    sums: Callable[[Batch], tuple[Tensor, Tensor]],
    store: TokenStore,
    *,
    max_seq_len: int,
    width: int,
    precision: type[Precision],
    batch_tokens: int = BATCH_TOKENS,
) -> np.ndarray[Any, np.dtype[Precision]]:
    """Return a mean over all windows of each row of the store: (rows, width). A row without counts gets zeros.

    Args:
        sums: returns for each window of a batch the sum of the averaged values (batch, width) and their number
            (batch, 1).
    """
    totals, counts = np.zeros((len(store), width), precision), np.zeros((len(store), 1), precision)
    for batch in covering_batches(store, max_seq_len, batch_tokens=batch_tokens, batch_size=_BATCH_SIZE):
        total, count = sums(batch)
        np.add.at(totals, batch.rows, total.cpu().numpy())
        np.add.at(counts, batch.rows, count.cpu().numpy())
    totals /= np.maximum(counts, 1)
    return totals


def _in_parts(read: Callable[[ModelInputs], Tensor], inputs: ModelInputs, parts: int) -> tuple[Tensor, int]:
    """Compute the logits of a batch in this many parts, or in more if memory is too small; return the number too."""
    windows, width = inputs.token_ids.shape
    while True:
        pieces = zip(*(tensor.tensor_split(min(parts, windows)) for tensor in inputs), strict=True)
        try:
            return torch.cat([read(ModelInputs(*piece)).float().cpu() for piece in pieces]), parts
        except (RuntimeError, MemoryError, OSError) as error:
            if not is_out_of_memory(error):
                raise
            if parts >= windows:
                raise GlassformerError(
                    f"out of memory, even for a single window of {width:,} tokens; close other programs, or use a "
                    "smaller model"
                ) from error
        parts *= 2
