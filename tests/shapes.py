"""Check in every call that its shapes are those that the signature promises.

Shapes that have passed are not checked again: jaxtyping alone would take a quarter of the time of tests that train.
What promises no shapes is left alone, but for the parts that something is made of.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from itertools import chain
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import jaxtyping
from torch import Tensor, nn

_PASSED: set[Hashable] = set()
_MADE_OF: WeakKeyDictionary[nn.Module, Hashable] = WeakKeyDictionary()
_ALIKE: dict[Hashable, int] = {}
_OF_TORCH = set(vars(nn.Module())) - {"training"}
_checked = jaxtyping.jaxtyped


def check_shapes(modules: Sequence[str]) -> None:
    """Check what these modules define. Raises `RuntimeError` if anything has imported them before."""
    if early := [name for name in sys.modules if name.startswith(tuple(modules))]:
        raise RuntimeError(f"{early[0]} was imported before its shapes could be checked")
    vars(jaxtyping)["jaxtyped"] = _remembering  # the hook decorates every function with what has this name
    jaxtyping.install_import_hook(modules, "beartype.beartype")


def _remembering(**settings: Any) -> Callable[[Any], Any]:
    def decorate(defined: Any) -> Any:
        if not isinstance(defined, FunctionType):
            return _checked(**settings)(defined)
        return _once(defined, _checked(**settings)(defined)) if _is_checked(defined) else defined

    return decorate


def _is_checked(function: FunctionType) -> bool:
    """Return whether a signature names a shape, or an alias of one, or is of what puts parts together."""
    names = re.findall(r"\w+", " ".join(map(str, function.__annotations__.values())))
    return function.__name__ == "__init__" or any("jaxtyping" in str(function.__globals__.get(name)) for name in names)


def _once(function: Callable[..., Any], checked: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is checked if anything that the check looks at is new."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if jaxtyping.config.jaxtyping_disable:
            return function(*args, **kwargs)
        try:
            key = (function, *map(_kind, args), *kwargs, *map(_kind, kwargs.values()))
        except TypeError:  # what may have changed since it passed
            return checked(*args, **kwargs)
        if key in _PASSED:
            return function(*args, **kwargs)
        found = checked(*args, **kwargs)
        _PASSED.add(key)
        return found

    return call


def _kind(value: object) -> Hashable:
    """Return what decides whether an argument passes. The shapes of a result follow from it.

    Raises:
        TypeError: it could change without a sign.
    """
    if isinstance(value, Tensor):
        return type(value), value.shape, value.dtype
    if isinstance(value, nn.Module):
        if "_modules" not in vars(value):
            return (type(value),)  # to be built: its arguments decide
        if value not in _MADE_OF:
            _MADE_OF[value] = _made_of(value)
        return _MADE_OF[value]
    if value is None or isinstance(value, int | float | str):
        return type(value), value
    raise TypeError


def _made_of(module: nn.Module) -> Hashable:
    """Return what is equal for modules that are built alike, whatever their weights: their shapes are the same."""
    built = tuple(
        (
            name,
            type(part),
            *(
                (of, tensor.shape, tensor.dtype)
                for of, tensor in chain(part._parameters.items(), part._buffers.items())
                if tensor is not None
            ),
            *((of, type(own), own) for of, own in vars(part).items() if of not in _OF_TORCH),
        )
        for name, part in module.named_modules()
    )
    try:
        return _ALIKE.setdefault(built, len(_ALIKE))
    except TypeError:  # it holds what may change without a sign
        return type(module), module
