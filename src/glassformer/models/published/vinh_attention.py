"""`vinh-attention`: the same document's step from there: attention without projections, softmax(DDᵀ/√d) D.

Words of a fixed length (200) → embeddings (32) → attention → side by side → one linear layer. The slide's class
computes the attention and then flattens the embeddings instead, so that it is `vinh-mlp` with wasted work; `flattens
= "attention"` is what is meant. Padding is attended to, as printed. Nothing had to be mended for it to run.
"""

from __future__ import annotations

import math
from typing import Literal

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.models.bounds import Width, Window
from glassformer.models.model_config import DesignConfig
from glassformer.models.parts import Parts
from glassformer.models.published.fixed_length import fixed_length


class VinhAttentionConfig(DesignConfig):
    design: Literal["vinh-attention"] = "vinh-attention"
    max_seq_len: Window = 201
    """The fixed length and the start token, which is dropped."""
    embed_dim: Width = 32
    flattens: Literal["embeddings", "attention"] = "embeddings"
    """What goes into the linear layer: `embeddings` as the slide is printed, `attention` as it is meant."""

    def in_words(self) -> str:
        return f"Vinh's attention over {self.max_seq_len - 1} embeddings of width {self.embed_dim}"


class VinhAttention(nn.Module):
    """embed → attend → flatten → linear; no parameters beyond those of `VinhMLP`."""

    def __init__(self, config: VinhAttentionConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        self.length, self.flattens = config.max_seq_len - 1, config.flattens
        self.word_emb = nn.Embedding(vocab_size, config.embed_dim)
        self.fc = nn.Linear(self.length * config.embed_dim, n_classes)

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], _attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        words = self.word_emb(fixed_length(token_ids, self.length))
        attention = self_attention(words)
        return self.fc((attention if self.flattens == "attention" else words).flatten(1))

    def parts(self) -> Parts:
        return Parts(embedding=(self.word_emb,), head=(self.fc,))


def self_attention(words: Float[Tensor, "batch seq embed"]) -> Float[Tensor, "batch seq embed"]:
    """softmax(DDᵀ/√d) D."""
    return (words @ words.transpose(1, 2) / math.sqrt(words.shape[-1])).softmax(-1) @ words
