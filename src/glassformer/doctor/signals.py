"""Measure activations and gradients at the start and after a few hundred steps."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from glassformer.data.batches import Batch
from glassformer.doctor.bench import Bench, without_dropout
from glassformer.doctor.findings import GradientFigures, LayerFigures
from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.feedforward import FeedForward, GatedFeedForward
from glassformer.layers.heads import DenseHead
from glassformer.layers.pooling import AttentionPooling
from glassformer.layers.taps import Tap
from glassformer.models.listening import listeners
from glassformer.models.parts import names_of, parts_of
from glassformer.training.optimizers import learning_rate

_RECTIFIERS = {"relu", "relu_", "gelu", "silu", "elu", "leaky_relu"}
_GATES = {"sigmoid": (0.0, 1.0), "sigmoid_": (0.0, 1.0), "tanh": (-1.0, 1.0), "tanh_": (-1.0, 1.0)}
_NEVER_ACTIVE = 1e-6
_NEAR_END = 0.01
_SHARP, _UNIFORM = 0.99, 1.05  # the largest weight; the largest weight as a multiple of the average weight
_MASKED = -1e8


@dataclass
class _Sums:
    """Running sums for one layer, activation or attention of the model."""

    kind: Any
    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    zeros: int = 0
    highest: Tensor | None = None
    near_end: int | None = None
    rows: int = 0
    sharp: int = 0
    uniform: int = 0

    def add(self, values: Tensor) -> None:
        wide = values.double()
        self.count += wide.numel()
        self.total += float(wide.sum())
        self.squares += float(wide.square().sum())
        self.zeros += int((wide == 0).sum())

    def figures(self, name: str) -> LayerFigures:
        count = max(self.count, 1)
        mean = self.total / count
        share = {"saturated": self.sharp / self.rows, "uniform": self.uniform / self.rows} if self.rows else {}
        if self.near_end is not None:
            share["saturated"] = self.near_end / count
        if self.highest is not None:
            share["dead"] = float((self.highest <= _NEVER_ACTIVE).double().mean())
        std = math.sqrt(max(self.squares / count - mean**2, 0.0)) if math.isfinite(self.squares) else math.inf
        return LayerFigures(name=name, kind=self.kind, mean=mean, std=std, zeros=self.zeros / count, **share)


@dataclass
class _Watch(TorchFunctionMode):
    """Collects statistics of outputs, activations and attention while a batch passes through the model."""

    sums: dict[str, _Sums] = field(default_factory=dict)
    inside: list[str] = field(default_factory=list)
    tapped: frozenset[str] = frozenset()
    scores: dict[str, Tensor] = field(default_factory=dict)
    kept: Tensor = field(default_factory=lambda: torch.zeros(0, 0, dtype=torch.bool))

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(
        self, func: Callable[..., Any], _types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if self.inside and self.inside[-1] in self.tapped:
            return result
        if name in _RECTIFIERS or name in _GATES:
            self.activation(self.inside[-1], name.rstrip("_"), result)
        elif name == "softmax":
            dim = (kwargs or {}).get("dim", args[1] if len(args) > 1 else -1)
            self._softmax(self.inside[-1], args[0].movedim(dim, -1), result.movedim(dim, -1))
        elif name == "scaled_dot_product_attention":
            self._fused(*args, **(kwargs or {}))
        return result

    def enter(self, name: str, *_: Any) -> None:
        self.inside.append(name)

    def leave(self, kind: str | None, _module: nn.Module, _arguments: Any, output: Any) -> None:
        """Add the output of the module that is running, if it is of a kind that is watched."""
        first = output[0] if isinstance(output, tuple) else output
        if kind is not None and isinstance(first, Tensor) and first.is_floating_point():
            self._place(self.inside[-1], kind).add(self._tokens(first))
        self.inside.pop()

    def _place(self, name: str, kind: str) -> _Sums:
        return self.sums.setdefault(name, _Sums(kind=kind))

    def _tokens(self, values: Tensor) -> Tensor:
        """Return (…, features) as (rows, features), without padding if the first two axes are (batch, seq)."""
        if values.ndim >= 3 and values.shape[:2] == self.kept.shape:
            return values[self.kept].flatten(0, -2)
        return values.flatten(0, -2) if values.ndim >= 2 else values[:, None]

    def activation(self, where: str, name: str, result: Tensor) -> None:
        place = self._place(f"{where} ({name})", "activation")
        values = self._tokens(result)
        place.add(values)
        if name in _GATES:
            low, high = _GATES[name]
            near = (values < low + _NEAR_END) | (values > high - _NEAR_END)
            place.near_end = (place.near_end or 0) + int(near.sum())
        elif len(values):
            highest = values.abs().amax(dim=0)
            same = place.highest is not None and place.highest.shape == highest.shape
            place.highest = torch.maximum(place.highest, highest) if same and place.highest is not None else highest

    def _fused(
        self, query: Tensor, key: Tensor, _value: Tensor, attn_mask: Tensor | None = None, *_: Any, **others: Any
    ) -> None:
        """Add the weights of torch's fused attention. It does not return them, so they are computed again."""
        scores = query @ key.transpose(-2, -1) * (others.get("scale") or query.shape[-1] ** -0.5)
        if others.get("is_causal"):
            attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
        self._softmax(self.inside[-1], scores, scores.softmax(dim=-1))

    def attention(self, where: str, scores: Tensor, weights: Tensor) -> None:
        """Add attention rows: one per token (batch, …, query, key), or one per text (batch, seq)."""
        batch, seq = self.kept.shape
        allowed = (scores > _MASKED).sum(dim=-1)
        counted = allowed >= 2  # with a single token there is nothing to choose
        if weights.ndim >= 3 and weights.shape[-2] == seq:
            counted = counted & self.kept.view(batch, *[1] * (weights.ndim - 3), seq)
        largest = weights.amax(dim=-1)
        place = self._place(f"{where} (weights)", "attention")
        place.add(weights[counted][(scores > _MASKED).expand_as(weights)[counted]])
        place.rows += int(counted.sum())
        place.sharp += int((counted & (largest > _SHARP)).sum())
        place.uniform += int((counted & (largest * allowed < _UNIFORM)).sum())

    def _softmax(self, where: str, scores: Tensor, weights: Tensor) -> None:
        """Add a softmax if it is attention: a softmax over the tokens of a text, for each token or for the text.

        A softmax over anything else, such as the classes, is ignored. Some designs cut or pad the texts themselves.
        Their attention is recognised by its square shape, and their padding is not recognised.
        """
        batch, seq = self.kept.shape
        square = weights.ndim >= 3 and weights.shape[-1] == weights.shape[-2]
        if weights.ndim >= 2 and weights.shape[0] == batch and (square or weights.shape[-1] == seq):
            self.attention(where, scores, weights)


