"""The course: ten lessons, and what they use. `from glassformer.course import check, heat_map` works in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glassformer.course.checking import check
    from glassformer.course.figures import curves, heat_map, show
    from glassformer.course.model import opinions, small_model

__all__ = ["check", "curves", "heat_map", "opinions", "show", "small_model"]

_HOMES = {
    "check": "checking", "curves": "figures", "heat_map": "figures", "show": "figures", "opinions": "model",
    "small_model": "model",
}  # fmt: skip


def __getattr__(name: str) -> object:
    # The list of lessons needs no torch, whose import takes seconds.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"glassformer.course.{_HOMES[name]}"), name)
