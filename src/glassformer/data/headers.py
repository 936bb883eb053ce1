"""Mend what is wrong with a header: names that occur twice, columns without a name, and headers repeated below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from glassformer.data.lines import OnNote
from glassformer.data.wording import counted, listed
from glassformer.errors import UsageError, quoted

_SHOWN, _LETTERS = 5, 40
_MOST_HELD = 40  # blank rows, and titles that may stand above the header again


class Row(NamedTuple):
    """A row of a file.

    Attributes:
        number: as a spreadsheet shows it: the first row of the file is 1, and blank rows count.
        line: the line of a text file on which it begins.
    """

    number: int
    cells: list[str]
    line: int = 0


def all_named(rows: Iterable[Row], header: Row, name: str) -> Iterator[Row]:
    """Yield the rows below a header.

    Raises:
        UsageError: a row has a value in a column without a name. What is taken for the header may be a title.
    """
    nameless = [place for place, cell in enumerate(header.cells) if not cell.strip()]
    for row in rows:
        value = next((row.cells[place] for place in nameless if row.cells[place].strip()), None)
        if value is None:
            yield row
            continue
        above = ", ".join(quoted(cell) for cell in [cell for cell in header.cells if cell.strip()][:_SHOWN])
        raise UsageError(
            f"{name}: the first row that is not blank is {above}, and names no column for {quoted(value)} in row "
            f"{row.number:,} of the file. The header comes first: remove what stands above it, or name the column."
        )


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


def without_repeats(
    rows: Iterator[Row], header: Row, around: Sequence[Row] = (), on_note: OnNote | None = None
) -> Iterator[Row]:
    """Yield the rows below a header that are not the header again, as in pages that were glued together.

    A table of one column keeps such a row, which may be a text.

    Args:
        around: the titles above the header and the units below it. Where the header stands again, they may too. A title
            stands right below it only if no row lies between two pages, and nothing stands beside it.
    """
    pages, begins = {_as_of_any_page(row) for row in around}, {_begin(row) for row in around}
    alone = {_as_of_any_page(row) for row in around if row.number > header.number or not any(row.cells[1:])}
    held, again, others = list[Row](), list[int](), list[Row]()
    below = 0  # how many rows may yet belong to the header right above
    for row in rows:
        if row.cells == header.cells and len(row.cells) > 1:
            again.append(row.number)
            others += [each for each in held if any(map(str.strip, each.cells))]
            held, below = [], len(around)
        elif (
            begins
            and _begin(row) in begins
            and len(held) < _MOST_HELD
            and _as_of_any_page(row) in (alone if below else pages)
        ):
            (others if below else held).append(row)
            below = max(0, below - 1)
        elif not row.cells[0].strip() and len(held) < _MOST_HELD and not any(map(str.strip, row.cells)):
            held.append(row)
        else:
            if held or below:
                yield from held
                held, below = [], 0
            yield row
    yield from held
    if again and on_note:
        places = listed([f"{row:,}" for row in again], _SHOWN)
        shown = [
            f"row {row.number:,} ({quoted(next(filter(str.strip, row.cells)).strip(), most=_LETTERS)})"
            for row in others
        ]
        more = f", and what stands around it: {listed(shown, _SHOWN)}" if shown else ""
        on_note(
            f"left out: {len(again):,} × the header again, in {'row' if len(again) == 1 else 'rows'} {places} "
            f"of the file{more}"
        )


def _as_of_any_page(row: Row) -> str:
    """Return a row without its numbers, such as that of a page."""
    return re.sub(r"\d+", "0", "\0".join(map(str.strip, row.cells)))


def _begin(row: Row) -> str:
    """Return the first sign of a row, so that most rows are known at once to be none of some others."""
    sign = row.cells[0].strip()[:1]
    return "0" if sign.isdecimal() else sign
