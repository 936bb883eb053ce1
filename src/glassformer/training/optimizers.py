"""Optimizers: AdamW, Muon for the matrices inside blocks, and plain SGD; what is trained, and how fast, by depth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from glassformer.errors import UsageError
from glassformer.training.training_config import LoopConfig


def build_optimizers(model: nn.Module, config: LoopConfig) -> list[torch.optim.Optimizer]:
    """One or two optimizers that together hold every trained parameter once.

    Decay acts on matrices alone: on a norm's scale or a bias it would pull towards a value that means nothing
    (Loshchilov & Hutter 2019 for AdamW). Muon (Jordan et al. 2024) makes the update of a matrix orthogonal; its step is
    scaled to AdamW's (Liu et al. 2025), so that one learning rate serves both.

    Raises:
        UsageError: `layer_decay` is set and the model is not made of blocks.
    """
    trained = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    scales = _scales(model, config.layer_decay)
    orthogonal = [
        (name, p) for name, p in trained if config.optimizer == "muon" and name.startswith("blocks.") and p.ndim == 2
    ]
    chosen = {name for name, _ in orthogonal}
    groups = _groups((one for one in trained if one[0] not in chosen), scales, config.weight_decay)
    if config.optimizer == "sgd":
        return [torch.optim.SGD(groups, lr=config.learning_rate)]
    optimizers: list[torch.optim.Optimizer] = [torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)]
    if orthogonal:
        optimizers.append(
            torch.optim.Muon(
                _groups(orthogonal, scales, config.weight_decay),
                lr=config.learning_rate,
                weight_decay=config.weight_decay,
                adjust_lr_fn="match_rms_adamw",
            )
        )
    return optimizers


def set_learning_rate(optimizers: Iterable[torch.optim.Optimizer], rate: float) -> None:
    """Give every parameter its share of `rate`."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate * group["scale"]


def freeze(model: nn.Module, lowest: int | Literal["all"]) -> None:
    """Stop training the embeddings and the `lowest` blocks, none where it is 0; or all but the head.

    Raises:
        UsageError: the model has no blocks, or fewer than that, or no part by the name of head.
    """
    if lowest == 0:
        return
    names = [name for name, _ in model.named_parameters()]
    if lowest == "all":
        trained = {name for name in names if name.startswith("head.")}
        if not trained:
            raise UsageError(
                "training.freeze = 'all' leaves the head to train, and this model has no part of that name"
            )
    else:
        depths, n_blocks = _depths(names, f"training.freeze = {lowest}")
        if lowest > n_blocks:
            raise UsageError(
                f"training.freeze = {lowest}, and the model has {n_blocks} blocks; say 'all' for all of them"
            )
        trained = {name for name in names if depths[name] > lowest}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in trained)


def _groups(named: Iterable[tuple[str, Tensor]], scales: dict[str, float], weight_decay: float) -> list[dict[str, Any]]:
    """Parameters of the same decay and share of the learning rate, matrices first."""
    together: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in sorted(named, key=lambda one: one[1].ndim < 2):
        key = (weight_decay if parameter.ndim >= 2 else 0.0, scales.get(name, 1.0))
        together.setdefault(key, []).append(parameter)
    return [{"params": params, "weight_decay": decay, "scale": scale} for (decay, scale), params in together.items()]


def _scales(model: nn.Module, layer_decay: float) -> dict[str, float]:
    """decay^(depth from the top) for each parameter: what lies deeper knows more that is worth keeping.

    Howard & Ruder 2018, §3.2; with embeddings lowest and head on top as in Clark et al. 2020, appendix B.
    """
    if layer_decay == 1:
        return {}
    depths, n_blocks = _depths([name for name, _ in model.named_parameters()], f"training.layer_decay = {layer_decay}")
    return {name: layer_decay ** (n_blocks + 1 - depth) for name, depth in depths.items()}


def _depths(names: list[str], wanted_by: str) -> tuple[dict[str, int], int]:
    """The depth of each parameter, 0 before the blocks, 1 in the first of them …; and the number of blocks.

    What comes before and what after follows from the order in which a model lists its parts.
    """
    number = {name: int(name.split(".")[1]) for name in names if name.startswith("blocks.")}
    if not number:
        raise UsageError(f"{wanted_by} counts blocks, and this model is not made of any")
    n_blocks = max(number.values()) + 1
    first = next(place for place, name in enumerate(names) if name in number)
    depths = {name: number[name] + 1 if name in number else (0 if place < first else n_blocks + 1)
              for place, name in enumerate(names)}  # fmt: skip
    return depths, n_blocks
