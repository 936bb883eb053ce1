"""`vinh-mlp`: Quang-Vinh Dinh, "Transformer for Text Classification" (AI Viet Nam), its first and simplest
classifier.

A fixed number of words → embeddings → concatenation → one linear layer. As printed, padding has an embedding and is not
left out. Nothing had to be repaired. The worked example has five words, two features and one step of SGD.
"""

from __future__ import annotations

from typing import Literal

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.models.bounds import Width, Window
from glassformer.models.model_config import DesignConfig
from glassformer.models.parts import Parts
from glassformer.models.published.fixed_length import fixed_length


class VinhMLPConfig(DesignConfig):
    design: Literal["vinh-mlp"] = "vinh-mlp"
    max_seq_len: Window = 201
    """The fixed length and the start token, which is dropped."""
    embed_dim: Width = 32

    def in_words(self) -> str:
        return f"Vinh's MLP over {self.max_seq_len - 1} embeddings of width {self.embed_dim}"


class VinhMLP(nn.Module):
    """embed → flatten → linear."""

    def __init__(self, config: VinhMLPConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        self.length = config.max_seq_len - 1
        self.embedding = nn.Embedding(vocab_size, config.embed_dim)
        self.fc = nn.Linear(self.length * config.embed_dim, n_classes)

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], _attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        return self.fc(self.embedding(fixed_length(token_ids, self.length)).flatten(1))

    def parts(self) -> Parts:
        return Parts(embedding=(self.embedding,), head=(self.fc,))
