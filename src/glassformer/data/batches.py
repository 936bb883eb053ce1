"""Batches of windows for PyTorch: token ids with padding, and a mask that says what is not padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from glassformer.data.arrays import IntArray
from glassformer.data.store import TokenStore
from glassformer.data.windows import Windows, bucket, covering_windows, padded
from glassformer.layers.masks import lengths_to_mask


class ModelInputs(NamedTuple):
    """The inputs of a model, which is called as `model(*inputs)`."""

    token_ids: Int[Tensor, "batch seq"]
    attention_mask: Bool[Tensor, "batch seq"]

    def to(self, device: torch.device) -> ModelInputs:
        return ModelInputs(*(tensor.to(device) for tensor in self))


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Windows of texts, padded on the right to a common width. Each window begins with the start token.

    Attributes:
        rows: which row of the store each window comes from.
        starts: the position in that row of each window's first token (the one after the start token).
    """

    rows: IntArray
    starts: IntArray
    inputs: ModelInputs


def assemble(store: TokenStore, windows: Windows, chosen: IntArray) -> Batch:
    token_ids = torch.from_numpy(padded(store, windows, chosen))
    lengths = torch.from_numpy(windows.lengths[chosen] + 1)
    return Batch(
        rows=windows.rows[chosen],
        starts=windows.starts[chosen],
        inputs=ModelInputs(token_ids, lengths_to_mask(lengths, token_ids.shape[1])),
    )


def covering_batches(store: TokenStore, max_seq_len: int, *, batch_tokens: int, batch_size: int) -> Iterator[Batch]:
    """Yield windows that cover every token of every row, in batches of similar length."""
    windows = covering_windows(store.lengths, max_seq_len)
    for chosen in bucket(windows.lengths, batch_tokens=batch_tokens, batch_size=batch_size):
        yield assemble(store, windows, chosen)


def padding_share(batch: Batch) -> float:
    return 1.0 - float(batch.inputs.attention_mask.float().mean())
