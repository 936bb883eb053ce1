"""Logits of texts of any length: a long text is read in windows, and the logits of its windows are averaged."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.data.arrays import BoolArray, FloatArray, IntArray
from glassformer.data.batches import Batch, ModelInputs, covering_batches
from glassformer.data.store import TokenStore
from glassformer.data.windows import covering_windows
from glassformer.errors import GlassformerError, is_out_of_memory
from glassformer.layers.taps import Tap
from glassformer.models.parts import parts_of
from glassformer.prediction.threads import in_threads

Precision = TypeVar("Precision", np.float32, np.float64)

BATCH_TOKENS, _BATCH_SIZE = 16_384, 256
TOKENS_ON_CPU = 768
"""Batches of this many tokens are read fastest on a CPU: activations fit into its cache, and little is padding."""
_LARGE = 10**8
"""A batch alone of so many multiplications (tokens times weights) is faster with two threads than with one: 300 tokens
by `small`."""
_alone = Lock()


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

    Args:
        batch_tokens: the most tokens of a batch, with padding; by default those that the device reads fastest.
    """
    on_cpu = next(model.parameters()).device.type == "cpu"
    batch_tokens = batch_tokens or (TOKENS_ON_CPU if on_cpu else BATCH_TOKENS)
    with evaluating(model):
        return mean_outputs(
            logits_of(model),
            store,
            max_seq_len=max_seq_len,
            width=n_classes,
            batch_tokens=batch_tokens,
            threads=_threads(model, int(store.lengths.sum()), batch_tokens) if on_cpu else 1,
            on_progress=on_progress,
        )


def _threads(model: nn.Module, tokens: int, batch_tokens: int) -> int:
    """Return how many batches to read at once. If it is one, all of torch's threads share it."""
    threads = torch.get_num_threads()
    if threads == 1:
        return 1
    if tokens > batch_tokens:  # several batches
        return 1 if any(map(_is_watched, model.modules())) else threads
    weights = sum(parameter.numel() for block in parts_of(model).blocks for parameter in block.parameters())
    return 1 if tokens * weights > _LARGE else threads


def _is_watched(module: nn.Module) -> bool:
    """Whether something looks at what the module computes, and may depend on the order of the batches."""
    return bool(module._forward_hooks) or (isinstance(module, Tap) and module.heard)


def mean_outputs(
    read: Callable[[ModelInputs], Tensor],
    store: TokenStore,
    *,
    max_seq_len: int,
    width: int,
    batch_tokens: int = BATCH_TOKENS,
    threads: int = 1,
    on_progress: Callable[[float], None] | None = None,
) -> FloatArray:
    """Return for each row the mean over its windows of the numbers that `read` gives: (rows, width).

    Args:
        read: computes the numbers (batch, width) of a batch of windows.
        batch_tokens: the most tokens of a batch, with padding.
        threads: how many batches are read at once.
    """
    parts = 1

    def sums(batch: Batch) -> tuple[Tensor, Tensor]:
        nonlocal parts
        found, needed = _in_parts(read, batch.inputs, parts)
        parts = max(parts, needed)
        return found, torch.ones(len(found), 1)

    return window_means(
        sums,
        store,
        max_seq_len=max_seq_len,
        width=width,
        precision=np.float32,
        batch_tokens=batch_tokens,
        threads=threads,
        on_progress=on_progress,
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
    on_progress: Callable[[float], None] | None = None,
) -> np.ndarray[Any, np.dtype[Precision]]:
    """Return a mean over all windows of each row of the store: (rows, width). A row without counts gets zeros.

    Args:
        sums: returns for each window of a batch the sum of the averaged values (batch, width) and their number
            (batch, 1).
        threads: how many batches are read at once.
        on_progress: is told after each batch what share of all tokens was read.
    """
    totals, counts = np.zeros((len(store), width), precision), np.zeros((len(store), 1), precision)
    batches = covering_batches(store, max_seq_len, batch_tokens=batch_tokens, batch_size=_BATCH_SIZE)
    tokens = max(1, int(covering_windows(store.lengths, max_seq_len).lengths.sum())) if on_progress else 1
    so_far = 0
    compute = torch.inference_mode()(sums)  # the mode is for one thread
    with closing(in_threads(compute, batches, threads)) as found:
        for batch, (total, count) in found:
            np.add.at(totals, batch.rows, total.cpu().numpy())
            np.add.at(counts, batch.rows, count.cpu().numpy())
            if on_progress:
                so_far += int(batch.inputs.attention_mask[:, 1:].sum())
                on_progress(so_far / tokens)
    totals /= np.maximum(counts, 1)
    return totals


def _in_parts(read: Callable[[ModelInputs], Tensor], inputs: ModelInputs, parts: int) -> tuple[Tensor, int]:
    """Compute the outputs of a batch in this many parts, or in more if memory is too small; return the number too.

    If memory was too small, no other batch for which it was too small is read at the same time.
    """
    if (found := _tried(read, inputs, parts)) is not None:
        return found, parts
    with _alone:
        while (found := _tried(read, inputs, parts)) is None:
            windows, width = inputs.token_ids.shape
            if parts >= windows:
                raise GlassformerError(
                    f"out of memory, even for a single window of {width:,} tokens; close other programs, or use a "
                    "smaller model"
                )
            parts *= 2
    return found, parts


def _tried(read: Callable[[ModelInputs], Tensor], inputs: ModelInputs, parts: int) -> Tensor | None:
    """Compute the outputs of a batch in this many parts. None if memory is too small."""
    pieces = zip(*(tensor.tensor_split(min(parts, len(tensor))) for tensor in inputs), strict=True)
    try:
        return torch.cat([read(ModelInputs(*piece)).float().cpu() for piece in pieces])
    except (RuntimeError, MemoryError, OSError) as error:
        if not is_out_of_memory(error):
            raise
        return None
