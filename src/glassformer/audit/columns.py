"""What the columns beside the texts hold: categories that name persons, and the limits of numbers, which do not."""

import re
from collections.abc import Iterator

from glassformer.audit.patterns import NAME, is_name, personal_data
from glassformer.data.inputs import Category, Inputs, Number

_LEAST_NAMES = 0.5  # of the categories of a column: of fewer, most are no persons ("New York" among cities)


class Columns:
    """The columns of a model. There are none if it reads one text.

    Attributes:
        names: the categories that are probable names, by their column. Only columns that mostly hold names are in it.
    """

    def __init__(self, inputs: Inputs | None) -> None:
        columns = () if inputs is None else inputs.columns
        self.categories = tuple(column for column in columns if isinstance(column, Category))
        self.numbers = tuple(column for column in columns if isinstance(column, Number))
        self.names: dict[str, tuple[str, ...]] = {}
        for column in self.categories:
            names = tuple(filter(is_name, column.values))
            if len(names) >= _LEAST_NAMES * len(column.values):
                self.names[column.name] = names
        self._name = _any_of([name for names in self.names.values() for name in names])
        self._limit = _any_of([f"{column.name}={value}" for column in self.numbers for value in column.all_values])

    def personal(self, column: Category) -> dict[str, list[str]]:
        """Return the categories of a column that hold personal data, by its kind."""
        found = {NAME: list(self.names[column.name])} if column.name in self.names else {}
        for value in column.values:
            for kind in dict.fromkeys(match.kind for match in personal_data(value)):
                found.setdefault(kind, []).append(value)
        return found

    def names_in(self, text: str) -> Iterator[str]:
        """Yield the categories in a text that are probable names."""
        if self._name is not None:
            yield from (match[0] for match in self._name.finditer(text))

    def without_limits(self, text: str) -> str:
        """Return a text without the limits of numbers, which look like long numbers."""
        return text if self._limit is None else self._limit.sub("", text)


def _any_of(values: list[str]) -> re.Pattern[str] | None:
    longest_first = sorted(values, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)") if values else None
