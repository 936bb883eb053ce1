"""The choice of the device."""

import torch

from glassformer.errors import UsageError, brief_value


def choose_device(name: str) -> str:
    """Return the device to compute on. `auto` means CUDA if it is available, otherwise the CPU.

    Raises:
        UsageError: the device is unknown or not available.
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise UsageError(
            f"`device={brief_value(name)}`: no such device; there are auto, cpu, cuda (cuda:1, …) and mps"
        ) from error
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(f"`device={name!r}`: not available here; use cpu or auto") from error
    return name
