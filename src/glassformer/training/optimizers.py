"""Optimizers: AdamW, Muon for the matrices inside blocks, and plain SGD; what is trained, how fast, and when."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from glassformer.errors import UsageError
from glassformer.models.parts import parts_of
from glassformer.training.training_config import LoopConfig


def build_optimizers(model: nn.Module, config: LoopConfig) -> list[torch.optim.Optimizer]:
    """Return one or two optimizers that together hold every trained parameter once.

    Weight decay acts on matrices alone. It would pull a norm's scale or a bias towards a meaningless value (Loshchilov
    & Hutter 2019 for AdamW). Muon (Jordan et al. 2024) makes the update of a matrix orthogonal. Its step is scaled to
    that of AdamW (Liu et al. 2025), so one learning rate serves both.

    Raises:
        UsageError: `layer_decay` is set and the model is not made of blocks.
    """
    trained = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    scales = _scales(model, config.layer_decay)
    in_blocks = {id(p) for block in parts_of(model).blocks for p in block.parameters() if config.optimizer == "muon"}
    orthogonal = [(name, p) for name, p in trained if id(p) in in_blocks and p.ndim == 2]
    chosen = {name for name, _ in orthogonal}
    groups = _groups(((name, p) for name, p in trained if name not in chosen), scales, config.weight_decay)
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


def learning_rate(config: LoopConfig, progress: float) -> float:
    """Return the learning rate after the share `progress` (0 … 1) of training: a linear rise, then the schedule.

    Cosine falls to 0 as (1 + cos πx)/2 (Loshchilov & Hutter 2017, eq. 5), linear as 1 − x, constant not at all. By
    epoch it is (1 + cos(π·e/cosine_epochs))/2 over e finished epochs: torch's `CosineAnnealingLR`, stepped each epoch.
    """
    if progress < config.warmup:
        return config.learning_rate * progress / config.warmup
    if config.schedule == "cosine-by-epoch":
        epoch = math.floor(progress * config.epochs)
        return config.learning_rate * (1 + math.cos(math.pi * epoch / config.cosine_epochs)) / 2
    x = (progress - config.warmup) / (1 - config.warmup)
    factor = {"cosine": (1 + math.cos(math.pi * x)) / 2, "linear": 1 - x, "constant": 1.0}[config.schedule]
    return config.learning_rate * factor


def set_learning_rate(optimizers: Iterable[torch.optim.Optimizer], rate: float) -> None:
    """Give every parameter its share of `rate`."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate * group["scale"]


def freeze(model: nn.Module, lowest: int | Literal["all"]) -> None:
    """Freeze the embeddings and the `lowest` blocks (nothing if it is 0), or with "all" everything but the head.

    Raises:
        UsageError: the model has no blocks, fewer than `lowest`, or no head.
    """
    if lowest == 0:
        return
    if lowest == "all":
        in_head = {id(parameter) for module in parts_of(model).head for parameter in module.parameters()}
        trained = {name for name, parameter in model.named_parameters() if id(parameter) in in_head}
        if not trained:
            raise UsageError("training.freeze = 'all' trains only the head, and this model has no head of its own")
    else:
        depths, n_blocks = _depths(model, f"training.freeze = {lowest}")
        if lowest > n_blocks:
            raise UsageError(
                f"training.freeze = {lowest}, and the model has {n_blocks} blocks; "
                "set it to 'all' to train only the head"
            )
        trained = {name for name, depth in depths.items() if depth > lowest}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(parameter.requires_grad and name in trained)


def _groups(named: Iterable[tuple[str, Tensor]], scales: dict[str, float], weight_decay: float) -> list[dict[str, Any]]:
    """Group parameters by weight decay and share of the learning rate, matrices first."""
    together: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in sorted(named, key=lambda pair: pair[1].ndim < 2):
        key = (weight_decay if parameter.ndim >= 2 else 0.0, scales.get(name, 1.0))
        together.setdefault(key, []).append(parameter)
    return [{"params": params, "weight_decay": decay, "scale": scale} for (decay, scale), params in together.items()]


def _scales(model: nn.Module, layer_decay: float) -> dict[str, float]:
    """Return decay^(depth from the top) for each parameter. Lower layers hold more that is worth keeping.

    Howard & Ruder 2018, §3.2; with embeddings lowest and head on top as in Clark et al. 2020, appendix B.
    """
    if layer_decay == 1:
        return {}
    depths, n_blocks = _depths(model, f"training.layer_decay = {layer_decay}")
    return {name: layer_decay ** (n_blocks + 1 - depth) for name, depth in depths.items()}


def _depths(model: nn.Module, wanted_by: str) -> tuple[dict[str, int], int]:
    """Return the depth of each parameter (0 in the embedding, 1 in the first block …) and the number of blocks.

    Parameters outside the embedding and the blocks count as above the blocks.
    """
    parts = parts_of(model)
    if not parts.blocks:
        raise UsageError(f"{wanted_by} counts blocks, and this model has none")
    depths = {id(parameter): 0 for module in parts.embedding for parameter in module.parameters()}
    for depth, block in enumerate(parts.blocks, 1):
        depths |= {id(parameter): depth for parameter in block.parameters()}
    top = len(parts.blocks) + 1
    return {name: depths.get(id(parameter), top) for name, parameter in model.named_parameters()}, len(parts.blocks)
