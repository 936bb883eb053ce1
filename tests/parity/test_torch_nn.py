from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.layers.attention import Kernel, MultiHeadAttention, fused_attention, plain_attention
from glassformer.layers.block import Block
from glassformer.layers.embeddings import TokenEmbedding
from glassformer.layers.feedforward import FeedForward
from glassformer.layers.masks import CausalPattern, FullPattern
from glassformer.layers.norms import BatchNorm, LayerNorm, NoNorm, RMSNorm
from glassformer.layers.positions import NoPositions
from glassformer.layers.slots import Pattern
from tests.support import attention_of, gradients, randomise, right_padded

BATCH, SEQ, D_MODEL, N_HEADS, D_FF = 3, 5, 12, 4, 7
MASKS = {"all tokens": right_padded([5, 5, 5]), "padded": right_padded([5, 3, 1])}

kernels = pytest.mark.parametrize("kernel", [fused_attention, plain_attention])
masks = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
patterns = pytest.mark.parametrize("pattern", [FullPattern(), CausalPattern()], ids=["full", "causal"])
modes = pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])


@pytest.fixture
def hidden() -> Tensor:
    return torch.randn(BATCH, SEQ, D_MODEL, dtype=torch.float64, requires_grad=True)


def hidden_from_the_future(pattern: Pattern) -> Tensor | None:
    """torch's mask over scores: True on the pairs that may not attend."""
    return torch.ones(SEQ, SEQ, dtype=torch.bool).triu(1) if isinstance(pattern, CausalPattern) else None


def assert_same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def assert_same_with_gradients(
    ours: Tensor, our_inputs: list[Tensor], theirs: Tensor, their_inputs: list[Tensor], mask: Tensor
) -> None:
    """Outputs agree at every token, and so do the gradients of whatever tokens are used for.

    Outputs at padding are nobody's business: they differ, as a padded position of ours may look at itself.
    """
    assert_same(ours[mask], theirs[mask])
    pairs = zip(gradients(ours, our_inputs, mask), gradients(theirs, their_inputs, mask), strict=True)
    for our_gradient, their_gradient in pairs:
        assert our_gradient.abs().max() > 0
        assert_same(our_gradient, their_gradient)


def copy_attention(theirs: nn.MultiheadAttention, pattern: Pattern, kernel: Kernel) -> MultiHeadAttention:
    ours = MultiHeadAttention(D_MODEL, N_HEADS, pattern=pattern, rotation=NoPositions(), bias=True, kernel=kernel)
    ours.double()
    ours.in_projection.load_state_dict({"weight": theirs.in_proj_weight, "bias": theirs.in_proj_bias})
    ours.out_projection.load_state_dict(theirs.out_proj.state_dict())
    return ours


@kernels
@masks
@patterns
@modes
def test_multi_head_attention(kernel: Kernel, mask: Tensor, pattern: Pattern, training: bool, hidden: Tensor) -> None:
    theirs = randomise(nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True, dtype=torch.float64))
    theirs.train(training)
    ours = copy_attention(theirs, pattern, kernel).train(training)

    expected, expected_weights = theirs(
        hidden,
        hidden,
        hidden,
        key_padding_mask=~mask,
        attn_mask=hidden_from_the_future(pattern),
        average_attn_weights=False,
    )

    assert_same_with_gradients(
        ours(hidden, mask), [hidden, *ours.parameters()], expected, [hidden, *theirs.parameters()], mask
    )
    assert_same(attention_of(ours, hidden, mask).transpose(1, 2)[mask], expected_weights.transpose(1, 2)[mask])


