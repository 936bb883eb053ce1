"""Parts in the wrong slot: the type checker finds each (an ignore that it does not need is an error of its own)."""

import pytest
import torch.nn.functional as F
from torch import nn

from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.block import Block
from glassformer.layers.feedforward import FeedForward
from glassformer.layers.masks import FullPattern
from glassformer.layers.norms import NoNorm, RMSNorm
from glassformer.layers.pooling import MeanPooling
from glassformer.layers.positions import NoPositions


def block_of(norm: RMSNorm) -> Block:
    return Block(
        attention=MultiHeadAttention(4, 2, pattern=FullPattern(), rotation=NoPositions()),
        feed_forward=FeedForward(4, 3, F.relu),
        attention_pre_norm=norm,
        attention_post_norm=NoNorm(),
        feed_forward_pre_norm=norm,
        feed_forward_post_norm=NoNorm(),
    )


def test_parts_in_the_wrong_slot_are_found_by_the_type_checker_and_here() -> None:
    assert isinstance(block_of(RMSNorm(4)), nn.Module)
    wrong = (
        lambda: block_of(MeanPooling()),  # type: ignore[arg-type]
        lambda: block_of(nn.LayerNorm(4)),  # type: ignore[arg-type]
        lambda: MultiHeadAttention(4, 2, pattern=NoPositions(), rotation=NoPositions()),  # type: ignore[arg-type]
        lambda: MultiHeadAttention(4, 2, pattern=FullPattern(), rotation=FullPattern()),  # type: ignore[arg-type]
    )
    for build in wrong:
        with pytest.raises(TypeError):
            build()
