"""Normalisation. Every norm is called as norm(hidden, attention_mask). Only `BatchNorm` uses the mask."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from glassformer.layers.slots import AttentionMask, Norm
from glassformer.layers.taps import Tap

RMS_EPS = 1e-6


class NoNorm(Norm):
    """Returns its input. A block takes it for a norm that it does not have: a pre-norm block has no post-norms."""

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], _attention_mask: AttentionMask
    ) -> Float[Tensor, "batch seq d_model"]:
        return hidden


class LayerNorm(Norm):
    """y = (x − mean(x)) / √(var(x) + ε) · weight + bias over the features of one position (Ba et al. 2016, eq. 4).

    Args:
        bias: whether to add a bias; later encoders have none (Warner et al. 2024, §2.1.1).
    """

    def __init__(self, d_model: int, *, eps: float = 1e-5, bias: bool = True) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None
        self.tap_output = Tap()

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], _attention_mask: AttentionMask
    ) -> Float[Tensor, "batch seq d_model"]:
        return self.tap_output(F.layer_norm(hidden, self.weight.shape, self.weight, self.bias, self.eps))


class RMSNorm(Norm):
    """y = x / √(mean(x²) + ε) · weight over the features of one position (Zhang & Sennrich 2019, eq. 4)."""

    def __init__(self, d_model: int, *, eps: float = RMS_EPS) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.tap_output = Tap()

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], _attention_mask: AttentionMask
    ) -> Float[Tensor, "batch seq d_model"]:
        return self.tap_output(F.rms_norm(hidden, self.weight.shape, self.weight, self.eps))


class BatchNorm(Norm):
    """Normalises each feature over the tokens of the batch, without padding (Ioffe & Szegedy 2015, algorithm 1).

    In training it uses the statistics of the batch and updates running statistics. In evaluation it uses the running
    ones. The answer to a text then does not depend on the other texts of the batch.
    """

    def __init__(self, d_model: int, *, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(d_model, eps=eps, momentum=momentum)
        self.tap_output = Tap()

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch seq d_model"]:
        tokens = self.norm(hidden[attention_mask])  # (tokens, d_model)
        return self.tap_output(torch.zeros_like(hidden).masked_scatter(attention_mask[:, :, None], tokens))


def plain_layer_norm(
    hidden: Float[Tensor, "*axes d_model"],
    weight: Float[Tensor, " d_model"],
    bias: Float[Tensor, " d_model"] | None,
    eps: float,
) -> Float[Tensor, "*axes d_model"]:
    """Compute `LayerNorm` step by step. For tests."""
    centred = hidden - hidden.mean(-1, keepdim=True)
    scaled = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * weight
    return scaled if bias is None else scaled + bias


def plain_rms_norm(
    hidden: Float[Tensor, "*axes d_model"], weight: Float[Tensor, " d_model"], eps: float
) -> Float[Tensor, "*axes d_model"]:
    """Compute `RMSNorm` step by step. For tests."""
    return hidden / (hidden.square().mean(-1, keepdim=True) + eps).sqrt() * weight
