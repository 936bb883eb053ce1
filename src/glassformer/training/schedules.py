"""The learning rate over the course of training."""

from __future__ import annotations

import math

from glassformer.training.training_config import LoopConfig


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
