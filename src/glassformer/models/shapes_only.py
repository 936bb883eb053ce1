"""Build models that have shapes and no values, to look at them before memory is allocated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


@contextmanager
def shapes_only() -> Iterator[None]:
    """Inside the `with` block, new tensors lie on torch's device `meta`: they have shapes and no values."""
    with torch.device("meta"), _NoValues():
        yield


_ELEMENTWISE = (
    Tensor.__mul__, Tensor.__rmul__, Tensor.__neg__, Tensor.__rpow__, Tensor.__truediv__, Tensor.mul, Tensor.neg,
    Tensor.cos, Tensor.sin, Tensor.div, Tensor.__div__,
)  # fmt: skip


class _NoValues(TorchFunctionMode):
    """Finds the shapes of some results by itself: torch would import its compiler for that, which takes a second."""

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (Tensor.normal_, nn.init.normal_):
            return args[0] if args else kwargs["tensor"]
        if func is torch.arange:
            return torch.empty(len(range(*args)), dtype=(kwargs or {}).get("dtype"))
        if func in _ELEMENTWISE:
            tensors = [each for each in args if isinstance(each, Tensor)]
            return tensors[0].new_empty(np.broadcast_shapes(*(each.shape for each in tensors)))
        return func(*args, **(kwargs or {}))
