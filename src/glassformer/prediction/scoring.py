"""Logits of texts of any length: a long text is read in windows, and the logits of its windows are averaged."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.data.arrays import BoolArray, FloatArray, IntArray
from glassformer.data.batches import Batch, ModelInputs, covering_batches
from glassformer.data.store import TokenStore
from glassformer.data.windows import covering_windows
from glassformer.errors import GlassformerError, is_out_of_memory
from glassformer.prediction.threads import at_once, one_thread_each

Precision = TypeVar("Precision", np.float32, np.float64)

BATCH_TOKENS, _BATCH_SIZE = 16_384, 256
TOKENS_ON_CPU = 768
"""Batches of this many tokens are read fastest on a CPU: activations fit into its cache, and little is padding."""


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode in the `with` block, if it is not in it."""
    if not model.training:  # asked first: to set it takes as long as a tenth of an answer to a short text
        yield
        return
    model.eval()
    try:
        yield
    finally:
        model.train()


def logits_of(model: nn.Module) -> Callable[[ModelInputs], Tensor]:
    """Return a classifier as a function of a batch. It computes on the model's device, in evaluation mode."""

    def read(inputs: ModelInputs) -> Tensor:
        with evaluating(model):
            logits: Tensor = model(*inputs.to(next(model.parameters()).device))
        return logits

    return read


def array_logits_of(model: nn.Module) -> Callable[[IntArray, BoolArray], FloatArray]:
    """Return a classifier as a function of arrays: token ids and mask (windows, seq) → logits (windows, n_classes)."""
    logits = logits_of(model)

    @torch.inference_mode()
    def read(token_ids: IntArray, attention_mask: BoolArray) -> FloatArray:
        inputs = ModelInputs(torch.from_numpy(token_ids), torch.from_numpy(attention_mask))
        return logits(inputs).float().cpu().numpy()

    return read


def score(
    model: nn.Module,
    store: TokenStore,
    *,
    max_seq_len: int,
    n_classes: int,
    batch_tokens: int | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> FloatArray:
    """Return the logits (rows, n_classes) in float32. A text of several windows gets the mean of their logits.

    Several batches are read at once on a CPU, each with one thread, so nothing may listen to the model.

    Args:
        batch_tokens: the most tokens of a batch, with padding; by default those that the device reads fastest.
    """
    on_cpu = next(model.parameters()).device.type == "cpu"
    with evaluating(model), one_thread_each() if on_cpu else nullcontext(1) as threads:
        return score_by(
            logits_of(model),
            store,
            max_seq_len=max_seq_len,
            width=n_classes,
            batch_tokens=batch_tokens or (TOKENS_ON_CPU if on_cpu else BATCH_TOKENS),
            threads=threads,
            on_progress=on_progress,
        )


def score_by(
    read: Callable[[ModelInputs], Tensor],
    store: TokenStore,
    *,
    max_seq_len: int,
    width: int,
    batch_tokens: int = BATCH_TOKENS,
    threads: int = 1,
    on_progress: Callable[[float], None] | None = None,
) -> FloatArray:
    """Return the numbers (rows, width) that `read` gives for each row, like `score`.

    Args:
        read: computes the numbers (batch, width) of a batch of windows.
        batch_tokens: the most tokens of a batch, with padding.
        threads: how many batches are read at once.
    """
    tokens = max(1, int(covering_windows(store.lengths, max_seq_len).lengths.sum())) if on_progress else 1
    so_far, parts = 0, 1

    def sums(batch: Batch) -> tuple[Tensor, Tensor]:
        nonlocal parts
        found, parts = _in_parts(read, batch.inputs, parts)
        return found, torch.ones(len(found), 1)

    def on_batch(batch: Batch) -> None:
        nonlocal so_far
        if on_progress:
            so_far += int(batch.inputs.attention_mask[:, 1:].sum())
            on_progress(so_far / tokens)

    return window_means(
        sums,
        store,
        max_seq_len=max_seq_len,
        width=width,
        precision=np.float32,
        batch_tokens=batch_tokens,
        threads=threads,
        on_batch=on_batch,
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
    threads: int = 1,
    on_batch: Callable[[Batch], None] = lambda _: None,
) -> np.ndarray[Any, np.dtype[Precision]]:
    """Return a mean over all windows of each row of the store: (rows, width). A row without counts gets zeros.

    Args:
        sums: returns for each window of a batch the sum of the averaged values (batch, width) and their number
            (batch, 1).
        threads: how many batches are read at once.
        on_batch: is told of each batch that was read.
    """
    totals, counts = np.zeros((len(store), width), precision), np.zeros((len(store), 1), precision)
    batches = covering_batches(store, max_seq_len, batch_tokens=batch_tokens, batch_size=_BATCH_SIZE)
    for batch, (total, count) in at_once(torch.inference_mode()(sums), batches, threads):
        np.add.at(totals, batch.rows, total.cpu().numpy())
        np.add.at(counts, batch.rows, count.cpu().numpy())
        on_batch(batch)
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
