"""The part that our models share: token ids in, one vector per token out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.block import Block
from glassformer.layers.cache import KeyValueCache
from glassformer.layers.dropout import Dropout
from glassformer.layers.embeddings import OneHotEmbedding, TokenEmbedding
from glassformer.layers.feedforward import Activation, FeedForward, GatedFeedForward, LinearFeedForward
from glassformer.layers.masks import AttentionMask, CausalPattern, FullPattern
from glassformer.layers.norms import BatchNorm, LayerNorm, NoNorm, RMSNorm
from glassformer.layers.positions import LearnedPositions, NoPositions, Positions, Rotary, SinusoidalPositions
from glassformer.models.model_config import TrunkConfig

_EMBEDDING_STD = 0.02


class Trunk(nn.Module):
    """embed → positions → blocks → norm. A model is a trunk and what it makes of the vectors."""

    def __init__(self, config: TrunkConfig, vocab_size: int) -> None:
        super().__init__()
        self.d_model = config.d_model
        self.embedding = _embedding(config, vocab_size)
        self.positions = _positions(config)
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.n_layers))
        self.norm = _norm(config) if config.residual == "pre-norm" else NoNorm()

    def read(
        self,
        token_ids: Int[Tensor, "batch seq"],
        attention_mask: AttentionMask,
        *,
        positions: Positions = None,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """The last hidden states.

        Args:
            positions: where each token stands in its document, where that is not its place in the row.
            caches: one per block, of the tokens that were read before these; they take these in. For causal attention.
        """
        if caches:
            positions = caches[0].positions(token_ids.shape[1])
        hidden = self.dropout(self.positions(self.embedding(token_ids), positions))
        for block, cache in zip(self.blocks, caches or repeat(None), strict=False):
            hidden = block(hidden, attention_mask, cache)
        return self.norm(hidden, attention_mask)

    def new_caches(self, batch: int, max_seq_len: int) -> list[KeyValueCache]:
        """Empty caches for `read`, one per block."""
        device = next(self.parameters()).device
        return [KeyValueCache(batch, max_seq_len, device) for _ in self.blocks]

    def _initialise(self) -> None:
        """Unit-variance projections into a branch, zeros out of it: a new block changes nothing.

        With zero-initialised outputs the model starts as a bag of embeddings and grows its depth as training needs it
        (Zhang et al. 2019, "Fixup"; Bachlechner et al. 2021, "ReZero").
        """
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for name, parameter in self.named_parameters():
            if name.endswith("out_projection.weight"):
                nn.init.zeros_(parameter)


def _embedding(config: TrunkConfig, vocab_size: int) -> nn.Module:
    if config.embedding == "one-hot":
        return OneHotEmbedding(vocab_size, config.d_model)
    return TokenEmbedding(vocab_size, config.d_model, std=_EMBEDDING_STD)


def _positions(config: TrunkConfig) -> nn.Module:
    if config.positions == "sinusoidal":
        scale = 1.0 if config.embedding == "one-hot" else _EMBEDDING_STD  # as large as the words beside them
        return SinusoidalPositions(config.max_seq_len, config.d_model, scale=scale)
    if config.positions == "learned":
        return LearnedPositions(config.max_seq_len, config.d_model)
    if config.positions == "rotary-on-embeddings":
        return Rotary(config.max_seq_len, config.d_model)
    return NoPositions()  # "rotary" acts on queries and keys


def _block(config: TrunkConfig) -> Block:
    rotary = config.positions == "rotary"
    attention = MultiHeadAttention(
        config.d_model,
        config.n_heads,
        pattern=CausalPattern() if config.attention == "causal" else FullPattern(),
        rotation=Rotary(config.max_seq_len, config.d_model // config.n_heads) if rotary else NoPositions(),
        dropout=config.attention_dropout,
    )
    pre = config.residual == "pre-norm"
    return Block(
        attention=attention,
        feed_forward=_feed_forward(config),
        attention_pre_norm=_norm(config) if pre else NoNorm(),
        attention_post_norm=NoNorm() if pre else _norm(config),
        feed_forward_pre_norm=_norm(config) if pre else NoNorm(),
        feed_forward_post_norm=NoNorm() if pre else _norm(config),
        dropout=config.dropout,
    )


def _feed_forward(config: TrunkConfig) -> nn.Module:
    if config.feed_forward == "linear":
        return LinearFeedForward(config.d_model, bias=False)
    plain: dict[str, Activation] = {"relu": F.relu, "gelu": F.gelu}
    if config.feed_forward in plain:
        return FeedForward(config.d_model, config.d_ff, plain[config.feed_forward])
    gated: dict[str, Activation] = {"glu": F.sigmoid, "swiglu": F.silu, "geglu": F.gelu}
    return GatedFeedForward(config.d_model, config.d_ff, gated[config.feed_forward])


def _norm(config: TrunkConfig) -> nn.Module:
    if config.norm == "none":
        return NoNorm()
    return {"layer": LayerNorm, "rms": RMSNorm, "batch": BatchNorm}[config.norm](config.d_model)
