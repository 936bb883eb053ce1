"""Explain where a NaN or infinite value came from."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.layers.taps import Tap


@torch.no_grad()
def explain_not_a_number(model: nn.Module, run: Callable[[], Any]) -> str:
    """Return a sentence that names the first faulty part of the model: a weight, a layer's output, or the gradient.

    Args:
        run: repeats, in float32, what the model did in the failing step.
    """
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            return f"The weights {name} already contain NaN or infinite values."
    culprits: list[str] = []

    def watch(name: str) -> Any:
        def hook(_module: nn.Module, _arguments: Any, output: Tensor) -> None:
            if not output.isfinite().all():
                culprits.append(name)

        return hook

    leaves = [
        (name, module)
        for name, module in model.named_modules()
        if name and not isinstance(module, Tap) and all(isinstance(child, Tap) for child in module.children())
    ]
    handles = [module.register_forward_hook(watch(name)) for name, module in leaves]
    try:
        run()
    finally:
        for handle in handles:
            handle.remove()
    if culprits:
        return f"The first layer with NaN or infinite output is {culprits[0]}."
    return "No layer's output is NaN or infinite on these texts; the loss or a gradient overflowed."
