"""Optimizers: AdamW, Muon for the matrices inside blocks, and plain SGD."""

from __future__ import annotations

import torch
from torch import nn

from glassformer.training.config import TrainingConfig


def build_optimizers(model: nn.Module, config: TrainingConfig) -> list[torch.optim.Optimizer]:
    """One or two optimizers that together hold every parameter once.

    Decay acts on matrices alone: on a norm's scale or a bias it would pull towards a value that means nothing
    (Loshchilov & Hutter 2019 for AdamW). Muon (Jordan et al. 2024) makes the update of a matrix orthogonal; its step is
    scaled to AdamW's (Liu et al. 2025), so that one learning rate serves both.
    """
    trained = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    orthogonal = [p for name, p in trained if config.optimizer == "muon" and name.startswith("blocks.") and p.ndim == 2]
    chosen = set(map(id, orthogonal))
    rest = [p for _, p in trained if id(p) not in chosen]
    groups = [
        {"params": [p for p in rest if p.ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in rest if p.ndim < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if config.optimizer == "sgd":
        return [torch.optim.SGD(groups, lr=config.learning_rate)]
    optimizers: list[torch.optim.Optimizer] = [torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)]
    if orthogonal:
        optimizers.append(
            torch.optim.Muon(
                orthogonal,
                lr=config.learning_rate,
                weight_decay=config.weight_decay,
                adjust_lr_fn="match_rms_adamw",
            )
        )
    return optimizers
