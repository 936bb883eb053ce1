"""Analytic gradients against finite differences, for the input and every weight of every brick."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from glassformer.layers.attention import Kernel, MultiHeadAttention, fused_attention, plain_attention
from glassformer.layers.block import Block
from glassformer.layers.embeddings import OneHotEmbedding, TextsEmbedding, TokenEmbedding
from glassformer.layers.feedforward import FeedForward, GatedFeedForward, LinearFeedForward
from glassformer.layers.heads import DenseHead
from glassformer.layers.masks import CausalPattern, FullPattern, LocalPattern
from glassformer.layers.norms import BatchNorm, LayerNorm, NoNorm, RMSNorm
from glassformer.layers.pooling import (
    AttentionPooling,
    FirstPooling,
    FlattenPooling,
    JoinedPooling,
    LastPooling,
    MaxPooling,
    MeanPooling,
    RootPooling,
)
from glassformer.layers.positions import LearnedPositions, Rotary, SinusoidalPositions
from glassformer.layers.slots import Pattern
from tests.support import randomise, right_padded

SEQ, D_MODEL = 3, 4
MASK = right_padded([3, 2])


def attention(pattern: Pattern, kernel: Kernel) -> MultiHeadAttention:
    return MultiHeadAttention(D_MODEL, 2, pattern=pattern, rotation=Rotary(5, 2), bias=True, kernel=kernel)


def block(norm: type[LayerNorm | RMSNorm]) -> Block:
    return Block(
        attention=attention(FullPattern(), fused_attention),
        feed_forward=GatedFeedForward(D_MODEL, 3, F.silu),
        attention_pre_norm=norm(D_MODEL),
        attention_post_norm=NoNorm(),
        feed_forward_pre_norm=NoNorm(),
        feed_forward_post_norm=norm(D_MODEL),
    )


MASKED = {
    "full attention, fused": attention(FullPattern(), fused_attention),
    "causal attention, fused": attention(CausalPattern(), fused_attention),
    "full attention, plain": attention(FullPattern(), plain_attention),
    "causal attention, plain": attention(CausalPattern(), plain_attention),
    "block with RMSNorm": block(RMSNorm),
    "block with LayerNorm": block(LayerNorm),
    "local attention, fused": attention(LocalPattern(1), fused_attention),
    "LayerNorm": LayerNorm(D_MODEL),
    "LayerNorm without bias": LayerNorm(D_MODEL, bias=False),
    "RMSNorm": RMSNorm(D_MODEL),
    "BatchNorm in training": BatchNorm(D_MODEL),
    "BatchNorm in evaluation": BatchNorm(D_MODEL).eval(),
    "no norm": NoNorm(),
    "first": FirstPooling(),
    "last": LastPooling(),
    "mean": MeanPooling(),
    "max": MaxPooling(),
    "root of the number": RootPooling(),
    "joined": JoinedPooling([FirstPooling(), MeanPooling()]),
    "attention pooling": AttentionPooling(D_MODEL),
    "flatten": FlattenPooling(5),
}
UNMASKED = {
    "linear": LinearFeedForward(D_MODEL),
    "ReLU": FeedForward(D_MODEL, 3, F.relu),
    "GELU": FeedForward(D_MODEL, 3, F.gelu, bias=True),
    "GLU": GatedFeedForward(D_MODEL, 3, F.sigmoid),
    "SwiGLU": GatedFeedForward(D_MODEL, 3, F.silu),
    "GEGLU": GatedFeedForward(D_MODEL, 3, F.gelu, bias=True),
    "sinusoidal": SinusoidalPositions(5, D_MODEL),
    "learned positions": LearnedPositions(5, D_MODEL),
    "rotary": Rotary(5, D_MODEL),
}


def check(layer: nn.Module, inputs: tuple[Tensor, ...], *others: Tensor) -> None:
    """gradcheck of layer(*inputs, *others) with respect to `inputs` and every weight of the layer."""
    layer = randomise(layer.double())
    names, weights = zip(*layer.named_parameters(), strict=True) if list(layer.parameters()) else ((), ())

    def function(*values: Tensor) -> Tensor:
        replaced = dict(zip(names, values[len(inputs) :], strict=True))
        return functional_call(layer, replaced, (*values[: len(inputs)], *others))

    assert torch.autograd.gradcheck(function, (*inputs, *weights))


def hidden() -> Tensor:
    return torch.randn(2, SEQ, D_MODEL, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("layer", MASKED.values(), ids=MASKED.keys())
def test_layers_that_see_the_mask(layer: nn.Module) -> None:
    check(layer, (hidden(),), MASK)


@pytest.mark.parametrize("layer", UNMASKED.values(), ids=UNMASKED.keys())
def test_layers_that_do_not(layer: nn.Module) -> None:
    check(layer, (hidden(),))


def test_token_embedding() -> None:
    check(TokenEmbedding(5, D_MODEL), (), torch.tensor([[0, 4, 2], [4, 4, 1]]))


def test_texts_embedding() -> None:
    check(TextsEmbedding(8, D_MODEL, 2), (), torch.tensor([[2, 4, 7, 4], [2, 3, 7, 5]]))


def test_dense_head() -> None:
    pooled = torch.randn(2, D_MODEL, dtype=torch.float64, requires_grad=True)
    check(DenseHead(D_MODEL, 3, F.tanh, norm=nn.LayerNorm(D_MODEL)), (pooled,))


def test_one_hot_embedding_has_nothing_to_learn() -> None:
    layer = OneHotEmbedding(3, D_MODEL)
    assert list(layer.parameters()) == []
    assert not layer(torch.tensor([[0, 2]])).requires_grad
