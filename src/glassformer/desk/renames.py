"""What a class was called later: labels, suggestions and answers of before mean the class of the present name."""

from __future__ import annotations

from collections.abc import Sequence

from glassformer.desk.labelling import Labelling


class Renames:
    """The other names that classes got, also by being joined to another one.

    Args:
        renames: of each: the batch before which the old name was used, the old and the new name; in their order.
    """

    def __init__(self, renames: Sequence[tuple[int, str, str]], labelling: Labelling) -> None:
        self._renames, self._labelling = renames, labelling

    def present(self, label: str, batch: int) -> str:
        """Return a label that was given in or after a batch with the present names of its classes."""
        for before, name, became in self._renames:
            if batch < before and name in self._labelling.classes_of(label):
                label = self._labelling.moved(label, became, name)
        return label