def watched(bench: Bench, model: nn.Module, batches: Iterable[Batch]) -> tuple[LayerFigures, ...]:
    """Return statistics of every layer, activation and attention over some batches, in the order of computation.

    Forward hooks watch modules with weights. Taps watch the activations and the attention of our own layers. The
    published designs call plain functions for these, which hooks do not see. There a `TorchFunctionMode` sees every
    call and knows in which module it happens.
    """
    watch, blocks = _Watch(), {*names_of(model, parts_of(model).blocks)}
    with ExitStack() as stack, torch.no_grad():
        modules = {name: module for name, module in model.named_modules() if not isinstance(module, Tap)}
        watch.tapped = frozenset(name for name, module in modules.items() if _listen(stack, watch, name, module))
        for name, module in modules.items():
            stack.callback(module.register_forward_pre_hook(partial(watch.enter, name or "model")).remove)
            own = name and next(module.parameters(recurse=False), None) is not None
            kind = "block" if name in blocks else "layer" if own else None
            stack.callback(module.register_forward_hook(partial(watch.leave, kind)).remove)
        for batch in batches:
            inputs = batch.inputs.to(bench.device)
            watch.kept = inputs.attention_mask
            with watch:
                model(*inputs)
    return tuple(sums.figures(name) for name, sums in watch.sums.items())


def _listen(stack: ExitStack, watch: _Watch, where: str, module: nn.Module) -> bool:
    """Listen to the taps of a layer that has taps on its activation or its attention, and return whether it has."""
    if isinstance(module, FeedForward | GatedFeedForward | DenseHead):
        activation = getattr(module.activation, "func", module.activation)  # a partial, as for a form of GELU
        name = str(activation.__name__)
        stack.enter_context(listeners(module, {"activation": partial(watch.activation, where, name)}))
        return True
    if isinstance(module, MultiHeadAttention | AttentionPooling):

        def weights(values: Tensor) -> None:
            watch.attention(where, watch.scores.pop(where), values)

        stack.enter_context(listeners(module, {"scores": partial(watch.scores.__setitem__, where), "weights": weights}))
        return True
    return False


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
