"""What flows through the model, forward and back: at the start, and after a few hundred steps."""

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
from glassformer.training.schedules import learning_rate

STEPS = 200
SAMPLE = 4  # batches
_WARMUP = 0.1  # share of these steps
_SHRUNK = 1e-6  # a gradient is the same in float64; its rounding noise is smaller by nine powers of ten


@dataclass(frozen=True, kw_only=True)
class Signals:
    """The model before and after a short piece of training at the recipe's rate.

    Attributes:
        gradients: of each module, `after`; its weights may have been zero `at_start`.
        losses: of each step.
    """

    at_start: tuple[LayerFigures, ...]
    after: tuple[LayerFigures, ...]
    gradients: tuple[GradientFigures, ...]
    losses: tuple[float, ...]
    seconds_per_step: float


def measure_signals(bench: Bench, *, seconds: float) -> Signals:
    """Look, train for a while at the recipe's rate, look again.

    The steps are in float32, without token dropout and label smoothing. The gradients are those of some batches without
    dropout; the update is that of the last step.
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
            weight_norm=_norm([weight]),
            gradient_at_start=math.hypot(*(before[one] for one in own)),
            gradient=math.hypot(*(now[one] for one in own)),
            update_ratio=_norm([weight - earlier[name]]) / (_norm([weight]) or math.inf),
            unreached=tuple(one for one in own if one in unreached),
            cancelled=tuple(one for one in own if one in cancelled),
        )
        for (name, weight), own in zip(latest.items(), _owners(model).values(), strict=True)
    )
    return Signals(
        at_start=at_start, after=after, gradients=gradients, losses=tuple(losses), seconds_per_step=seconds_per_step
    )


def _owners(model: nn.Module) -> dict[str, dict[str, nn.Parameter]]:
    """The modules that hold trained weights of their own, and these by their full names."""
    owned = {
        name or "model": {
            full: one for full, one in module.named_parameters(prefix=name, recurse=False) if one.requires_grad
        }
        for name, module in model.named_modules()
    }
    return {name: parameters for name, parameters in owned.items() if parameters}


def _weights(model: nn.Module) -> dict[str, Tensor]:
    """A copy of each module's weights, as one vector."""
    return {name: torch.cat([one.detach().flatten() for one in own.values()]) for name, own in _owners(model).items()}


def _gradient_norms(bench: Bench, model: nn.Module, sample: Sequence[Batch]) -> dict[str, float]:
    """Of each trained parameter."""
    bench.gradients(model, sample)
    named = model.named_parameters(remove_duplicate=False)  # tied weights under each name
    trained = {name: one.grad for name, one in named if one.requires_grad}
    model.zero_grad(set_to_none=True)
    return {name: 0.0 if gradient is None else _norm([gradient]) for name, gradient in trained.items()}


def _without_gradient(
    bench: Bench, model: nn.Module, sample: Sequence[Batch], norms: Mapping[str, float]
) -> tuple[set[str], set[str]]:
    """Parameters whose gradient is zero, and those where it is zero but for rounding.

    Its size does not tell: a gradient may be far smaller than another one's noise. But in float64 noise all but
    vanishes, and a gradient does not.
    """
    place = torch.device("cpu") if bench.device.type == "mps" else bench.device  # which has no float64
    exact_model = copy.deepcopy(model).to(place, torch.float64)
    exact = _gradient_norms(replace(bench, model=exact_model), exact_model, sample)
    largest = max(exact.values())
    silent = {name for name in norms if exact[name] <= _SHRUNK * max(norms[name], _SHRUNK * largest)}
    unreached = {name for name in silent if norms[name] == exact[name] == 0}
    return unreached, silent - unreached


def _norm(tensors: Sequence[Tensor]) -> float:
    return float(np.sqrt(sum(float(one.double().square().sum()) for one in tensors)))
