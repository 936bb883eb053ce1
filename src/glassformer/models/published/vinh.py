"""Quang-Vinh Dinh, "Transformer for Text Classification" (AI Viet Nam): its classifiers without recurrence."""

from __future__ import annotations

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.layers.taps import Tap
from glassformer.models.model_config import DesignConfig, Width, Window, check_heads, how_many
from glassformer.models.parts import Parts
from glassformer.models.published import fixed_length


class VinhMLPConfig(DesignConfig):
    design: Literal["vinh-mlp"] = "vinh-mlp"
    max_seq_len: Window = 201
    """The fixed length and the start token, which is dropped."""
    embed_dim: Width = 32

    def in_words(self) -> str:
        return f"Vinh's MLP over {self.max_seq_len - 1} embeddings of width {self.embed_dim}"


class VinhMLP(nn.Module):
    """`vinh-mlp`, the first and simplest: a fixed number of words → embeddings → concatenation → one linear layer.

    As printed, padding has an embedding and is not left out. Nothing had to be repaired. The worked example has five
    words, two features and one step of SGD.
    """

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


class VinhAttentionConfig(DesignConfig):
    design: Literal["vinh-attention"] = "vinh-attention"
    max_seq_len: Window = 201
    """The fixed length and the start token, which is dropped."""
    embed_dim: Width = 32
    flattens: Literal["embeddings", "attention"] = "embeddings"
    """The input of the linear layer: `embeddings` as printed on the slide, `attention` as the document means it."""

    def in_words(self) -> str:
        return f"Vinh's attention over {self.max_seq_len - 1} embeddings of width {self.embed_dim}"


class VinhAttention(nn.Module):
    """`vinh-attention`, the next one: it adds attention without projections, softmax(DDᵀ/√d) D.

    200 words → embeddings (32) → attention → concatenation → one linear layer. It has the same parameters as `VinhMLP`.

    The class on the slide computes the attention, but then flattens the embeddings. It gives the same as `vinh-mlp`.
    `flattens = "attention"` computes what the document means. As printed, words attend to padding. Nothing had to be
    repaired.
    """

    def __init__(self, config: VinhAttentionConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        self.length, self.flattens = config.max_seq_len - 1, config.flattens
        self.word_emb = nn.Embedding(vocab_size, config.embed_dim)
        self.fc = nn.Linear(self.length * config.embed_dim, n_classes)
        self.tap_scores, self.tap_weights, self.tap_attention = Tap(), Tap(), Tap()

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], _attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        words = self.word_emb(fixed_length(token_ids, self.length))
        weights = self.tap_weights(self.tap_scores(attention_scores(words)).softmax(-1))
        attention = self.tap_attention(weights @ words)
        return self.fc((attention if self.flattens == "attention" else words).flatten(1))

    def parts(self) -> Parts:
        return Parts(embedding=(self.word_emb,), head=(self.fc,))


def attention_scores(words: Float[Tensor, "batch seq embed"]) -> Float[Tensor, "batch seq seq"]:
    """Return DDᵀ/√d."""
    return words @ words.transpose(1, 2) / math.sqrt(words.shape[-1])


class VinhTransformerConfig(DesignConfig):
    design: Literal["vinh-transformer"] = "vinh-transformer"
    max_seq_len: Window = 201
    """The fixed length and the start token, which is dropped."""
    embed_dim: Width = 32
    num_heads: Width = 4

    @model_validator(mode="after")
    def _heads_fit(self) -> VinhTransformerConfig:
        check_heads(self, "embed_dim", "num_heads")
        return self

    def in_words(self) -> str:
        length, width = self.max_seq_len - 1, self.embed_dim
        return f"Vinh's transformer, {length} embeddings of width {width}, {how_many(self.num_heads, 'head')}"


