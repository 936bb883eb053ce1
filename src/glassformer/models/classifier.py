"""The transformer classifier: token ids in, one logit per class out."""

from __future__ import annotations

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.layers.pooling import (
    AttentionPooling,
    FirstPooling,
    FlattenPooling,
    LastPooling,
    MaxPooling,
    MeanPooling,
)
from glassformer.models.model_config import ModelConfig
from glassformer.models.trunk import Trunk


class Classifier(Trunk):
    """Token ids in, class logits out: embed → positions → blocks → norm → pool → head.

    The head starts at zero, so that every class is equally likely before training and the first loss is ln(n_classes).
    """

    def __init__(self, config: ModelConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__(config, vocab_size)
        self.pooling = _pooling(config)
        pooled_size = config.d_model * (config.max_seq_len if config.pooling == "flatten" else 1)
        self.head = nn.Linear(pooled_size, n_classes)
        self._initialise()
        nn.init.zeros_(self.head.weight)

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        hidden = self.read(token_ids, attention_mask)
        return self.head(self.dropout(self.pooling(hidden, attention_mask)))


def _pooling(config: ModelConfig) -> nn.Module:
    if config.pooling == "attention":
        return AttentionPooling(config.d_model)
    if config.pooling == "flatten":
        return FlattenPooling(config.max_seq_len)
    return {"first": FirstPooling, "last": LastPooling, "mean": MeanPooling, "max": MaxPooling}[config.pooling]()
