"""`glassformer version`: the versions and devices for a bug report."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from glassformer.cli.options import Json
from glassformer.cli.output import print_json, show

_LIBRARIES = ("torch", "numpy", "tokenizers", "safetensors", "scikit-learn", "polars", "pydantic", "typer")


def version(
    devices: Annotated[
        bool,
        typer.Option("--devices", help="Also show devices and threads. This loads torch, which takes seconds."),
    ] = False,
    json: Json = False,
) -> None:
    """Show the versions of glassformer, Python and the libraries, for a bug report."""
    import platform
    from importlib.metadata import version as version_of

    from glassformer import __version__

    found: dict[str, Any] = {
        "glassformer": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "libraries": {name: version_of(name) for name in _LIBRARIES},
    } | (_devices() if devices else {})
    if json:
        print_json(found)
        return
    lines = found | {"libraries": ", ".join(f"{name} {number}" for name, number in found["libraries"].items())}
    if devices:
        lines |= {
            "devices": ", ".join(found["devices"]),
            "device": f"{found['device']} (the choice of --device auto)",
        }
    for name, value in lines.items():
        show(f"{name:<12} {value}")


def _devices() -> dict[str, Any]:
    import torch

    from glassformer.prediction.devices import choose_device

    cards = [f"cuda:{number} ({torch.cuda.get_device_name(number)})" for number in range(torch.cuda.device_count())]
    apple = ["mps"] if torch.backends.mps.is_available() else []
    return {
        "devices": ["cpu", *cards, *apple],
        "device": choose_device("auto"),
        "threads": torch.get_num_threads(),
    }
