"""Feed-forward layers. They transform the vector of each position by itself."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from glassformer.layers.linear import Linear
from glassformer.layers.slots import FeedForwardLayer
from glassformer.layers.taps import Tap

Activation = Callable[[Tensor], Tensor]


class LinearFeedForward(FeedForwardLayer):
    """A single matrix without activation: the smallest feed-forward layer. One of the published designs uses it."""

    def __init__(self, d_model: int, *, bias: bool = True) -> None:
        super().__init__()
        self.out_projection = Linear(d_model, d_model, bias=bias)
        self.tap_output = Tap()

    def forward(self, hidden: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        return self.tap_output(self.out_projection(hidden))


class FeedForward(FeedForwardLayer):
    """activation(x W₁) W₂ (Vaswani et al. 2017, eq. 2)."""

    def __init__(self, d_model: int, d_ff: int, activation: Activation, *, bias: bool = False) -> None:
        super().__init__()
        self.activation = activation
        self.in_projection = Linear(d_model, d_ff, bias=bias)
        self.out_projection = Linear(d_ff, d_model, bias=bias)
        self.tap_activation, self.tap_output = Tap(), Tap()

    def forward(self, hidden: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        inner = self.tap_activation(self.activation(self.in_projection(hidden)))
        return self.tap_output(self.out_projection(inner))


class GatedFeedForward(FeedForwardLayer):
    """(activation(x W) ⊗ x V) W₂: GLU with a sigmoid, SwiGLU with SiLU, GEGLU with GELU (Shazeer 2020, eqs. 5–6).

    W and V are the two halves of one matrix. At the same d_ff, a gated layer has 1.5 times the weights of a plain one.
    """

    def __init__(self, d_model: int, d_ff: int, activation: Activation, *, bias: bool = False) -> None:
        super().__init__()
        self.activation = activation
        self.in_projection = Linear(d_model, 2 * d_ff, bias=bias)
        self.out_projection = Linear(d_ff, d_model, bias=bias)
        self.tap_activation, self.tap_product, self.tap_output = Tap(), Tap(), Tap()

    def forward(self, hidden: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        gate, value = self.in_projection(hidden).chunk(2, dim=-1)
        gate = gate.contiguous()  # activations are much faster on whole rows of memory
        inner = self.tap_product(self.tap_activation(self.activation(gate)) * value)
        return self.tap_output(self.out_projection(inner))
