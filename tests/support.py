"""What several rooms of tests need: weights that are not at their starting values, batches with padding, gradients."""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

import jaxtyping
import torch
from torch import Tensor, nn

from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.masks import lengths_to_mask
from glassformer.models.listening import listening
from glassformer.training import cross_fitting

Module = TypeVar("Module", bound=nn.Module)


class NAType:
    """Like `pandas.NA`: no comparison with it is true or false."""

    def __ne__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


def flat(html: str) -> str:
    """A page as a reader sees it: a line break is a space, and none between tags."""
    return re.sub(r"\s+", " ", re.sub(r">\s+<", "><", html))


def embed_by_product(token_ids: Tensor, weight: Tensor) -> Tensor:
    """Compute `TokenEmbedding` as one-hot rows times the table, which gives the same as the lookup."""
    return nn.functional.one_hot(token_ids, weight.shape[0]).to(weight.dtype) @ weight


def randomise(module: Module, std: float = 0.5) -> Module:
    """Draw every weight and statistic anew: zeros and ones at the start would hide half of what a layer does."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=std)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d):
            assert part.running_mean is not None
            assert part.running_var is not None
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
    return module


def right_padded(lengths: Sequence[int], seq: int | None = None) -> Tensor:
    """The attention mask of texts of these lengths, padded on the right."""
    return lengths_to_mask(torch.tensor(lengths), seq or max(lengths))


def gradients(output: Tensor, inputs: Sequence[Tensor], kept: Tensor | None = None) -> tuple[Tensor, ...]:
    """∂⟨output, c⟩/∂inputs for a fixed random c, zero where `kept` is False."""
    cotangent = torch.randn(output.shape, dtype=output.dtype, generator=torch.Generator().manual_seed(7))
    if kept is not None:
        cotangent = cotangent * kept[:, :, None]
    return torch.autograd.grad((output * cotangent).sum(), list(inputs))


@contextmanager
def double_precision() -> Iterator[None]:
    """What is built inside holds its weights and tables in float64; `.double()` afterwards keeps rounded tables."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(default)


def attention_of(layer: MultiHeadAttention, hidden: Tensor, mask: Tensor) -> Tensor:
    """The attention weights (batch, heads, seq, seq) that a layer shows to listeners."""
    with listening(layer, ["weights"]) as heard:
        layer(hidden, mask)
    return heard["weights"]


@contextmanager
def whole_cross_fitting() -> Iterator[None]:
    """Cross-fitting goes on to its end, however little the transformer helps."""
    with patch.object(cross_fitting, "GAIN", -math.inf):
        yield


@contextmanager
def unchecked_shapes() -> Iterator[None]:
    """Export a model: the check of all shapes asks for the sizes, and an export would take them for fixed."""
    checking = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:  # an export may be refused
        jaxtyping.config.update("jaxtyping_disable", checking)


def flipped(content: bytes, at: int) -> bytes:
    """Change one bit, as a failing disk does."""
    changed = bytearray(content)
    changed[at] ^= 1
    return bytes(changed)
