from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.layers.feedforward import FeedForward, GatedFeedForward, LinearFeedForward

ACTIVATIONS: list[Callable[[Tensor], Tensor]] = [F.relu, F.gelu, F.sigmoid, F.silu]
activations = pytest.mark.parametrize("activation", ACTIVATIONS)


def test_linear_is_one_matrix() -> None:
    layer, hidden = LinearFeedForward(3), torch.randn(2, 5, 3)
    torch.testing.assert_close(layer(hidden), hidden @ layer.out_projection.weight.T + layer.out_projection.bias)


@activations
def test_plain(activation: Callable[[Tensor], Tensor]) -> None:
    layer, hidden = FeedForward(3, 4, activation), torch.randn(2, 5, 3)
    expected = activation(hidden @ layer.in_projection.weight.T) @ layer.out_projection.weight.T
    torch.testing.assert_close(layer(hidden), expected)


@activations
def test_gated(activation: Callable[[Tensor], Tensor]) -> None:
    layer, hidden = GatedFeedForward(3, 4, activation), torch.randn(2, 5, 3)
    gate, value = layer.in_projection.weight.split(4)
    expected = (activation(hidden @ gate.T) * (hidden @ value.T)) @ layer.out_projection.weight.T
    torch.testing.assert_close(layer(hidden), expected)


def test_sigmoid_gate_is_torch_s_glu_with_its_halves_exchanged() -> None:
    layer, hidden = GatedFeedForward(3, 4, F.sigmoid), torch.randn(2, 5, 3)
    gate, value = layer.in_projection(hidden).chunk(2, -1)
    torch.testing.assert_close(layer(hidden), layer.out_projection(F.glu(torch.cat([value, gate], -1))))
