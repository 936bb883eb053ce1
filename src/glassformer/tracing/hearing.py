"""Run a model forward and backward on one text, and keep the matrix and the gradient of each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.data.arrays import FloatArray, IntArray
from glassformer.models.listening import listeners, taps_of
from glassformer.tracing.layers import modules_of, tensors_of
from glassformer.tracing.steps import TOKENS, Step


def hear(
    model: nn.Module, steps: Sequence[Step], token_ids: IntArray, margin: Callable[[Tensor], Tensor]
) -> dict[str, tuple[FloatArray, FloatArray | None]]:
    """Return the values of each step, and the gradient of the margin with respect to them, without the batch axis.

    Args:
        token_ids: (tokens,) with the start token.
        margin: computes the margin from the logits (n_classes,). Its gradients are returned.
    """
    tensors = tensors_of(model)
    named = taps_of(model).keys() | modules_of(model).keys()
    names = {step.name for step in steps if step.name in named or step.name.removesuffix(".output") in named}
    rows = torch.from_numpy(token_ids)[None].to(next(model.parameters()).device)
    model.zero_grad(set_to_none=True)
    with torch.enable_grad(), _recorded(model, names) as heard:
        logits = model(rows, torch.ones_like(rows, dtype=torch.bool))
        margin(logits[0]).backward()
    found: dict[str, tuple[FloatArray, FloatArray | None]] = {}
    for step in steps:
        if step.operation == "given":
            found[step.name] = _as_read(step, token_ids), None
        elif step.operation == "weight":
            tensor = tensors[step.name]
            length = len(found["token_ids"][0]) if step.axes[0] == TOKENS else len(tensor)
            found[step.name] = _array(tensor[:length]), _gradient(tensor.grad, length)
        elif step.name in names:
            parts = heard[step.name]
            slopes = [part.grad for part in parts if part.grad is not None]
            found[step.name] = _joined(parts), _joined(slopes) if len(slopes) == len(parts) else None
        else:
            read = [found[name] for name in step.inputs]
            gradients = [gradient for _, gradient in read if gradient is not None]
            values = rearranged(step, [values for values, _ in read])
            found[step.name] = values, rearranged(step, gradients) if gradients else None
    model.zero_grad(set_to_none=True)
    return found


def rearranged(step: Step, read: Sequence[FloatArray]) -> FloatArray:
    """Compute a step that computes nothing, and puts numbers elsewhere. No tap shows it."""
    x = read[0]
    moved: Mapping[str, Callable[[], FloatArray]] = {
        "same": lambda: x,
        "one-hot": lambda: np.equal.outer(x, step.settings["first"] + np.arange(step.settings["words"])).astype(
            x.dtype
        ),
        "transpose": lambda: x.T,
        "beside": lambda: np.concatenate(read, axis=-1),
        "below": lambda: np.concatenate(read, axis=0),
        "join": lambda: x.transpose(1, 0, 2).reshape(x.shape[1], -1),
        "flatten": lambda: x.reshape(-1),
        "pick": lambda: x[0 if step.settings["row"] == "first" else -1],
        "columns": lambda: x[..., step.settings["skipped"] :][..., : step.settings["columns"]],
    }
    return moved[step.operation]()


def _as_read(step: Step, token_ids: IntArray) -> FloatArray:
    """Return the token ids that the model reads. Some designs drop the start token, and pad each text."""
    length = step.settings.get("fixed_length")
    if length is None:
        return token_ids.astype(np.float32)
    read = np.zeros(length, np.float32)
    read[: len(token_ids) - 1] = token_ids[1:]
    return read


@contextmanager
def _recorded(model: nn.Module, names: set[str]) -> Iterator[dict[str, list[Tensor]]]:
    """Record taps and outputs of modules by these names. They keep their gradients.

    A recurrent model passes a tap once for each token.
    """
    heard: dict[str, list[Tensor]] = {name: [] for name in names}

    def keep(name: str, values: Tensor) -> None:
        if not values.requires_grad:  # one-hot rows
            values.requires_grad_()
        values.retain_grad()
        heard[name].append(values)

    def hook(name: str) -> Callable[[nn.Module, Any, Tensor], None]:
        return lambda _module, _arguments, output: keep(name, output)

    tapped, modules = names & taps_of(model).keys(), modules_of(model)
    with ExitStack() as stack:
        stack.enter_context(listeners(model, {name: partial(keep, name) for name in tapped}))
        for name in names - tapped:
            handle = modules[name.removesuffix(".output")].register_forward_hook(hook(name))
            stack.callback(handle.remove)
        yield heard


def _joined(parts: Sequence[Tensor]) -> FloatArray:
    """Return what passed a tap, without the batch axis: a matrix, or a row for each token."""
    return _array((parts[0] if len(parts) == 1 else torch.cat(list(parts), dim=1))[0])


def _array(tensor: Tensor) -> FloatArray:
    return tensor.detach().float().cpu().numpy().copy()


def _gradient(gradient: Tensor | None, length: int) -> FloatArray | None:
    return None if gradient is None else _array(gradient[:length])
