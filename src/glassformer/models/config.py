"""The settings of a classifier, the named presets, and the number of parameters that follow from them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ModelConfig(BaseModel):
    """The shape of a classifier. Vocabulary and classes come from the data and are not settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    d_model: int = Field(default=128, ge=1)
    """Width of every token's vector."""
    n_layers: int = Field(default=2, ge=0)
    """Blocks, one after another."""
    n_heads: int = Field(default=4, ge=1)
    """Attention heads in each block."""
    d_ff: int = Field(default=256, ge=1)
    """Inner width of the feed-forward."""
    max_seq_len: int = Field(default=512, ge=2)
    """The window: tokens read at once. Longer texts are read in overlapping windows."""
    embedding: Literal["learned", "one-hot"] = "learned"
    positions: Literal["none", "sinusoidal", "learned", "rotary", "rotary-on-embeddings"] = "rotary"
    attention: Literal["full", "causal"] = "full"
    norm: Literal["layer", "rms", "batch", "none"] = "rms"
    residual: Literal["pre-norm", "post-norm"] = "pre-norm"
    feed_forward: Literal["linear", "relu", "gelu", "glu", "swiglu", "geglu"] = "geglu"
    pooling: Literal["first", "last", "mean", "max", "attention", "flatten"] = "mean"
    dropout: float = Field(default=0.3, ge=0, lt=1)
    """Share dropped after the embedding, each attention and each feed-forward, and before the head."""
    attention_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of attention weights dropped."""

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if self.d_model % self.n_heads:
            raise ValueError(
                f"d_model must be a multiple of n_heads, got d_model={self.d_model}, n_heads={self.n_heads}"
            )
        rotated = {"rotary": self.d_model // self.n_heads, "rotary-on-embeddings": self.d_model}
        if rotated.get(self.positions, 0) % 2:
            raise ValueError(
                f"positions={self.positions!r} turns pairs of features and needs an even width, "
                f"got d_model={self.d_model}, n_heads={self.n_heads}"
            )
        return self


PRESETS: dict[str, ModelConfig] = {
    "tiny": ModelConfig(d_model=64, n_layers=1, n_heads=2, d_ff=128, max_seq_len=256),
    "small": ModelConfig(),
    "base": ModelConfig(d_model=256, n_layers=4, n_heads=8, d_ff=512),
}


def parameter_count(config: ModelConfig, vocab_size: int, n_classes: int) -> int:
    """The number of trained values of `Classifier(config, vocab_size, n_classes)`, worked out without building it."""
    d_model, d_ff = config.d_model, config.d_ff
    norm = {"layer": 2 * d_model, "batch": 2 * d_model, "rms": d_model, "none": 0}[config.norm]
    embedding = vocab_size * d_model if config.embedding == "learned" else 0
    positions = config.max_seq_len * d_model if config.positions == "learned" else 0
    attention = 4 * d_model * d_model
    feed_forward = {
        "linear": d_model * d_model,
        "relu": 2 * d_model * d_ff,
        "gelu": 2 * d_model * d_ff,
        "glu": 3 * d_model * d_ff,
        "swiglu": 3 * d_model * d_ff,
        "geglu": 3 * d_model * d_ff,
    }[config.feed_forward]
    final_norm = norm if config.residual == "pre-norm" else 0
    pooling = d_model if config.pooling == "attention" else 0
    pooled = d_model * (config.max_seq_len if config.pooling == "flatten" else 1)
    head = pooled * n_classes + n_classes
    blocks = config.n_layers * (attention + feed_forward + 2 * norm)
    return embedding + positions + blocks + final_norm + pooling + head
