"""Leave out what stands around a table in its file: titles above the header, units below it, notes and totals below.

What is left out is said: how many rows, the number of each in the file, and its first words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from glassformer.data.column_kinds import is_no_value, is_number_or_date
from glassformer.data.column_names import KNOWN_NAMES, folded
from glassformer.data.headers import Row, without_repeats
from glassformer.data.lines import OnNote
from glassformer.data.wording import counted, listed
from glassformer.errors import quoted

_LOOKED_AT = 40  # rows at the beginning
_MOST_ABOVE, _MOST_BELOW = 12, 20  # rows that may stand above the header, and at the end
_FEWEST = 3  # rows that show which columns are never empty
_SHOWN, _LETTERS = 5, 40
_LONGEST_NAME, _WORDS_OF_NAME, _LONGEST_QUESTION = 60, 8, 300
_UNIT = re.compile(
    r"[%‰€$£¥–—-]|eur|usd|gbp|chf|jpy|cny|vnd|[km]?g|t|lbs?|oz|[kcm]?m|ft|in|mi|m?l|°[cf]|k|m?s|sec|min|h|hrs|d|days|"
    r"tage|jours|yr|years|jahre|pcs|stk|stück|n|nr|count|[km]b|kwh?|[wva]|hz|"
    r"[(\[].{0,30}[)\]]|\d+ ?(-|–|\.\.|to|bis) ?\d+",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"((grand |sub)?totals?|total g[ée]n[ée]ral|totale|sums?|summe|gesamt(summe)?|insgesamt|somme|suma|soma|"
    r"averages?|mean|mittelwert|durchschnitt|moyenne|media|média|promedio|合計|合计|总计|小计|小計|平均值?|"
    r"tổng( cộng)?|trung bình)\b\W*",
    re.IGNORECASE,
)
_BESIDE_TOTAL = re.compile(  # names and common words: they are totals only beside another
    r"(median|mittel|mediana|médiane|"
    r"min(imum)?|max(imum)?|m[íi]nimo|m[áa]ximo|minimal|maximal|kleinster( wert)?|größter( wert)?|count|anzahl|nombre|"
    r"std|stdev|standard deviation|standardabweichung|[ée]cart[ -]type|desviación( estándar)?|desvio( padrão)?|"
    r"最小值?|最大值?|中位数|中央値|计数|件数|nhỏ nhất|lớn nhất|số lượng)\b\W*",
    re.IGNORECASE,
)
_DRAWN = "-+=:| "
_NOTE = re.compile(
    r"\W*(notes?|sources?|legend|exported|generated|created|hinweise?|quellen?|anmerkung(en)?|legende|stand|erstellt|"
    r"exportiert|remarques?|notas?|fuente|fonte|nguồn|ghi chú|注|备注|说明|来源|出典)\b|[*†©]|"
    r"\(?\d+ rows?( selected| affected| in set[^\n]*+)?[).]{0,2}\s{0,9}$",
    re.IGNORECASE,
)


def table_in(rows: Iterator[Row], on_note: OnNote | None = None) -> Iterator[Row]:
    """Yield the header and then the rows of the table that a file holds.

    Args:
        rows: all rows of the file. Blank ones are left out above the header, and below it if they have no cells.
    """
    rows = (row for row in rows if row.cells)
    first = list(itertools.islice(rows, _LOOKED_AT))
    lines = [row for row in first[:_MOST_ABOVE] if is_line(row.cells)]
    seen = [row for row in first if _places(row) and row not in lines]
    if not seen:
        return
    above = rows_above(seen)
    header, *below = seen[above:]
    if above and on_note:
        on_note(_said(f"above the header, which is row {header.number:,}", seen[:above]))
    units = below[:1] if _is_of_units(header, below) else []
    questions = below[: _rows_of_questions(header, below)]
    if units and on_note:
        on_note(_said("of units below the header", units))
    if questions and on_note:
        on_note(_said("below the header, as programs for surveys write them", questions))
    units += questions
    below_header = next((row for row in first if row.number > header.number and _places(row)), header)
    if len(header.cells) > 1:  # else it may be a text
        lines = [row for row in lines if row.number < header.number or row == below_header]
        units += lines
    if len(header.cells) > 1 and lines and on_note:
        on_note(_said("of lines drawn around the header", lines))
    header = header._replace(cells=_named_below(header.cells, questions))
    own = itertools.chain((row for row in first if row.number > header.number and row not in units), rows)
    yield header
    yield from _without_end(without_repeats(own, header, [*seen[:above], *units], on_note), header, on_note)


def rows_above(seen: Sequence[Row]) -> int:
    """Return how many of the first rows of a file, blank ones excepted, stand above its header."""
    remarks = len(list(itertools.takewhile(_is_remark, seen)))
    if remarks and len(seen) > remarks + 1 and len(seen[0].cells) != len(seen[-1].cells) == len(seen[remarks].cells):
        return remarks
    for above in range(1, min(_MOST_ABOVE, len(seen) - 1) + 1):
        places, are_titles = _places(seen[above - 1]), all(len(_places(row)) == 1 for row in seen[: above - 1])
        if _is_header(seen, above) or (are_titles and _is_of_two_rows(seen[above - 1], seen[above:])):
            return above
        if len(places) > 3 or places != list(range(len(places))):
            return 0
    return 0


def _is_header(seen: Sequence[Row], above: int) -> bool:
    """Whether this row is the header: more names than the rows above it have cells, and a table below it."""
    titles, header = seen[:above], seen[above]
    units = seen[above + 1 : above + 2] if _is_of_units(header, seen[above + 1 :]) else []
    looked_at = seen[above + 1 + len(units) :]
    below = list(without_repeats(iter(looked_at), header, [*titles, *units]))
    again = len(below) < len(looked_at)
    while below and len(_places(below[-1])) < 2 and len(below[-1].cells) < len(header.cells):
        below.pop()
    body = [row for row in below if len(row.cells) == len(header.cells)]
    places = _places(header)
    names = [header.cells[place] for place in places]
    if len(places) < 2 or len(body) < 2 or len(body) < 0.8 * len(below):
        return False
    known = sum(folded(name) in KNOWN_NAMES for name in names)
    known_above = sum(folded(row.cells[place]) in KNOWN_NAMES for row in titles for place in _places(row))
    gap = header.number - titles[-1].number > 1
    titled = _places(titles[0]) == [0]  # else it may be the header, whose other columns have no name
    # The first row and nearly all others hold a number or a date where the header holds words.
    numbers = [place for place in places if is_number_or_date(body[0].cells[place]) and _holds_numbers(body, place)]
    named = {place for row in titles for place in _places(row)}
    below_none = any(place not in named and not is_no_value(header.cells[place]) for place in numbers)
    sure = known > 1 or (known > 0 and (gap or below_none)) or (titled and (again or bool(numbers)))
    for row in titles:
        few = len(places) - 1 if sure or len(row.cells) != len(header.cells) else max(1, len(places) // 2 - 1)
        if len(_places(row)) > (len(places) if known == len(places) and (gap or numbers) else few):
            return False
    if (known_above and known_above >= known) or (again and not titled):
        return False
    if any(place not in places for row in body for place in _places(row)):
        return False
    if len({name.strip() for name in names}) < len(names) or not all(map(_may_be_name, names)):
        return False
    if any(row.cells[place] == header.cells[place] for row in body for place in places):
        return False
    told = len(places) > 2 or (titled and numbers and len(titles[0].cells) < len(header.cells))
    return bool(gap or known or (told and not any(name.startswith(" ") for name in names)))


def _is_remark(row: Row) -> bool:
    start = row.cells[0].lstrip()
    return start.startswith("#") and (start.startswith(("# ", "##")) or len(row.cells) == 1)  # `#id,text` is a header


def _is_of_two_rows(upper: Row, rows: Sequence[Row]) -> bool:
    """Whether a row and the first of these are one header, of which some cells were merged down: they are the same.

    Where the upper row has no names, the lower one has some, and no row below has the names that are the same.
    """
    lower, *below = rows
    both, names = _places(upper), [lower.cells[place] for place in _places(lower)]
    if len(upper.cells) != len(lower.cells) or not {*both} < {*_places(lower)} or not below:
        return False
    same = [place for place in both if upper.cells[place] == lower.cells[place]]
    again = any(row.cells[place : place + 1] == [lower.cells[place]] for row in below for place in same)
    return bool(same) and not again and len({*names}) == len(names) and all(map(_may_be_name, names))


def is_line(cells: Sequence[str]) -> bool:
    """Whether a row is a line that programs draw above, below and within tables: `----+----`, `|:---|:---:|`."""
    filled = [cell for cell in cells if cell.strip()] if not cells[-1].strip(_DRAWN) else []
    return bool(filled) and all(not cell.strip(_DRAWN) and ("--" in cell or "==" in cell) for cell in filled)


def _rows_of_questions(header: Row, below: Sequence[Row]) -> int:
    """Return how many rows below the header hold questions or ids, as programs for surveys write them."""
    for number, row in enumerate(below[:2], 1):
        cells = [row.cells[place].strip() for place in _places(row)]
        if len(cells) > 1 and all(cell.startswith('{"ImportId"') for cell in cells):  # Qualtrics
            return number
    ends = below and len(below[0].cells) == len(header.cells) and {cell.strip() for cell in below[0].cells}
    return 1 if ends and "Open-Ended Response" in ends else 0  # SurveyMonkey


def _named_below(names: list[str], questions: Sequence[Row]) -> list[str]:
    """Return the names of columns. Those without one are named by the row of questions."""
    if len(questions) != 1:
        return names
    return [name if name.strip() else cell for name, cell in zip(names, questions[0].cells, strict=True)]


def _holds_numbers(rows: Sequence[Row], place: int) -> bool:
    cells = [row.cells[place] for row in rows if row.cells[place].strip()]
    return bool(cells) and sum(map(is_number_or_date, cells)) >= 0.8 * len(cells)


def _may_be_name(cell: str) -> bool:
    if cell.rstrip().endswith(("?", "？")):  # forms give each question a column
        return len(cell) <= _LONGEST_QUESTION
    return len(cell.strip()) <= _LONGEST_NAME and len(cell.split()) < _WORDS_OF_NAME and not is_number_or_date(cell)


def _is_of_units(header: Row, first: Sequence[Row]) -> bool:
    """Whether the first row below the header says in what its columns are measured."""
    if len(first) < 2 or len(first[0].cells) != len(header.cells):
        return False
    units = {place: first[0].cells[place].strip() for place in _places(first[0])}
    if not all(map(_UNIT.fullmatch, units.values())):
        return False
    own_rows = without_repeats(iter(first[1:]), header, first[:1])
    width = len(header.cells)
    body = [row for row in own_rows if len(row.cells) == width < 2 * len(_places(row))]  # others may be totals
    numbers = {place for place in units if _holds_numbers(body, place)}
    own = {place for place, unit in units.items() if unit not in {row.cells[place] for row in body}}
    return bool(numbers) and all(
        place in numbers or unit in "-–—" or (unit[0] in "([" and place in own) for place, unit in units.items()
    )


def _without_end(rows: Iterable[Row], header: Row, on_note: OnNote | None) -> Iterator[Row]:
    """Yield the rows, but not notes and totals at the end. Rows that may be such are held until others follow."""
    width = len(header.cells)
    end = _End(width, header.number)
    held: list[Row] = []
    for row in rows:
        cells = row.cells
        if len(cells) < width and not any(map(str.strip, cells)):
            continue
        held.append(row)
        empty = cells.count("") + max(0, width - len(cells))
        may_be_end = 2 * empty >= width > 1 or (len(cells[0]) < _LETTERS and _of_total(cells[0]))
        if may_be_end and len(held) <= _MOST_BELOW:
            continue
        for each in held:
            end.learn(each)
        yield from held
        held = []
    filled = [row for row in held if _places(row)]
    kept = len(filled)
    while kept:
        beside = [filled[at] for at in (kept - 2, kept) if 0 <= at < len(filled)]
        if not end.is_part(filled[kept - 1], filled[kept - 2].number if kept > 1 else end.last, beside):
            break
        kept -= 1
    if kept == len(filled):
        yield from held
        return
    last = filled[kept - 1].number if kept else end.last
    yield from (row for row in held if row.number <= last)
    if on_note:
        on_note(_said("at the end", filled[kept:]))


class _End:
    """Knows which columns of a table are never empty, so which rows at its end are none of its own."""

    def __init__(self, width: int, last: int) -> None:
        self.last = last
        self._width = width
        self._rows = 0
        self._sometimes_empty: set[int] = set()
        self._letters = [0] * width
        self._numbers, self._words = [False] * width, [False] * width  # whether the first rows hold such in a column

    def learn(self, row: Row) -> None:
        self.last = row.number
        if not row.cells[0].strip() and not any(map(str.strip, row.cells)):
            return
        self._rows += 1
        if "" in row.cells:
            self._sometimes_empty.update(place for place, cell in enumerate(row.cells) if not cell)
        if self._rows <= _LOOKED_AT and len(row.cells) == self._width:
            self._letters = [sum(both) for both in zip(self._letters, map(len, row.cells), strict=True)]
            for place, cell in enumerate(row.cells):
                if is_number_or_date(cell):
                    self._numbers[place] = True
                elif not is_no_value(cell):
                    self._words[place] = True

    def is_part(self, row: Row, before: int, beside: Sequence[Row]) -> bool:
        """Whether a row is a note or a total.

        Args:
            before: the number of the row before it that is not blank.
            beside: the rows before and after it that are not blank.
        """
        places = _places(row)
        if len(row.cells) < self._width and is_line(row.cells):
            return True
        if not places or self._rows < _FEWEST or len(row.cells) > self._width:
            return False
        missing = sum(place not in places and place not in self._sometimes_empty for place in range(self._width))
        first = row.cells[places[0]].strip()
        others = [each.cells[0] for each in beside if each.cells[0] != row.cells[0]]
        among = missing and any(map(_of_total, others))
        if found := _of_total(first) if among else _TOTAL.match(first):
            rest = [first[found.end() :], *(row.cells[place] for place in places[1:])]
            odd = missing or any(self._words[place] or not self._numbers[place] for place in places[1:])
            if odd and any(map(str.strip, rest)) and all(is_number_or_date(cell) for cell in rest if cell.strip()):
                return True
        narrow = missing or len(row.cells) < self._width
        text = self._letters.index(max(self._letters))  # with it, the row may be a text that has no label yet
        of_two = len(row.cells) == self._width == 2 and text == 0
        if places == [0] and narrow and (_NOTE.match(first) or (row.number - before > 1 and not of_two)):
            return True
        return len(row.cells) == self._width > 2 and 2 * missing > self._width and text not in places


def _of_total(cell: str) -> re.Match[str] | None:
    return _TOTAL.match(cell) or _BESIDE_TOTAL.match(cell)


def _places(row: Row) -> list[int]:
    return [place for place, cell in enumerate(row.cells) if cell.strip()]


def _said(where: str, rows: Sequence[Row]) -> str:
    """Return a sentence on rows that were left out."""
    shown = [f"row {row.number:,} ({quoted(row.cells[_places(row)[0]].strip(), most=_LETTERS)})" for row in rows]
    return f"left out: {counted(len(rows), 'row')} {where}: {listed(shown, _SHOWN)}"
