"""Values that hold inside a `with` block, for the thread or task that is in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Value = TypeVar("Value")


@contextmanager
def meanwhile(variable: ContextVar[Value], value: Value) -> Iterator[None]:
    """Give a variable a value, and then the one that it had before."""
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)