class VinhTransformer(nn.Module):
    """`vinh-transformer`: the transformer of the document, as printed.

    Token + learned position embeddings → one post-norm block of attention and a linear layer → average over the
    positions → linear.

    Unusual, and kept:
    - `nn.MultiheadAttention` is built without `batch_first` and takes the batch for the sequence. At each position
      *samples attend to each other*; a token never sees another token of its text. The answer to a text depends on the
      other texts of the batch.
    - Padding counts in the average.
    - The feed-forward is one linear layer without activation, which forces ff_dim = embed_dim. The dropout that is
      passed in is not used.

    Repaired: `squeeze()` removes only the pooled axis. As printed, a batch of one loses its batch axis.

    The document gives two sizes, those of its attention class: length 200 and width 32. They are used here. The 4 heads
    are our choice.
    """

    def __init__(self, config: VinhTransformerConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        self.length = config.max_seq_len - 1
        self.word_emb = nn.Embedding(vocab_size, config.embed_dim)
        self.pos_emb = nn.Embedding(self.length, config.embed_dim)
        self.attn = nn.MultiheadAttention(config.embed_dim, config.num_heads)
        self.ffn = nn.Linear(config.embed_dim, config.embed_dim)
        self.layernorm_1, self.layernorm_2 = nn.LayerNorm(config.embed_dim), nn.LayerNorm(config.embed_dim)
        self.fc = nn.Linear(config.embed_dim, n_classes)
        self.between_texts = _AttentionInSteps()
        self.tap_positioned, self.tap_after_attention = Tap(), Tap()
        self.tap_after_feed_forward, self.tap_average = Tap(), Tap()

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], _attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        positions = torch.arange(self.length, device=token_ids.device)
        embedded = self.word_emb(fixed_length(token_ids, self.length)) + self.pos_emb(positions)
        hidden = self.tap_positioned(embedded)
        hidden = self.layernorm_1(self.tap_after_attention(hidden + self._attended(hidden)))
        hidden = self.layernorm_2(self.tap_after_feed_forward(hidden + self.ffn(hidden)))
        return self.fc(self.tap_average(hidden.mean(1)))

    def _attended(self, hidden: Float[Tensor, "batch seq embed"]) -> Float[Tensor, "batch seq embed"]:
        if self.between_texts.heard:
            return self.between_texts(self.attn, hidden)
        attended, _ = self.attn(hidden, hidden, hidden, need_weights=False)  # reads the batch as a sequence
        return attended

    def parts(self) -> Parts:
        """There are no `blocks`: the only block is not repeated, and its modules belong to the model itself."""
        return Parts(embedding=(self.word_emb, self.pos_emb), head=(self.fc,))


class _AttentionInSteps(nn.Module):
    """The same attention in plain matrix products, for those who listen: torch's kernel does not show its steps."""

    def __init__(self) -> None:
        super().__init__()
        self.tap_projected, self.tap_query, self.tap_key, self.tap_value = Tap(), Tap(), Tap(), Tap()
        self.tap_scores, self.tap_weights, self.tap_heads, self.tap_output = Tap(), Tap(), Tap(), Tap()

    @property
    def heard(self) -> bool:
        return any(isinstance(tap, Tap) and tap.heard for tap in self.children())

    def forward(
        self, attn: nn.MultiheadAttention, hidden: Float[Tensor, "batch seq embed"]
    ) -> Float[Tensor, "batch seq embed"]:
        projected = self.tap_projected(F.linear(hidden, attn.in_proj_weight, attn.in_proj_bias))
        parts = (part.unflatten(-1, (attn.num_heads, -1)).transpose(1, 2) for part in projected.chunk(3, dim=-1))
        query, key, value = (
            tap(part) for tap, part in zip((self.tap_query, self.tap_key, self.tap_value), parts, strict=True)
        )  # (batch, heads, seq, head_dim)
        # At each position, text b looks at each text t of the batch.
        scores = self.tap_scores(torch.einsum("bhsd,thsd->bhst", query, key) / math.sqrt(query.shape[-1]))
        heads = self.tap_heads(torch.einsum("bhst,thsd->bhsd", self.tap_weights(scores.softmax(-1)), value))
        return self.tap_output(attn.out_proj(heads.transpose(1, 2).flatten(2)))