@kernels
@masks
@patterns
@modes
@pytest.mark.parametrize("activation", [F.relu, F.gelu])
@pytest.mark.parametrize("pre_norm", [True, False], ids=["pre-norm", "post-norm"])
def test_transformer_encoder_layer(
    kernel: Kernel,
    mask: Tensor,
    pattern: Pattern,
    training: bool,
    activation: Callable[[Tensor], Tensor],
    pre_norm: bool,
    hidden: Tensor,
) -> None:
    theirs = randomise(
        nn.TransformerEncoderLayer(
            D_MODEL,
            N_HEADS,
            D_FF,
            dropout=0.0,
            activation=activation,
            batch_first=True,
            norm_first=pre_norm,
            dtype=torch.float64,
        )
    )
    attention_norm, feed_forward_norm = LayerNorm(D_MODEL), LayerNorm(D_MODEL)
    ours = Block(
        attention=copy_attention(theirs.self_attn, pattern, kernel),
        feed_forward=FeedForward(D_MODEL, D_FF, activation, bias=True),
        attention_pre_norm=attention_norm if pre_norm else NoNorm(),
        attention_post_norm=NoNorm() if pre_norm else attention_norm,
        feed_forward_pre_norm=feed_forward_norm if pre_norm else NoNorm(),
        feed_forward_post_norm=NoNorm() if pre_norm else feed_forward_norm,
    ).double()
    pairs: list[tuple[nn.Module, nn.Module]] = [
        (attention_norm, theirs.norm1),
        (feed_forward_norm, theirs.norm2),
        (ours.feed_forward.in_projection, theirs.linear1),  # type: ignore[list-item]
        (ours.feed_forward.out_projection, theirs.linear2),  # type: ignore[list-item]
    ]
    for our_part, their_part in pairs:
        our_part.load_state_dict(their_part.state_dict())
    ours.train(training)
    theirs.train(training)
    our_weights = [*ours.attention.parameters(), *(weight for part, _ in pairs for weight in part.parameters())]
    their_weights = [*theirs.self_attn.parameters(), *(weight for _, part in pairs for weight in part.parameters())]

    expected = theirs(hidden, src_mask=hidden_from_the_future(pattern), src_key_padding_mask=~mask)

    assert_same_with_gradients(ours(hidden, mask), [hidden, *our_weights], expected, [hidden, *their_weights], mask)


@masks
@modes
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (LayerNorm(D_MODEL, eps=1e-3), nn.LayerNorm(D_MODEL, eps=1e-3)),
        (RMSNorm(D_MODEL), nn.RMSNorm(D_MODEL, eps=1e-6)),
    ],
    ids=["LayerNorm", "RMSNorm"],
)
def test_norms(ours: nn.Module, theirs: nn.Module, mask: Tensor, training: bool, hidden: Tensor) -> None:
    ours, theirs = ours.double().train(training), randomise(theirs.double().train(training))
    ours.load_state_dict(theirs.state_dict())

    assert_same_with_gradients(
        ours(hidden, mask), [hidden, *ours.parameters()], theirs(hidden), [hidden, *theirs.parameters()], mask
    )


def test_batch_norm_without_padding(hidden: Tensor) -> None:
    mask = MASKS["all tokens"]
    theirs = randomise(nn.BatchNorm1d(D_MODEL, dtype=torch.float64))
    ours = BatchNorm(D_MODEL).double()
    ours.norm.load_state_dict(theirs.state_dict())

    for training in (True, False):
        ours.train(training)
        theirs.train(training)
        assert_same_with_gradients(
            ours(hidden, mask),
            [hidden, *ours.parameters()],
            theirs(hidden.transpose(1, 2)).transpose(1, 2),
            [hidden, *theirs.parameters()],
            mask,
        )

    torch.testing.assert_close(ours.norm.state_dict(), theirs.state_dict())


def test_token_embedding() -> None:
    theirs = nn.Embedding(11, D_MODEL)
    ours = TokenEmbedding(11, D_MODEL)
    ours.load_state_dict(theirs.state_dict())
    token_ids = torch.randint(11, (BATCH, SEQ))

    assert torch.equal(ours(token_ids), theirs(token_ids))
    (our_gradient,) = gradients(ours(token_ids), [ours.weight])
    (their_gradient,) = gradients(theirs(token_ids), [theirs.weight])
    assert_same(our_gradient, their_gradient)
