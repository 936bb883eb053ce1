"""Where to compute."""

from __future__ import annotations

import torch

from glassformer.errors import UsageError


def choose_device(name: str) -> str:
    """`auto` takes CUDA where there is one, else the CPU.

    Raises:
        UsageError: the device is unknown or not there.
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(1, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"--device {name}: not available here ({reason}); use cpu or auto") from error
    return name
