"""The key–value cache: attention keeps the keys and values of earlier tokens and computes only those of new ones."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


class KeyValueCache:
    """Keys and values of one causal attention layer. Each row has its own length.

    Rows are padded on the right. Padding does not count towards the length of its row. No token attends to it, and the
    next tokens overwrite it.
    """

    def __init__(self, batch: int, max_seq_len: int, device: torch.device) -> None:
        self.lengths = torch.zeros(batch, dtype=torch.long, device=device)
        self.max_seq_len = max_seq_len
        self._keys: Tensor | None = None  # (batch, heads, max_seq_len, dim), once the sizes are known
        self._values: Tensor | None = None

    def positions(self, seq: int) -> Int[Tensor, "batch seq"]:
        """Return the positions of the next `seq` tokens of each row.

        Raises:
            ValueError: a row would be longer than `max_seq_len`.
        """
        if (longest := int(self.lengths.max()) + seq) > self.max_seq_len:
            raise ValueError(f"the cache has room for {self.max_seq_len:,} tokens, got a row of {longest}")
        return self.lengths[:, None] + torch.arange(seq, device=self.lengths.device)

    def extend(
        self,
        key: Float[Tensor, "batch heads seq dim"],
        value: Float[Tensor, "batch heads seq dim"],
        attention_mask: Bool[Tensor, "batch seq"],
    ) -> tuple[
        Float[Tensor, "batch heads read dim"], Float[Tensor, "batch heads read dim"], Bool[Tensor, "batch 1 seq read"]
    ]:
        """Add the next tokens of each row.

        Args:
            attention_mask: False on padding, which may only stand on the right.

        Returns:
            Keys and values of all tokens so far, and the mask: which of them each new token attends to.

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
