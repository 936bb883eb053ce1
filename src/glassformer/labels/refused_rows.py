"""Rows of a file that a person has filled in, and what is wrong with them: all of it is said at once."""

from collections.abc import Iterator
from contextlib import contextmanager

from glassformer.data.parts import listing_of
from glassformer.errors import UsageError


class RefusedRows:
    """Collects what is wrong with rows."""

    def __init__(self) -> None:
        self._why: list[str] = []

    @contextmanager
    def row(self) -> Iterator[None]:
        """Note the `UsageError` of a row, and go on with the next one."""
        try:
            yield
        except UsageError as error:
            self._why.append(error.message)

    def check(self) -> None:
        """Raise `UsageError` if anything is wrong. The first rows are named, and the others counted."""
        if self._why:
            first, *others = self._why
            raise UsageError(first, listing_of([f"  {why}" for why in others]))
