"""Measure activations and gradients at the start and after a few hundred steps."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.data.batches import Batch
from glassformer.doctor.bench import Bench, without_dropout
from glassformer.doctor.findings import GradientFigures, LayerFigures
from glassformer.doctor.probe import watched
from glassformer.training.optimizers import learning_rate

STEPS = 200
SAMPLE = 4  # batches
_WARMUP = 0.1  # as a share of the steps
_SHRUNK = 1e-6  # a true gradient is the same in float64, but rounding noise is smaller by nine powers of ten


@dataclass(frozen=True, kw_only=True)
class Signals:
    """Measurements of the model before and after a short training at the recipe's learning rate.

    Attributes:
        at_start, after: statistics of each layer before and after the steps.
    """

    at_start: tuple[LayerFigures, ...]
    after: tuple[LayerFigures, ...]
    gradients: tuple[GradientFigures, ...]
    losses: tuple[float, ...]
    seconds_per_step: float


def measure_signals(bench: Bench, *, seconds: float) -> Signals:
    """Measure the model, train it for up to `seconds` at the recipe's learning rate, and measure it again.

    Steps use float32, without token dropout and label smoothing. Gradients are those of some batches without dropout.
    The update is that of the last step.
    """
    sample = bench.sample(SAMPLE)
    model = bench.copy_of_model(dropout=False)
    at_start, before = watched(bench, model, sample), _gradient_norms(bench, model, sample)
    model = bench.copy_of_model()
    config = bench.config.model_copy(update={"schedule": "constant", "warmup": _WARMUP})
    rates = [learning_rate(config, (number + 0.5) / STEPS) for number in range(STEPS)]
    losses = list[float]()
    earlier = latest = _weights(model)
    began = time.perf_counter()
    for loss in bench.steps(model, rates, bench.groups(), seconds=seconds):
        losses.append(loss)
        earlier, latest = latest, _weights(model)
    seconds_per_step = (time.perf_counter() - began) / max(len(losses), 1)
    without_dropout(model)
    after, now = watched(bench, model, sample), _gradient_norms(bench, model, sample)
    unreached, cancelled = _without_gradient(bench, model, sample, now)
    gradients = tuple(
        GradientFigures(
            name=name,
            weight_norm=_norm([values]),
            gradient_at_start=math.hypot(*(before[weight] for weight in own)),
            gradient=math.hypot(*(now[weight] for weight in own)),
            update_ratio=_norm([values - earlier[name]]) / (_norm([values]) or math.inf),
            unreached=tuple(weight for weight in own if weight in unreached),
            cancelled=tuple(weight for weight in own if weight in cancelled),
        )
        for (name, values), own in zip(latest.items(), _owners(model).values(), strict=True)
    )
    return Signals(
        at_start=at_start, after=after, gradients=gradients, losses=tuple(losses), seconds_per_step=seconds_per_step
    )


def _owners(model: nn.Module) -> dict[str, dict[str, nn.Parameter]]:
    """Return the modules with their own trained weights, and these weights by their full names."""
    owned = {
        name or "model": {
            full: weight for full, weight in module.named_parameters(prefix=name, recurse=False) if weight.requires_grad
        }
        for name, module in model.named_modules()
    }
    return {name: parameters for name, parameters in owned.items() if parameters}


def _weights(model: nn.Module) -> dict[str, Tensor]:
    """Return a copy of each module's weights as one vector."""
    return {
        name: torch.cat([weight.detach().flatten() for weight in own.values()]) for name, own in _owners(model).items()
    }


def _gradient_norms(bench: Bench, model: nn.Module, sample: Sequence[Batch]) -> dict[str, float]:
    """Return the norm of the gradient of each trained parameter."""
    bench.gradients(model, sample)
    named = model.named_parameters(remove_duplicate=False)  # tied weights are listed under each of their names
    trained = {name: weight.grad for name, weight in named if weight.requires_grad}
    model.zero_grad(set_to_none=True)
    return {name: 0.0 if gradient is None else _norm([gradient]) for name, gradient in trained.items()}


def _without_gradient(
    bench: Bench, model: nn.Module, sample: Sequence[Batch], norms: Mapping[str, float]
) -> tuple[set[str], set[str]]:
    """Return the parameters whose gradient is zero, and those whose gradient is zero except for rounding noise.

    The size of a gradient does not decide this: a true gradient can be far smaller than the noise of another gradient.
    But in float64 noise almost vanishes, and a true gradient does not.
    """
    place = torch.device("cpu") if bench.device.type == "mps" else bench.device  # mps has no float64
    exact_model = copy.deepcopy(model).to(place, torch.float64)
    exact = _gradient_norms(replace(bench, model=exact_model), exact_model, sample)
    largest = max(exact.values())
    silent = {name for name in norms if exact[name] <= _SHRUNK * max(norms[name], _SHRUNK * largest)}
    unreached = {name for name in silent if norms[name] == exact[name] == 0}
    return unreached, silent - unreached


def _norm(tensors: Sequence[Tensor]) -> float:
    return float(np.sqrt(sum(float(values.double().square().sum()) for values in tensors)))
