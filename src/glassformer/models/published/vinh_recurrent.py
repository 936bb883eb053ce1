"""`vinh-recurrent`: the recurrent classifiers that "Transformer for Text Classification" moves on from.

Embeddings → RNN, GRU or LSTM, in one direction or both → the state after the last word → one linear layer.

The slides show drawings without code; this is the usual form. Rows are packed, and padding is never read. With two
directions, the two last states are concatenated.
"""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from glassformer.models.bounds import Width, Window
from glassformer.models.model_config import DesignConfig
from glassformer.models.parts import Parts
from glassformer.models.published.recurrent_steps import STEPS

_CELLS: dict[str, type[nn.RNN | nn.GRU | nn.LSTM]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class VinhRecurrentConfig(DesignConfig):
    design: Literal["vinh-recurrent"] = "vinh-recurrent"
    max_seq_len: Window = 201
    cell: Literal["rnn", "gru", "lstm"] = "lstm"
    directions: Literal["forward", "both"] = "forward"
    embed_dim: Width = 32
    hidden: Width = 64
    """Width of the state in each direction."""

    def in_words(self) -> str:
        both = ", both directions" if self.directions == "both" else ""
        return f"{self.cell.upper()} of width {self.hidden}{both}"


class VinhRecurrent(nn.Module):
    """embed → read word by word → last state → linear."""

    def __init__(self, config: VinhRecurrentConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, config.embed_dim)
        self.cell = _CELLS[config.cell](
            config.embed_dim, config.hidden, batch_first=True, bidirectional=config.directions == "both"
        )
        both = config.directions == "both"
        self.fc = nn.Linear(config.hidden * (2 if both else 1), n_classes)
        self.forwards = STEPS[config.cell]()
        self.backwards = STEPS[config.cell](backwards=True) if both else None

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        embedded = self.embedding(token_ids)
        readers = [reader for reader in (self.forwards, self.backwards) if reader is not None]
        if any(reader.heard for reader in readers):
            return self.fc(torch.cat([reader(self.cell, embedded, attention_mask) for reader in readers], dim=-1))
        lengths = attention_mask.sum(1).cpu()
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        _, state = self.cell(packed)
        last = state[0] if isinstance(state, tuple) else state  # (directions, batch, hidden); an LSTM adds its memory
        return self.fc(torch.cat(list(last), dim=-1))

    def parts(self) -> Parts:
        return Parts(embedding=(self.embedding,), head=(self.fc,))
