"""What attention keeps of the tokens that it has read, so that the next token costs one place and not all."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


class KeyValueCache:
    """Keys and values of one causal attention layer. Every row has a length of its own.

    Rows are padded on the right: what stands in padded places lies beyond the row's length, is looked at by no token,
    and is overwritten by the next ones.

    Args:
        batch: rows.
        max_seq_len: the most tokens of a row.
    """

    def __init__(self, batch: int, max_seq_len: int, device: torch.device) -> None:
        self.lengths = torch.zeros(batch, dtype=torch.long, device=device)
        self.max_seq_len = max_seq_len
        self._keys: Tensor | None = None  # (batch, heads, max_seq_len, dim), once the sizes are known
        self._values: Tensor | None = None

    def positions(self, seq: int) -> Int[Tensor, "batch seq"]:
        """Where the next `seq` tokens of each row stand.

        Raises:
            ValueError: a row would be longer than `max_seq_len`.
        """
        if (longest := int(self.lengths.max()) + seq) > self.max_seq_len:
            raise ValueError(f"the cache has room for {self.max_seq_len} tokens, got a row of {longest}")
        return self.lengths[:, None] + torch.arange(seq, device=self.lengths.device)

    def extend(
        self,
        key: Float[Tensor, "batch heads seq dim"],
        value: Float[Tensor, "batch heads seq dim"],
        attention_mask: Bool[Tensor, "batch seq"],
    ) -> tuple[
        Float[Tensor, "batch heads read dim"], Float[Tensor, "batch heads read dim"], Bool[Tensor, "batch 1 seq read"]
    ]:
        """Take in the next tokens of each row.

        Args:
            attention_mask: False on padding, which may only stand on the right.

        Returns:
            Keys and values of all tokens so far, and who of the new tokens may look at whom.

        Raises:
            ValueError: a row would be longer than `max_seq_len`.
        """
        batch, heads, seq, dim = key.shape
        if self._keys is None or self._values is None:
            shape = (batch, heads, self.max_seq_len, dim)
            self._keys, self._values = key.new_zeros(shape), value.new_zeros(shape)
        places = self.positions(seq)
        self.lengths = self.lengths + attention_mask.sum(dim=1)
        longest = int(self.lengths.max())
        rows = torch.arange(batch, device=key.device)[:, None].expand_as(places)[attention_mask]
        self._keys[rows, :, places[attention_mask]] = key.transpose(1, 2)[attention_mask]
        self._values[rows, :, places[attention_mask]] = value.transpose(1, 2)[attention_mask]
        allowed = torch.arange(longest, device=key.device) <= places[:, :, None]  # (batch, seq, read)
        return self._keys[:, :, :longest], self._values[:, :, :longest], allowed[:, None]
