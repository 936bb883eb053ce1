import torch
import torch.nn.functional as F

from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.block import Block
from glassformer.layers.feedforward import FeedForward
from glassformer.layers.masks import FullPattern
from glassformer.layers.norms import LayerNorm, NoNorm, RMSNorm
from glassformer.layers.positions import NoPositions
from tests.support import randomise, right_padded


def block(dropout: float) -> Block:
    parts = Block(
        attention=MultiHeadAttention(6, 2, pattern=FullPattern(), rotation=NoPositions()),
        feed_forward=FeedForward(6, 5, F.relu),
        attention_pre_norm=RMSNorm(6),
        attention_post_norm=LayerNorm(6),
        feed_forward_pre_norm=NoNorm(),
        feed_forward_post_norm=RMSNorm(6),
        dropout=dropout,
    )
    return randomise(parts)


def test_every_slot_stands_where_the_diagram_draws_it() -> None:
    layer, hidden, mask = block(0.0), torch.randn(2, 4, 6), right_padded([4, 3])

    expected = hidden + layer.attention(layer.attention_pre_norm(hidden, mask), mask)
    expected = layer.attention_post_norm(expected, mask)
    expected = expected + layer.feed_forward(expected)
    expected = layer.feed_forward_post_norm(expected, mask)

    torch.testing.assert_close(layer(hidden, mask), expected)


def test_dropout_acts_in_training_alone() -> None:
    layer, hidden, mask = block(0.5), torch.randn(2, 4, 6), right_padded([4, 3])

    assert torch.equal(layer.eval()(hidden, mask), layer(hidden, mask))
    assert not torch.equal(layer.train()(hidden, mask), layer(hidden, mask))


def test_all_that_is_dropped_leaves_the_residual_path() -> None:
    layer, hidden, mask = block(1.0).train(), torch.randn(2, 4, 6), right_padded([4, 3])

    expected = layer.feed_forward_post_norm(layer.attention_post_norm(hidden, mask), mask)

    torch.testing.assert_close(layer(hidden, mask), expected)
