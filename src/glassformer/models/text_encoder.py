"""A pre-trained encoder that turns a text into one vector, as the library sentence-transformers describes it.

It is a `PretrainedEncoder` with another pooling, and with other layers in place of its head.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float
from pydantic import BaseModel, Field
from torch import Tensor, nn

from glassformer.layers.pooling import FirstPooling, JoinedPooling, LastPooling, MaxPooling, MeanPooling, RootPooling
from glassformer.layers.slots import Pooling
from glassformer.models.model_config import Width, how_many
from glassformer.models.pretrained import PretrainedConfig, PretrainedEncoder

PoolingName = Literal["cls", "max", "mean", "mean_sqrt_len_tokens", "lasttoken"]
ActivationName = Literal["Identity", "Tanh", "ReLU", "GELU"]
POOLINGS: Mapping[PoolingName, Callable[[], Pooling]] = {
    "cls": FirstPooling,
    "max": MaxPooling,
    "mean": MeanPooling,
    "mean_sqrt_len_tokens": RootPooling,
    "lasttoken": LastPooling,
}
"""The poolings, by the names of sentence-transformers. The vectors of several are joined in the order of the folder."""
ACTIVATIONS: Mapping[ActivationName, Callable[[], nn.Module]] = {
    "Identity": nn.Identity, "Tanh": nn.Tanh, "ReLU": nn.ReLU, "GELU": nn.GELU,
}  # fmt: skip
"""The activations of dense layers, by the names of torch."""


class DenseConfig(BaseModel, frozen=True, extra="forbid"):
    """A dense layer after the pooling."""

    width: Width
    bias: bool = True
    activation: ActivationName = "Tanh"


class TextEncoderConfig(BaseModel, frozen=True, extra="forbid"):
    """What turns a text into a vector."""

    trunk: PretrainedConfig
    vocab_size: int = Field(ge=4)
    poolings: tuple[PoolingName, ...] = Field(default=("mean",), min_length=1, max_length=len(POOLINGS))
    dense: tuple[DenseConfig, ...] = Field(default=(), max_length=8)
    unit: bool = False
    """Whether a vector is divided by its length."""
    prompt: str = Field(default="", max_length=10_000)
    """What is put before each text."""
    lowercase: bool = False

    @property
    def dims(self) -> int:
        """The width of a vector."""
        return self.dense[-1].width if self.dense else self.trunk.d_model * len(self.poolings)

    def in_words(self) -> str:
        unit = ", of length 1" if self.unit else ""
        dense = f", {how_many(len(self.dense), 'dense layer')}" if self.dense else ""
        return f"{self.trunk.in_words()}, pooling {' and '.join(self.poolings)}{dense}{unit}"


class UnitLength(nn.Module):
    """Divides each vector by its length."""

    def forward(self, vectors: Float[Tensor, "batch dims"]) -> Float[Tensor, "batch dims"]:
        return F.normalize(vectors, dim=1)


def build_text_encoder(config: TextEncoderConfig) -> PretrainedEncoder:
    """Build the encoder with arbitrary weights. Its outputs are vectors (batch, dims)."""
    encoder = PretrainedEncoder(config.trunk, config.vocab_size, n_classes=1)
    encoder.pooling = JoinedPooling(POOLINGS[name]() for name in config.poolings)
    layers, width = list[nn.Module](), config.trunk.d_model * len(config.poolings)
    for dense in config.dense:
        layers += [nn.Linear(width, dense.width, bias=dense.bias), ACTIVATIONS[dense.activation]()]
        width = dense.width
    encoder.head = nn.Sequential(*layers, *([UnitLength()] if config.unit else []))
    return encoder
