"""`vinh-attention`: the next classifier of the document of `vinh-mlp`. It adds attention without projections,
softmax(DDᵀ/√d) D.

200 words → embeddings (32) → attention → concatenation → one linear layer.

The class on the slide computes the attention, but then flattens the embeddings. It gives the same as `vinh-mlp`.
`flattens = "attention"` computes what the document means. As printed, words attend to padding. Nothing had to be
repaired.
"""

from __future__ import annotations

import math
from typing import Literal

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.layers.taps import Tap
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
    """The input of the linear layer: `embeddings` as printed on the slide, `attention` as the document means it."""

    def in_words(self) -> str:
        return f"Vinh's attention over {self.max_seq_len - 1} embeddings of width {self.embed_dim}"


class VinhAttention(nn.Module):
    """embed → attend → flatten → linear. It has the same parameters as `VinhMLP`."""

    def __init__(self, config: VinhAttentionConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        self.length, self.flattens = config.max_seq_len - 1, config.flattens
        self.word_emb = nn.Embedding(vocab_size, config.embed_dim)
        self.fc = nn.Linear(self.length * config.embed_dim, n_classes)
        self.tap_scores, self.tap_weights, self.tap_attention = Tap(), Tap(), Tap()

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], _attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        words = self.word_emb(fixed_length(token_ids, self.length))
        weights = self.tap_weights(self.tap_scores(attention_scores(words)).softmax(-1))
        attention = self.tap_attention(weights @ words)
        return self.fc((attention if self.flattens == "attention" else words).flatten(1))

    def parts(self) -> Parts:
        return Parts(embedding=(self.word_emb,), head=(self.fc,))


def attention_scores(words: Float[Tensor, "batch seq embed"]) -> Float[Tensor, "batch seq seq"]:
    """Return DDᵀ/√d."""
    return words @ words.transpose(1, 2) / math.sqrt(words.shape[-1])
