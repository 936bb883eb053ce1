"""The residual block."""

from jaxtyping import Float
from torch import Tensor, nn

from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.cache import KeyValueCache
from glassformer.layers.dropout import Dropout
from glassformer.layers.slots import AttentionMask, FeedForwardLayer, Norm
from glassformer.layers.taps import Tap


class Block(nn.Module):
    """A residual step of attention, then one of feed-forward. Which norms are given decides between pre- and post-norm.

        x ──┬─ pre ─ attention ─ dropout ─(+)─ post ──┬─ pre ─ feed-forward ─ dropout ─(+)─ post ──►
            └──────────────────────────────┘           └─────────────────────────────────┘

    Post-norm is the original (Vaswani et al. 2017, §3.1). Pre-norm trains without a warm-up (Xiong et al. 2020).
    Pass `NoNorm` for a norm that the block does not have.
    """

    def __init__(
        self,
        *,
        attention: MultiHeadAttention,
        feed_forward: FeedForwardLayer,
        attention_pre_norm: Norm,
        attention_post_norm: Norm,
        feed_forward_pre_norm: Norm,
        feed_forward_post_norm: Norm,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention_pre_norm = attention_pre_norm
        self.attention = attention
        self.attention_post_norm = attention_post_norm
        self.feed_forward_pre_norm = feed_forward_pre_norm
        self.feed_forward = feed_forward
        self.feed_forward_post_norm = feed_forward_post_norm
        self.dropout = Dropout(dropout)
        self.tap_after_attention, self.tap_after_feed_forward = Tap(), Tap()

    def forward(
        self,
        hidden: Float[Tensor, "batch seq d_model"],
        attention_mask: AttentionMask,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        mixed = self.attention(self.attention_pre_norm(hidden, attention_mask), attention_mask, cache)
        hidden = self.attention_post_norm(self.tap_after_attention(hidden + self.dropout(mixed)), attention_mask)
        moved = self.feed_forward(self.feed_forward_pre_norm(hidden, attention_mask))
        return self.feed_forward_post_norm(self.tap_after_feed_forward(hidden + self.dropout(moved)), attention_mask)
