import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from glassformer.layers.pooling import (
    AttentionPooling,
    FirstPooling,
    FlattenPooling,
    LastPooling,
    MaxPooling,
    MeanPooling,
)
from tests.support import randomise, right_padded

HIDDEN = torch.tensor([[[1.0, -5], [4, -2], [2, -8]], [[3, -1], [9, 9], [9, 9]]])
MASK = right_padded([3, 1])
POOLINGS = {
    "first": FirstPooling(),
    "last": LastPooling(),
    "mean": MeanPooling(),
    "max": MaxPooling(),
    "attention": randomise(AttentionPooling(2)),
    "flatten": FlattenPooling(9),
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("first", [[1, -5], [3, -1]]),
        ("last", [[2, -8], [3, -1]]),
        ("mean", [[7 / 3, -5], [3, -1]]),
        ("max", [[4, -2], [3, -1]]),
    ],
)
def test_by_hand(name: str, expected: list[list[float]]) -> None:
    torch.testing.assert_close(POOLINGS[name](HIDDEN, MASK), torch.tensor(expected, dtype=torch.float32))


def test_flatten_by_hand() -> None:
    assert FlattenPooling(4)(HIDDEN, MASK).tolist() == [[1, -5, 4, -2, 2, -8, 0, 0], [3, -1, 0, 0, 0, 0, 0, 0]]


def test_attention_by_hand() -> None:
    pooling = AttentionPooling(2)
    nn.init.constant_(pooling.query, 2**0.5)  # cancels the division by √d_model

    weights = pooling.weights(HIDDEN, MASK)

    torch.testing.assert_close(weights[0], torch.tensor([-4.0, 2, -6]).softmax(0))
    assert weights[1].tolist() == [1, 0, 0]
    torch.testing.assert_close(pooling(HIDDEN, MASK), torch.stack([weights[0] @ HIDDEN[0], HIDDEN[1, 0]]))


def test_attention_starts_as_the_mean() -> None:
    torch.testing.assert_close(AttentionPooling(2)(HIDDEN, MASK), MeanPooling()(HIDDEN, MASK))


@pytest.mark.parametrize("name", POOLINGS)
@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4), extra=st.integers(0, 4))
def test_padding_takes_no_part(name: str, lengths: list[int], extra: int) -> None:
    mask = right_padded(lengths, seq=max(lengths) + extra)
    hidden = torch.randn(*mask.shape, 2)

    together = POOLINGS[name](hidden, mask)

    for row, length in enumerate(lengths):
        alone = POOLINGS[name](hidden[row : row + 1, :length], mask[row : row + 1, :length])
        torch.testing.assert_close(together[row], alone[0])


@pytest.mark.parametrize("name", ["first", "last", "mean", "max", "attention"])
def test_padding_on_the_left_takes_no_part_either(name: str) -> None:
    hidden, mask = HIDDEN.flip(1), MASK.flip(1)
    torch.testing.assert_close(POOLINGS[name](hidden, mask)[1], torch.tensor([3.0, -1]))
