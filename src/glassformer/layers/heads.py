"""Classification heads with more than one matrix: they turn the vector of a text into one logit per class."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from glassformer.layers.dropout import Dropout
from glassformer.layers.feedforward import Activation
from glassformer.layers.taps import Tap


class DenseHead(nn.Module):
    """activation(x W₁) → norm → dropout → W₂: the pooler of BERT and the heads of its heirs (Devlin et al. 2019, §3).

    Args:
        norm: applied to the vector of each text, `nn.LayerNorm(...)` or `nn.Identity()`.
        bias: whether W₁ has a bias; W₂ always has one.
    """

    def __init__(
        self,
        d_model: int,
        n_classes: int,
        activation: Activation,
        *,
        norm: nn.Module,
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.in_projection = nn.Linear(d_model, d_model, bias=bias)
        self.norm = norm
        self.dropout = Dropout(dropout)
        self.out_projection = nn.Linear(d_model, n_classes)
        self.tap_activation = Tap()

    def forward(self, pooled: Float[Tensor, "batch d_model"]) -> Float[Tensor, "batch n_classes"]:
        inner = self.tap_activation(self.activation(self.in_projection(pooled)))
        return self.out_projection(self.dropout(self.norm(inner)))
