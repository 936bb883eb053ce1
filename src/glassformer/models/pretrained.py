"""Pre-trained encoders of others, built from our layers: BERT, DistilBERT, RoBERTa, ModernBERT, EuroBERT.

All have the same structure; the config chooses the layers. `families.py` says how their files are read.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.block import Block
from glassformer.layers.dropout import Dropout
from glassformer.layers.embeddings import TokenEmbedding
from glassformer.layers.feedforward import Activation, FeedForward, GatedFeedForward
from glassformer.layers.heads import DenseHead
from glassformer.layers.masks import FullPattern, LocalPattern
from glassformer.layers.norms import LayerNorm, NoNorm, RMSNorm
from glassformer.layers.pooling import FirstPooling, MeanPooling
from glassformer.layers.positions import LearnedPositions, NoPositions, Rotary
from glassformer.layers.slots import Norm, Pattern, Pooling, PositionLayer
from glassformer.layers.taps import Tap
from glassformer.models.bricks import block_norms
from glassformer.models.model_config import MOST_BLOCKS, DesignConfig, Width, Window, check_heads, how_many
from glassformer.models.parts import Parts

ActivationName = Literal["gelu", "gelu-tanh", "relu", "silu", "tanh", "sigmoid"]
_ACTIVATIONS: dict[ActivationName, Activation] = {
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
    "tanh": F.tanh,
    "sigmoid": F.sigmoid,
}


class PretrainedConfig(DesignConfig):
    """The settings of a pre-trained encoder. The defaults are those of the smallest BERT of Turc et al. 2019."""

    design: Literal["pretrained"] = "pretrained"
    d_model: Width = 128
    n_layers: int = Field(default=2, ge=1, le=MOST_BLOCKS)
    n_heads: Width = 2
    d_ff: Width = 512
    max_seq_len: Window = 512
    residual: Literal["pre-norm", "post-norm"] = "post-norm"
    norm: Literal["layer", "rms"] = "layer"
    embedding_norm: bool = True
    """Whether the embeddings are normalised. If they are, the first attention of a pre-norm model has no norm."""
    norm_eps: float = Field(default=1e-12, gt=0, allow_inf_nan=False)
    norm_bias: bool = True
    attention_bias: bool = True
    feed_forward: Literal["plain", "gated"] = "plain"
    feed_forward_bias: bool = True
    activation: ActivationName = "gelu"
    positions: Literal["learned", "rotary"] = "learned"
    rotary_base: float = Field(default=10_000.0, gt=0, allow_inf_nan=False)
    """Base of rotary positions in the blocks that attend to the whole text."""
    local_blocks: tuple[int, ...] = ()
    """The blocks, counted from 0, in which tokens attend only to near tokens."""
    local_reach: int = Field(default=64, ge=0, le=2**20)
    """How far tokens of local blocks attend to either side, in tokens."""
    local_rotary_base: float = Field(default=10_000.0, gt=0, allow_inf_nan=False)
    pooling: Literal["first", "mean"] = "first"
    head_activation: ActivationName = "tanh"
    head_norm: Literal["layer", "none"] = "none"
    head_bias: bool = True
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout after the embedding, after each attention and feed-forward, and before the last matrix."""
    attention_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout of attention weights."""

    @model_validator(mode="after")
    def _fields_agree(self) -> PretrainedConfig:
        check_heads(self)
        if self.positions == "rotary" and self.d_model // self.n_heads % 2:
            raise ValueError(
                "positions='rotary' rotates pairs of features and needs heads of an even width, "
                f"got d_model={self.d_model}, n_heads={self.n_heads}"
            )
        if any(not 0 <= block < self.n_layers for block in self.local_blocks):
            raise ValueError(
                f"local_blocks must be numbers of blocks, got {self.local_blocks} with n_layers={self.n_layers}"
            )
        return self

    def in_words(self) -> str:
        local = f", {len(self.local_blocks)} of them local" if self.local_blocks else ""
        return f"{how_many(self.n_layers, 'block')} of width {self.d_model}{local}, {how_many(self.n_heads, 'head')}"


class PretrainedEncoder(nn.Module):
    """Turns token ids into class logits: embed → positions → norm → blocks → norm → pool → dense → activation → head.

    The initial weights are random, as BERT's were (Devlin et al. 2019), but the last matrix starts at zero: with a new
    head all classes are equally likely.
    """

    def __init__(self, config: PretrainedConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        learned = config.positions == "learned"
        self.embedding = TokenEmbedding(vocab_size, config.d_model)
        self.positions = LearnedPositions(config.max_seq_len, config.d_model) if learned else NoPositions()
        self.embedding_norm = _norm(config) if config.embedding_norm else NoNorm()
        self.dropout = Dropout(config.dropout)
        whole = _Attending(FullPattern(), _rotation(config, config.rotary_base))
        local = _Attending(LocalPattern(config.local_reach), _rotation(config, config.local_rotary_base))
        self.blocks = nn.ModuleList(
            _block(
                config,
                local if number in config.local_blocks else whole,
                normalised=number == 0 and config.embedding_norm,
            )
            for number in range(config.n_layers)
        )
        self.norm = _norm(config) if config.residual == "pre-norm" else NoNorm()
        self.pooling: Pooling = FirstPooling() if config.pooling == "first" else MeanPooling()
        head = DenseHead(
            config.d_model,
            n_classes,
            _ACTIVATIONS[config.head_activation],
            norm=nn.LayerNorm(config.d_model, eps=config.norm_eps, bias=config.norm_bias)
            if config.head_norm == "layer"
            else nn.Identity(),
            dropout=config.dropout,
            bias=config.head_bias,
        )
        self.head: nn.Module = head
        self.tap_embedding, self.tap_positions, self.tap_hidden = Tap(), Tap(), Tap()
        self.tap_pooled, self.tap_logits = Tap(), Tap()
        self._initialise()
        nn.init.zeros_(head.out_projection.weight)

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        hidden = self.positions(self.tap_embedding(self.embedding(token_ids)))
        hidden = self.tap_positions(self.dropout(self.embedding_norm(hidden, attention_mask)))
        for block in self.blocks:
            hidden = block(hidden, attention_mask)
        hidden = self.tap_hidden(self.norm(hidden, attention_mask))
        pooled = self.tap_pooled(self.pooling(hidden, attention_mask))
        return self.tap_logits(self.head(pooled))

    def parts(self) -> Parts:
        return Parts(
            embedding=(self.embedding, self.positions, self.embedding_norm),
            blocks=tuple(self.blocks),
            norm=(self.norm,),
            pooling=(self.pooling,),
            head=(self.head,),
        )

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)


class _Attending(NamedTuple):
    """The pattern and the rotation of attention. All blocks of a kind share them."""

    pattern: Pattern
    rotation: PositionLayer


def _rotation(config: PretrainedConfig, base: float) -> PositionLayer:
    if config.positions == "learned":
        return NoPositions()
    return Rotary(config.max_seq_len, config.d_model // config.n_heads, base=base)


def _norm(config: PretrainedConfig) -> Norm:
    if config.norm == "rms":
        return RMSNorm(config.d_model, eps=config.norm_eps)
    return LayerNorm(config.d_model, eps=config.norm_eps, bias=config.norm_bias)


def _block(config: PretrainedConfig, attending: _Attending, *, normalised: bool) -> Block:
    """Build a block. With `normalised`, its input needs no norm before attention."""
    feed_forward = GatedFeedForward if config.feed_forward == "gated" else FeedForward
    return Block(
        attention=MultiHeadAttention(
            config.d_model,
            config.n_heads,
            pattern=attending.pattern,
            rotation=attending.rotation,
            dropout=config.attention_dropout,
            bias=config.attention_bias,
        ),
        feed_forward=feed_forward(
            config.d_model, config.d_ff, _ACTIVATIONS[config.activation], bias=config.feed_forward_bias
        ),
        **block_norms(lambda: _norm(config), residual=config.residual, normalised=normalised),
        dropout=config.dropout,
    )
