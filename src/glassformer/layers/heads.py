"""Classification heads that are more than one matrix: they turn the vector of a text into one logit per class."""

import torch
import torch.nn.functional as F
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


class OrderedHead(nn.Module):
    """One score for a text, and n_classes − 1 ascending thresholds: cumulative logits (McCullagh 1980, §2).

    P(class > k) = σ(score − θₖ). The logits are the logarithms of the differences: P(class = k) = P(class > k − 1) −
    P(class > k). All thresholds share one score, so P(class > k) falls with k, as in CORAL (Cao et al. 2020, §3).

    Before training all classes are equally likely if the weight of the score is 0.
    """

    def __init__(self, d_model: int, n_classes: int) -> None:
        super().__init__()
        self.score = nn.Linear(d_model, 1, bias=False)
        even = torch.arange(1, n_classes) / n_classes
        thresholds = torch.logit(even)
        steps = thresholds.diff()
        self.steps = nn.Parameter(torch.cat([thresholds[:1], torch.log(torch.expm1(steps))]))

    @property
    def weight(self) -> Tensor:
        """The weight of the score: (1, d_model)."""
        return self.score.weight

    def thresholds(self) -> Float[Tensor, " n_thresholds"]:
        """Return θ₁ < θ₂ < …: the first one is learned as it is, the others by their distances, softplus(step) > 0."""
        return torch.cat([self.steps[:1], F.softplus(self.steps[1:])]).cumsum(0)

    def forward(self, pooled: Float[Tensor, "batch d_model"]) -> Float[Tensor, "batch n_classes"]:
        thresholds = self.thresholds()
        above = self.score(pooled) - thresholds  # (batch, n_classes - 1): the logit of P(class > k)
        # ln(σ(a) − σ(b)) = ln σ(a) + ln σ(−b) + ln(1 − e^(b − a)) does not cancel digits, as a difference would.
        gaps = torch.log(-torch.expm1(-thresholds.diff()))
        lowest, highest = F.logsigmoid(-above[:, :1]), F.logsigmoid(above[:, -1:])
        between = F.logsigmoid(above[:, :-1]) + F.logsigmoid(-above[:, 1:]) + gaps
        return torch.cat([lowest, between, highest], dim=1)
