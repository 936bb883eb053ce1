"""Which packages are installed, and the command that installs what is missing."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec

LIGHT = "glassformer-light"
_OF_LIGHT = {"onnx": LIGHT} | {extra: f"{LIGHT}[{extra}]" for extra in ("serve", "tables", "excel", "otel", "zstd")}
"""Its extras, and ONNX Runtime, which it has without any."""


def is_installed(package: str) -> bool:
    """Whether a package can be imported. It is not imported."""
    return find_spec(package) is not None


def pip_install(extra: str) -> str:
    """Return the command that installs an extra of the distribution that is installed here.

    For example `pip install 'glassformer[serve]'`, or `pip install 'glassformer-light[serve]'`. An extra that the light
    distribution does not have is that of the whole one.
    """
    try:
        distribution(LIGHT)
        of_light = _OF_LIGHT.get(extra)
    except PackageNotFoundError:
        of_light = None
    return f"pip install '{of_light or f'glassformer[{extra}]'}'"
