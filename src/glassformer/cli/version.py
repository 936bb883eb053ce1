"""`glassformer version`: what a bug report needs to know."""

from __future__ import annotations

from typing import Any

from glassformer.cli.options import Json
from glassformer.cli.output import print_json, show

_LIBRARIES = ("torch", "numpy", "tokenizers", "safetensors", "scikit-learn", "polars", "pydantic", "typer")


def version(json: Json = False) -> None:
    """Show the versions, devices and threads that a bug report needs."""
    import platform
    from importlib.metadata import version as version_of

    import torch

    from glassformer import __version__
    from glassformer.prediction.devices import choose_device

    found: dict[str, Any] = {
        "glassformer": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "libraries": {name: version_of(name) for name in _LIBRARIES},
        "devices": ["cpu", *_accelerators()],
        "device": choose_device("auto"),
        "threads": torch.get_num_threads(),
    }
    if json:
        print_json(found)
        return
    lines = found | {
        "libraries": ", ".join(f"{name} {number}" for name, number in found["libraries"].items()),
        "devices": ", ".join(found["devices"]),
        "device": f"{found['device']} (what --device auto takes)",
    }
    for name, value in lines.items():
        show(f"{name:<12} {value}")


def _accelerators() -> list[str]:
    import torch

    cards = [f"cuda:{number} ({torch.cuda.get_device_name(number)})" for number in range(torch.cuda.device_count())]
    return [*cards, *(["mps"] if torch.backends.mps.is_available() else [])]
