"""Memory: recognise when it is out, build models that need none, check whether it suffices, keep large buffers."""

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from glassformer.errors import UsageError
from glassformer.models.model_config import DesignConfig

Design = TypeVar("Design", bound=DesignConfig)

_TENSORS = {"adamw": 5, "muon": 4, "sgd": 3}
"""How many times the size of the weights is needed: weights, gradients, the weights of the best epoch, and one or two
moments of the optimizer."""
_BYTES = 4  # float32
_SMALL_VOCABULARY = 1_000
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # <malloc.h>


def check_fits(
    build: Callable[[Design, int], nn.Module], config: Design, vocab_size: int, *, optimizer: str, device: str
) -> None:
    """Refuse a model that is too large to train on this machine, before it takes the memory of other programs.

    Args:
        build: builds the model from a config and the size of the vocabulary; the check does not allocate it.

    Raises:
        UsageError: weights, gradients and the state of the optimizer need more memory than the machine has.
        ValueError: whatever `build` raises.
    """

    def needed(config: Design, vocab_size: int) -> int:
        with shapes_only():
            model = build(config, vocab_size)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        return _BYTES * (_TENSORS[optimizer] * parameters + sum(buffer.numel() for buffer in model.buffers()))

    total, there = needed(config, vocab_size), machine_memory(device)
    if there is None or total <= there:
        return
    smaller = {"tokenizer.vocab_size": (vocab_size, config, min(vocab_size, _SMALL_VOCABULARY))}
    for name, field in type(config).model_fields.items():
        value, usual = getattr(config, name), field.default
        if isinstance(value, int) and isinstance(usual, int) and value > usual:
            smaller[f"model.{name}"] = value, config.model_copy(update={name: usual}), vocab_size

    def left(name: str) -> int:
        _, config, vocab_size = smaller[name]
        try:
            return needed(config, vocab_size)
        except Exception:  # sizes that contradict each other: they have not been checked yet
            return total

    culprit = min(smaller, key=left)
    raise UsageError(
        f"training this model needs {_gigabytes(total)} for weights, gradients and the state of the optimizer, "
        f"and this machine has {_gigabytes(there)}; lower {culprit}, which is {smaller[culprit][0]:,}"
    )


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB"


def machine_memory(device: str) -> int | None:
    """Return the bytes of memory that a device has in total, used or not, or None if this is unknown."""
    if device.startswith("cuda"):
        return int(torch.cuda.get_device_properties(device).total_memory)
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # on Windows
        return None
    try:
        return min(physical, int(_CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):
        return physical


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


def keep_large_buffers(largest: int = 2**30) -> None:
    """Ask the C library not to hand freed buffers of up to `largest` bytes back to the system from now on.

    Every training step, and every batch of answers, frees and allocates the same large buffers. By default glibc
    returns each of them to the kernel, which must then clear its pages again. That takes up to half of the time of a
    step. Other C libraries are left as they are.
    """
    if not sys.platform.startswith("linux"):
        return
    c_library = ctypes.CDLL(None)
    mallopt = getattr(c_library, "mallopt", None)
    if mallopt is not None:
        c_library.malloc_trim(0)  # what was freed until now would lie idle: of three million rows, 100 MiB
        mallopt(_M_MMAP_THRESHOLD, largest)
        mallopt(_M_TRIM_THRESHOLD, 2 * largest - 1)
