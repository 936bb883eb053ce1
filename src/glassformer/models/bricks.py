"""From the settings of our own models to their layers, and the initial weights of a new model."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import nn

from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.block import Block
from glassformer.layers.embeddings import OneHotEmbedding, TextsEmbedding, TokenEmbedding
from glassformer.layers.feedforward import Activation, FeedForward, GatedFeedForward, LinearFeedForward
from glassformer.layers.heads import OrderedHead
from glassformer.layers.masks import CausalPattern, FullPattern
from glassformer.layers.norms import BatchNorm, LayerNorm, NoNorm, RMSNorm
from glassformer.layers.pooling import (
    AttentionPooling,
    FirstPooling,
    FlattenPooling,
    LastPooling,
    MaxPooling,
    MeanPooling,
)
from glassformer.layers.positions import LearnedPositions, NoPositions, Rotary, SinusoidalPositions
from glassformer.layers.slots import Embedding, FeedForwardLayer, Norm, Pooling, PositionLayer
from glassformer.models.model_config import ModelConfig, SeveralTextsConfig, TrunkConfig

_EMBEDDING_STD = 0.02


def build_embedding(config: TrunkConfig, vocab_size: int) -> Embedding:
    if config.embedding == "one-hot":
        return OneHotEmbedding(vocab_size, config.d_model)
    if isinstance(config, SeveralTextsConfig):
        return TextsEmbedding(vocab_size, config.d_model, config.texts, separator=config.separator, std=_EMBEDDING_STD)
    return TokenEmbedding(vocab_size, config.d_model, std=_EMBEDDING_STD)


def build_positions(config: TrunkConfig) -> PositionLayer:
    """Build the layer that adds positions to the embeddings. `rotary` adds none here: it acts on queries and keys."""
    if config.positions == "sinusoidal":
        scale = 1.0 if config.embedding == "one-hot" else _EMBEDDING_STD  # as large as the words beside them
        return SinusoidalPositions(config.max_seq_len, config.d_model, scale=scale)
    if config.positions == "learned":
        return LearnedPositions(config.max_seq_len, config.d_model)
    if config.positions == "rotary-on-embeddings":
        return Rotary(config.max_seq_len, config.d_model)
    return NoPositions()


def build_block(config: TrunkConfig) -> Block:
    rotary = config.positions == "rotary"
    attention = MultiHeadAttention(
        config.d_model,
        config.n_heads,
        pattern=CausalPattern() if config.attention == "causal" else FullPattern(),
        rotation=Rotary(config.max_seq_len, config.d_model // config.n_heads) if rotary else NoPositions(),
        dropout=config.attention_dropout,
    )
    norms = block_norms(lambda: _norm(config), residual=config.residual)
    return Block(attention=attention, feed_forward=_feed_forward(config), **norms, dropout=config.dropout)


def block_norms(norm: Callable[[], Norm], *, residual: str, normalised: bool = False) -> dict[str, Norm]:
    """Return the norms of a pre-norm or post-norm block. If its input is `normalised`, attention needs no norm."""
    pre = residual == "pre-norm"
    return {
        "attention_pre_norm": norm() if pre and not normalised else NoNorm(),
        "attention_post_norm": NoNorm() if pre else norm(),
        "feed_forward_pre_norm": norm() if pre else NoNorm(),
        "feed_forward_post_norm": NoNorm() if pre else norm(),
    }


def build_last_norm(config: TrunkConfig) -> Norm:
    """Build the norm after the last block. Post-norm blocks end with a norm, and need no other."""
    return _norm(config) if config.residual == "pre-norm" else NoNorm()


def build_pooling(config: ModelConfig) -> Pooling:
    if config.pooling == "attention":
        return AttentionPooling(config.d_model)
    if config.pooling == "flatten":
        return FlattenPooling(config.max_seq_len)
    plain: dict[str, type[FirstPooling | LastPooling | MeanPooling | MaxPooling]] = {
        "first": FirstPooling, "last": LastPooling, "mean": MeanPooling, "max": MaxPooling
    }  # fmt: skip
    return plain[config.pooling]()


def build_head(config: ModelConfig, n_classes: int) -> nn.Linear | OrderedHead:
    width = config.d_model * (config.max_seq_len if config.pooling == "flatten" else 1)
    return OrderedHead(width, n_classes) if config.head == "ordered" else nn.Linear(width, n_classes)


def initialise(model: nn.Module) -> None:
    """Set the initial weights.

    The projections into a branch keep unit variance. Those out of it start at zero: a new block changes nothing, and
    the model starts as a bag of embeddings (Zhang et al. 2019, "Fixup"; Bachlechner et al. 2021, "ReZero").
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for name, parameter in model.named_parameters():
        if name.endswith("out_projection.weight"):
            nn.init.zeros_(parameter)


def _feed_forward(config: TrunkConfig) -> FeedForwardLayer:
    if config.feed_forward == "linear":
        return LinearFeedForward(config.d_model, bias=False)
    plain: dict[str, Activation] = {"relu": F.relu, "gelu": F.gelu}
    if config.feed_forward in plain:
        return FeedForward(config.d_model, config.d_ff, plain[config.feed_forward])
    gated: dict[str, Activation] = {"glu": F.sigmoid, "swiglu": F.silu, "geglu": F.gelu}
    return GatedFeedForward(config.d_model, config.d_ff, gated[config.feed_forward])


def _norm(config: TrunkConfig) -> Norm:
    if config.norm == "none":
        return NoNorm()
    return {"layer": LayerNorm, "rms": RMSNorm, "batch": BatchNorm}[config.norm](config.d_model)
