"""`sentiment140`: the notebook "Transformer Model from Scratch for Sentiment Classification", as printed.

Token embeddings, rotated → six post-norm blocks: attention with 8 heads and biases, RMSNorm, a gated feed-forward →
the first token's vector → three classes.

Unusual, and kept:
- The rotation is applied once to the embeddings, not to queries and keys. Scores then depend on more than distance.
- The gate is a sigmoid: it is GLU, though the notebook calls it SwiGLU.
- There is a third, neutral class that does not occur in training.
- Dropout is applied inside the feed-forward, on both branches and before the classifier.

Changed:
- Rows are padded to the longest row of their batch, not to 64. This changes no logit: padding is masked in attention,
  and only the first token is read.
- In evaluation the unused class is left out: there is one logit per label.
- The rotation pairs features of the two halves, not neighbours. With random weights this is the same up to a
  permutation of features.
- The start token replaces the notebook's [CLS].
"""

from typing import Annotated, ClassVar, Literal

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.dropout import Dropout
from glassformer.layers.masks import FullPattern
from glassformer.layers.norms import RMSNorm
from glassformer.layers.positions import NoPositions, Rotary
from glassformer.layers.taps import Tap
from glassformer.models.model_config import Depth, DesignConfig, Width, Window, how_many
from glassformer.models.parts import Parts


class Sentiment140Config(DesignConfig):
    one_label_only: ClassVar[bool] = True  # in training there is a logit for a class without a label

    design: Literal["sentiment140"] = "sentiment140"
    max_seq_len: Window = 64
    d_model: Annotated[Width, Field(multiple_of=2)] = 256
    n_layers: Depth = 6
    n_heads: Width = 8
    d_ff: Width = 1024
    unused_classes: int = Field(default=1, ge=0, le=1_000)
    """Number of classes that no text has; in the notebook, the neutral class."""
    dropout: float = Field(default=0.3, ge=0, lt=1)

    def in_words(self) -> str:
        blocks, heads = how_many(self.n_layers, "block"), how_many(self.n_heads, "head")
        return f"the sentiment140 notebook's {blocks} of width {self.d_model}, {heads}"


class Sentiment140(nn.Module):
    """With a vocabulary of 119,547 and three classes: 36,919,299 parameters."""

    def __init__(self, config: Sentiment140Config, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        self.n_classes = n_classes
        self.embedding = nn.Embedding(vocab_size, config.d_model)
        self.rotation = Rotary(config.max_seq_len, config.d_model)
        self.blocks = nn.ModuleList(_EncoderBlock(config) for _ in range(config.n_layers))
        self.dropout = Dropout(config.dropout)
        self.classifier = nn.Linear(config.d_model, n_classes + config.unused_classes)

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch classes"]:
        hidden = self.rotation(self.embedding(token_ids))
        for block in self.blocks:
            hidden = block(hidden, attention_mask)
        logits = self.classifier(self.dropout(hidden[:, 0]))
        return logits if self.training else logits[:, : self.n_classes]

    def parts(self) -> Parts:
        return Parts(embedding=(self.embedding,), blocks=tuple(self.blocks), head=(self.classifier,))


class _EncoderBlock(nn.Module):
    """x ← norm(x + dropout(attention(x))); x ← norm(x + dropout(gated(x)))."""

    def __init__(self, config: Sentiment140Config) -> None:
        super().__init__()
        d_model, d_ff = config.d_model, config.d_ff
        self.attention = MultiHeadAttention(
            d_model, config.n_heads, pattern=FullPattern(), rotation=NoPositions(), bias=True
        )
        self.value, self.gate, self.out = nn.Linear(d_model, d_ff), nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = RMSNorm(d_model), RMSNorm(d_model)
        self.dropout = Dropout(config.dropout)
        self.tap_after_attention, self.tap_after_feed_forward = Tap(), Tap()
        self.tap_activation, self.tap_product = Tap(), Tap()

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch seq d_model"]:
        mixed = self.attention(hidden, attention_mask)
        hidden = self.norm1(self.tap_after_attention(hidden + self.dropout(mixed)), attention_mask)
        gate = self.tap_activation(F.sigmoid(self.gate(hidden)))
        gated = self.out(self.dropout(self.tap_product(self.value(hidden) * gate)))
        return self.norm2(self.tap_after_feed_forward(hidden + self.dropout(gated)), attention_mask)
