"""`glassformer version`: the versions and devices for a bug report."""

from typing import Annotated, Any

import typer

from glassformer.cli.options import Json
from glassformer.cli.output import print_json, show

_LIBRARIES = (
    "torch",
    "numpy",
    "tokenizers",
    "safetensors",
    "scikit-learn",
    "polars",
    "pydantic",
    "typer",
    "onnxruntime",
)


def version(
    devices: Annotated[
        bool,
        typer.Option("--devices", help="Also show devices and threads. This loads torch, which takes seconds."),
    ] = False,
    json: Json = False,
) -> None:
    """Show the versions of glassformer, Python and the libraries, for a bug report."""
    import platform

    from glassformer import __version__

    found: dict[str, Any] = {
        "glassformer": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "libraries": {name: _version_of(name) for name in _LIBRARIES},
    } | (_devices() if devices else {})
    if json:
        print_json(found)
        return
    lines = found | {
        "libraries": ", ".join(f"{name} {number or 'not installed'}" for name, number in found["libraries"].items())
    }
    if devices:
        lines |= {
            "devices": ", ".join(found["devices"]),
            "device": f"{found['device']} (the choice of --device auto)",
        }
    for name, value in lines.items():
        show(f"{name:<12} {value}")


def _version_of(library: str) -> str | None:
    """Return the version of a library, or None if it is not installed, as in the light distribution."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _devices() -> dict[str, Any]:
    from glassformer.data.installed import is_installed
    from glassformer.prediction.exported import threads_asked

    if not is_installed("torch"):
        return {"devices": ["cpu"], "device": "cpu", "threads": threads_asked() or "one for each core"}
    import torch

    from glassformer.prediction.devices import choose_device

    cards = [f"cuda:{number} ({torch.cuda.get_device_name(number)})" for number in range(torch.cuda.device_count())]
    apple = ["mps"] if torch.backends.mps.is_available() else []
    return {
        "devices": ["cpu", *cards, *apple],
        "device": choose_device("auto"),
        "threads": torch.get_num_threads(),
    }
