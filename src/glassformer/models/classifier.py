"""The transformer classifier, from token ids to one logit per class. Start reading here.

`Classifier` is the model. `Trunk` is the part that it shares with our language models. `bricks.py` chooses the layers
by the settings. `layers/block.py` and `layers/attention.py` say what a block does.
"""

from collections.abc import Sequence
from dataclasses import replace

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.layers.cache import KeyValueCache
from glassformer.layers.dropout import Dropout
from glassformer.layers.slots import AttentionMask, Positions
from glassformer.layers.taps import Tap
from glassformer.models.bricks import (
    build_block,
    build_embedding,
    build_head,
    build_last_norm,
    build_pooling,
    build_positions,
    initialise,
)
from glassformer.models.model_config import ModelConfig, TrunkConfig
from glassformer.models.parts import Parts


class Classifier(nn.Module):
    """Turns token ids into class logits.

                     token ids                       (batch, seq)
                         │
        ┌─ trunk ────────┴─────────────────────┐
        │            embedding                 │     (batch, seq, d_model)   a vector for each token
        │                │                     │
        │            positions                 │                             where each token stands
        │                │                     │
        │  ┌─ block ─────┴──────────────────┐  │     × n_layers
        │  │ x ← x + attention(norm(x))     │  │                             tokens look at each other
        │  │ x ← x + feed-forward(norm(x))  │  │                             each token by itself
        │  └─────────────┬──────────────────┘  │
        │              norm                    │
        └────────────────┬─────────────────────┘
                      pooling                        (batch, d_model)        one vector for the text
                         │
                       head                          (batch, n_classes)      one logit for each class

    Dropout is applied before the blocks, at the end of each branch of a block, and before the head. The head starts at
    zero: before training all classes are equally likely, and the loss is ln(n_classes). A tap returns its
    input, and lets a listener see it (docs/how-to/inside.md).
    """

    def __init__(self, config: ModelConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        self.trunk = Trunk(config, vocab_size)
        self.pooling = build_pooling(config)
        self.dropout = Dropout(config.dropout)
        self.head = build_head(config, n_classes)
        self.tap_pooled, self.tap_logits = Tap(), Tap()
        initialise(self)
        nn.init.zeros_(self.head.weight)

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        hidden = self.trunk.read(token_ids, attention_mask)
        pooled = self.tap_pooled(self.pooling(hidden, attention_mask))
        return self.tap_logits(self.head(self.dropout(pooled)))

    def parts(self) -> Parts:
        return replace(self.trunk.parts(), pooling=(self.pooling,), head=(self.head,))


class Trunk(nn.Module):
    """Turns token ids into one vector per token: embedding → positions → blocks → norm."""

    def __init__(self, config: TrunkConfig, vocab_size: int) -> None:
        super().__init__()
        self.d_model = config.d_model
        self.embedding = build_embedding(config, vocab_size)
        self.positions = build_positions(config)
        self.dropout = Dropout(config.dropout)
        self.blocks = nn.ModuleList(build_block(config) for _ in range(config.n_layers))
        self.norm = build_last_norm(config)
        self.tap_embedding, self.tap_positions, self.tap_hidden = Tap(), Tap(), Tap()

    def read(
        self,
        token_ids: Int[Tensor, "batch seq"],
        attention_mask: AttentionMask,
        *,
        positions: Positions = None,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """Return the last hidden states.

        Args:
            positions: the position of each token in its document; None if this is its position in the row.
            caches: a cache for each block, for causal attention. They hold the tokens that were read before; these
                tokens are added.
        """
        return self.read_vectors(self.embedding(token_ids), attention_mask, positions=positions, caches=caches)

    def read_vectors(
        self,
        vectors: Float[Tensor, "batch seq d_model"],
        attention_mask: AttentionMask,
        *,
        positions: Positions = None,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """Return the last hidden states for vectors that replace the embeddings (see `read`)."""
        if caches:
            positions = caches[0].positions(vectors.shape[1])
        hidden = self.dropout(self.positions(self.tap_embedding(vectors), positions))
        hidden = self.tap_positions(hidden)
        given: Sequence[KeyValueCache | None] = caches or [None] * len(self.blocks)
        for block, cache in zip(self.blocks, given, strict=True):
            hidden = block(hidden, attention_mask, cache)
        return self.tap_hidden(self.norm(hidden, attention_mask))

    def new_caches(self, batch: int, max_seq_len: int) -> list[KeyValueCache]:
        """Return empty caches for `read`, one per block."""
        device = next(self.parameters()).device
        return [KeyValueCache(batch, max_seq_len, device) for _ in self.blocks]

    def parts(self) -> Parts:
        return Parts(embedding=(self.embedding, self.positions), blocks=tuple(self.blocks), norm=(self.norm,))
