"""`notes-decoder`: the decoder of the notes "Deep Learning", as a language model and as an encoder that classifies.

Embeddings + sinusoidal positions, dropout → pre-norm blocks: separate heads without bias, a ReLU feed-forward four
times as wide → LayerNorm → linear.

Unusual, and kept: padding is not masked, and every text is padded to `block_size` tokens. Attention is a loop over
heads.

Added for classification (`is_decoder` off): the last linear layer has one output per class, and its logits are averaged
over all positions. The notes print only a language model. Nothing had to be repaired for texts of the fixed length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from glassformer.layers.cache import KeyValueCache
from glassformer.layers.dropout import Dropout
from glassformer.layers.positions import sinusoidal_table
from glassformer.layers.slots import AttentionMask, Positions
from glassformer.layers.taps import Tap
from glassformer.models.language_model import TokenPredictor
from glassformer.models.model_config import Depth, DesignConfig, Width, Window, check_heads, how_many
from glassformer.models.parts import Parts
from glassformer.models.published import fixed_length


class NotesDecoderConfig(DesignConfig):
    design: Literal["notes-decoder"] = "notes-decoder"
    max_seq_len: Window = 65
    """`block_size` tokens and the start token, which is dropped."""
    emb_dim: Annotated[Width, Field(multiple_of=2)] = 64
    n_layers: Depth = 2
    num_heads: Width = 4
    is_decoder: bool = False
    """Whether a position attends only to itself and the positions before it."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout after the positions, of the attention weights and in the feed-forward."""

    @model_validator(mode="after")
    def _heads_fit(self) -> NotesDecoderConfig:
        check_heads(self, "emb_dim", "num_heads")
        return self

    def in_words(self) -> str:
        kind = "decoder" if self.is_decoder else "decoder as an encoder"
        blocks, heads = how_many(self.n_layers, "block"), how_many(self.num_heads, "head")
        return f"the notes' {kind}, {blocks} of width {self.emb_dim}, {heads}"


class NotesLanguageModelConfig(NotesDecoderConfig):
    design: Literal["notes-language-model"] = "notes-language-model"  # type: ignore[assignment]
    max_seq_len: Window = 64
    """`block_size`."""
    is_decoder: Literal[True] = True
    causal: ClassVar[bool] = True


class _Notes(nn.Module):
    """embed + positions → blocks → norm; `final_linear` has `outputs` outputs."""

    positions: Tensor

    def __init__(self, config: NotesDecoderConfig, length: int, vocab_size: int, outputs: int) -> None:
        super().__init__()
        self.length = length
        self.embedding = nn.Embedding(vocab_size, config.emb_dim)
        self.register_buffer("positions", sinusoidal_table(length, config.emb_dim), persistent=False)
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.Sequential(*(_DecoderBlock(config) for _ in range(config.n_layers)))
        self.final_layernorm = nn.LayerNorm(config.emb_dim)
        self.final_linear = nn.Linear(config.emb_dim, outputs)
        self.tap_positioned, self.tap_logits = Tap(), Tap()

    def hidden(self, token_ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq emb_dim"]:
        embedded = self.tap_positioned(self.embedding(token_ids) + self.positions[: token_ids.shape[1]])
        return self.final_layernorm(self.blocks(self.dropout(embedded)))

    def parts(self) -> Parts:
        return Parts(
            embedding=(self.embedding,),
            blocks=tuple(self.blocks),
            norm=(self.final_layernorm,),
            head=(self.final_linear,),
        )


class NotesDecoder(_Notes):
    """The classifier: it averages the logits of all positions."""

    def __init__(self, config: NotesDecoderConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__(config, config.max_seq_len - 1, vocab_size, n_classes)

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], _attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        return self.tap_logits(self.final_linear(self.hidden(fixed_length(token_ids, self.length))).mean(1))


class NotesLanguageModel(_Notes, TokenPredictor):
    """The language model, as printed: the linear layer predicts the next token at every position.

    Repaired: positions and mask are cut to the length of the text. As printed, it must be `block_size`.

    Documents in one window attend to each other: the notes cut one long text into windows.
    """

    def __init__(self, config: NotesLanguageModelConfig, vocab_size: int) -> None:
        super().__init__(config, config.max_seq_len, vocab_size, vocab_size)

    def read(
        self,
        token_ids: Int[Tensor, "batch seq"],
        _attention_mask: AttentionMask,
        *,
        positions: Positions = None,  # noqa: ARG002 (required by the base class; here they are always those of the window)
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch seq emb_dim"]:
        assert not caches, "the notes have no cache"
        return self.hidden(token_ids)

    def new_caches(self, _batch: int, _max_seq_len: int) -> list[KeyValueCache]:
        return []

    def logits(self, hidden: Float[Tensor, "*places emb_dim"]) -> Float[Tensor, "*places vocab"]:
        return self.tap_logits(self.final_linear(hidden))


class _DecoderBlock(nn.Module):
    """x ← x + attention(norm(x)); x ← x + feed-forward(norm(x))."""

    def __init__(self, config: NotesDecoderConfig) -> None:
        super().__init__()
        wide, dropout = config.emb_dim, config.dropout
        self.heads = nn.ModuleList(_Head(config) for _ in range(config.num_heads))
        self.projection = nn.Sequential(nn.Linear(wide, wide), Dropout(dropout))
        self.feedforward = nn.Sequential(
            nn.Linear(wide, 4 * wide), nn.ReLU(), nn.Linear(4 * wide, wide), Dropout(dropout)
        )
        self.layernorm1, self.layernorm2 = nn.LayerNorm(wide), nn.LayerNorm(wide)
        self.tap_after_attention, self.tap_after_feed_forward = Tap(), Tap()

    def forward(self, hidden: Float[Tensor, "batch seq emb_dim"]) -> Float[Tensor, "batch seq emb_dim"]:
        normed = self.layernorm1(hidden)
        mixed = self.projection(torch.cat([head(normed) for head in self.heads], dim=-1))
        hidden = self.tap_after_attention(hidden + mixed)
        return self.tap_after_feed_forward(hidden + self.feedforward(self.layernorm2(hidden)))


class _Head(nn.Module):
    """softmax(QKᵀ/√head) V of one head, with dropout on the weights."""

    def __init__(self, config: NotesDecoderConfig) -> None:
        super().__init__()
        size = config.emb_dim // config.num_heads
        self.key, self.query, self.value = (nn.Linear(config.emb_dim, size, bias=False) for _ in range(3))
        self.dropout, self.is_decoder = Dropout(config.dropout), config.is_decoder
        self.tap_scores, self.tap_weights = Tap(), Tap()

    def forward(self, hidden: Float[Tensor, "batch seq emb_dim"]) -> Float[Tensor, "batch seq head"]:
        key, query, value = self.key(hidden), self.query(hidden), self.value(hidden)
        weights = query @ key.transpose(-2, -1) * key.shape[-1] ** -0.5
        if self.is_decoder:
            seq = hidden.shape[1]
            weights = weights.masked_fill(torch.ones(seq, seq, device=hidden.device).tril() == 0, float("-inf"))
        return self.dropout(self.tap_weights(self.tap_scores(weights).softmax(-1))) @ value
