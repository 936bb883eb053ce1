"""Mend what is wrong with a header: names that occur twice, columns without a name, and headers repeated below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glassformer.data.lines import OnNote
from glassformer.data.surroundings import Row
from glassformer.data.wording import counted, listed
from glassformer.errors import quoted

_SHOWN = 5


def unique_names(header: Sequence[str], on_note: OnNote | None = None) -> list[str]:
    """Return names of which each occurs once. A header with such names is returned as it is.

    The second `text` becomes `text_2`, and the third column `column_3` if it has no name. A name that is taken is not
    given again.
    """
    taken, seen = set(header), set[str]()
    names, renamed = [], []
    tried: dict[str, int] = {}  # the number from which a stem goes on: many columns may have one name
    for place, name in enumerate(header, 1):
        own = name
        if not name.strip() or name in seen:
            stem, number = (name, tried.get(name, 2)) if name.strip() else ("column", place)
            while (own := f"{stem}_{number}") in taken:
                number += 1
            renamed.append(
                f"{place:,} ({quoted(name)}) is {quoted(own)}" if name.strip() else f"{place:,} is {quoted(own)}"
            )
            tried[name] = number + 1
            taken.add(own)
        seen.add(own)
        names.append(own)
    if renamed and on_note:
        why = f"{counted(len(renamed), 'column')} without a name of {'its' if len(renamed) == 1 else 'their'} own"
        on_note(f"{why}: column {listed(renamed, _SHOWN)}")
    return names


def without_repeats(rows: Iterator[Row], on_note: OnNote | None = None) -> Iterator[Row]:
    """Yield the header and the rows that are not the header again, as in pages that were glued together.

    A table of one column keeps such a row, which may be a text.
    """
    header = next(rows, None)
    if header is None:
        return
    yield header
    again: list[int] = []
    for row in rows:
        if row.cells == header.cells and len(row.cells) > 1:
            again.append(row.number)
        else:
            yield row
    if again and on_note:
        places = listed([f"{row:,}" for row in again], _SHOWN)
        on_note(
            f"left out: {len(again):,} × the header again, in {'row' if len(again) == 1 else 'rows'} {places} "
            "of the file"
        )
