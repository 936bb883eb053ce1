"""Read JSON lines, an object in each line, or one array of objects."""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from glassformer.data.encodings import half_of_pair
from glassformer.data.formats.format import Delimited, Place
from glassformer.data.formats.text import Lines, TextFormat
from glassformer.data.json_files import parsed, rows_by_column
from glassformer.data.lines import LONGEST, ROWS_WITHIN
from glassformer.data.wording import listed
from glassformer.errors import UsageError, brief, quoted

MOST_DIGITS = 100
_FEWEST_WITHIN = 2  # rows, of an array within an object
_MOST_SPREAD = 100  # columns of the objects under one key; of more, the keys are values themselves, such as names
_DEEPEST = 8
_SHOWN = 3
_MOST_LATE = 1_000  # columns that no first row has; names that are values have no end
_NOT_JSON = re.compile("NaN|Infinity")
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_int=str)  # it finds where an object ends


class JsonLines(TextFormat):
    """An object in each line, an array of objects, or in a file `.json` one object with such an array.

    Each batch has the keys of its own rows. Objects within rows are read as columns, such as `review.text` (see
    `_spread`).
    """

    name = "json"
    extensions = (".jsonl", ".ndjson", ".json")
    in_pieces = True

    def of_lines(self, lines: Lines, place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
        records, like = _json_records(lines.whole, place), Delimited()
        if place.on_delimited:
            place.on_delimited(like)
        first = list(itertools.islice(records, rows_per_batch))
        like.within.update(_spread([record for record, _ in first]))
        records = itertools.chain(first, records)
        late = dict[str, str]()
        while rows := list(itertools.islice(records, rows_per_batch)):
            cells = [_spread_out(record, texts, like.within, late) for record, texts in rows]
            if place.on_delimited:
                like.records.clear()
                like.records.extend((row, _writable(*both)) for row, both in zip(cells, rows, strict=True))
            columns = dict.fromkeys(key for row in cells for key in row) or like.within  # a row counts, though empty
            yield pl.DataFrame([pl.Series(key, [row.get(key) for row in cells], pl.String) for key in columns])
        if place.on_note:
            for note in _left_out(late, len(first)):
                place.on_note(note)


JSON_LINES = JsonLines()


def _json_records(lines: Iterator[str], place: Place) -> Iterator[tuple[dict[str, Any], dict[str, str | None]]]:
    """Yield each object, and its values as text."""
    name = place.name
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    first = next(numbered, None)
    if first is None:
        return
    if first[1].lstrip().startswith("["):
        objects = _elements(first, lines, name)
    elif ".json" in map(str.lower, Path(place.part or name).suffixes[-2:]):  # in others, each line is a row
        objects = _rows_within(first, numbered, place)
    else:
        objects = itertools.chain([first], numbered)
    for row, (number, text) in enumerate(objects, start=1):
        try:
            # Python refuses to convert thousands of digits.
            record = json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < MOST_DIGITS else digits)
            if not isinstance(record, dict) or not record:
                raise ValueError("not an object with at least one key")
            texts = {key: _as_text(value) for key, value in record.items()}
            if "\\u" in text and half_of_pair(json.dumps(record, ensure_ascii=False)) is not None:
                raise ValueError("it holds half of a surrogate pair, which is not a character")
        except (ValueError, RecursionError) as error:
            raise _malformed(name, row, number, error) from None
        yield record, texts


def _rows_within(first: tuple[int, str], others: Iterator[tuple[int, str]], place: Place) -> Iterator[tuple[int, str]]:
    """Yield the lines; or if they are one object, as servers give it, the objects of the longest array within it."""
    taken, whole = [first], parsed(first[1])
    if not isinstance(whole, dict) and first[1].lstrip().startswith("{"):  # it may stand over many lines
        size = len(first[1])
        for each in others:
            taken.append(each)
            if (size := size + len(each[1])) > LONGEST:
                raise UsageError(
                    f"{place.name} begins with an object of more than {LONGEST >> 20} MiB, and no more of it was read. "
                    f"{ROWS_WITHIN}"
                )
        whole = parsed("".join(line for _, line in taken))
    elif second := next(others, None):
        taken, whole = [first, second], None
    if isinstance(whole, dict) and len(rows := rows_by_column(whole)) >= _FEWEST_WITHIN:
        if place.on_note:
            place.on_note("the file is one JSON object; its rows are read as pandas writes them")
        yield from ((1, json.dumps(row)) for row in rows)
        return
    path, rows = _longest_array(whole) if isinstance(whole, dict) else ((), [])
    if len(rows) < _FEWEST_WITHIN:
        yield from itertools.chain(taken, others)
        return
    if place.on_note:
        place.on_note(f"the file is one JSON object; its rows are read from {quoted('.'.join(path))}")
    yield from ((1, json.dumps(row)) for row in rows)


def _longest_array(within: dict[str, Any]) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the longest array of objects in an object or those in it, and the keys that lead to it."""
    found: tuple[tuple[str, ...], list[dict[str, Any]]] = (), []
    for key, value in within.items():
        path, rows = _longest_array(value) if isinstance(value, dict) else ((), value)
        if isinstance(rows, list) and len(rows) > len(found[1]) and all(isinstance(row, dict) for row in rows):
            found = (key, *path), rows
    return found


def _spread(records: Sequence[Mapping[str, Any]]) -> Mapping[str, str]:
    """Return the columns that objects within records are read as, such as `review.text`, each with the object's key.

    The objects under a key stay as they are if it holds other values too, if they have many keys, or if two values
    would be one column.
    """
    held = defaultdict[str, list[Any]](list)
    for record in records:
        for key, value in record.items():
            held[key] += [] if value is None else [value]
    found: dict[str, str] = {}
    for key, values in held.items():
        if all(isinstance(value, dict) for value in values):
            paths = [[path for path, _ in _values_in(value, key)] for value in values]
            columns, is_clear = {*itertools.chain(*paths)}, all(len({*each}) == len(each) for each in paths)
            if len(columns) <= _MOST_SPREAD and is_clear and not columns & {*held, *found}:
                found |= dict.fromkeys(columns, key)
    return found


def _values_in(value: object, path: str, deepest: int = _DEEPEST) -> Iterator[tuple[str, object]]:
    """Yield the values in an object or those in it, each with the keys that lead to it."""
    if not isinstance(value, dict) or not deepest:
        yield path, value
        return
    for key, inner in value.items():
        yield from _values_in(inner, f"{path}.{key}", deepest - 1)


def _spread_out(
    record: Mapping[str, Any], texts: dict[str, str | None], within: Mapping[str, str], late: dict[str, str]
) -> dict[str, str | None]:
    """Return the cells of a record by their columns. `late` gets the columns that no first row has, with their keys.

    One of them is the key itself if its value is no object here. A column that begins so late could be learned, but no
    table could be answered by it: its first rows say which columns there are.
    """
    if not within:
        return texts
    cells, spread = dict[str, str | None](), {*within.values()}
    for key, text in texts.items():
        if key not in spread:
            cells[key] = text
            continue
        for path, value in _values_in(record[key], key):
            if within.get(path) == key:
                cells[path] = _as_text(value)
            elif value is not None and len(late) < _MOST_LATE:
                late[path] = key
    return cells


def _left_out(late: Mapping[str, str], rows: int) -> list[str]:
    """Return sentences that name the columns that none of the first rows has."""
    plain = [path for path, key in late.items() if path == key]
    within = [path for path, key in late.items() if path != key]
    more = " and at least {:,} more" if len(late) == _MOST_LATE else " and {:,} more"
    ways = {
        f"; the first {rows:,} rows have no such value": within,
        f", as a value that is no object; in the first {rows:,} rows it is one": plain,
    }
    return [
        f"left out where {'it stands' if len(paths) == 1 else 'they stand'}: "
        f"{listed([*map(quoted, paths)], _SHOWN, more=more)}{why}"
        for why, paths in ways.items()
        if paths
    ]


def _malformed(name: str, row: int, number: int, error: Exception) -> UsageError:
    why = "it is nested too deeply" if isinstance(error, RecursionError) else error
    return UsageError(
        f"{name}, row {row} (line {number}) is malformed: {why}. "
        "One JSON object is expected on each line, or an array of objects."
    )


def _elements(first: tuple[int, str], others: Iterator[str], name: str) -> Iterator[tuple[int, str]]:
    """Yield the elements of an array, each with the number of the line that it begins in."""
    (number, text), row, at = first, 1, 0

    def go_to(place: int) -> str:
        """Go to the first character from a place on that is not blank, and return it."""
        nonlocal number, text, at
        while True:
            begun, at = at, _blank_from(text, place)
            number += text.count("\n", begun, at)
            if at < len(text):
                return text[at]
            text, at, place = next(others, ""), 0, 0
            if not text:
                raise UsageError(f"{name} ends after row {row - 1}, and its array does not; it may be cut short")

    def end() -> int:
        nonlocal text, at
        while True:
            try:
                return _DECODER.raw_decode(text, at)[1]
            except (ValueError, RecursionError) as error:
                within = not isinstance(error, json.JSONDecodeError) or _is_within(text, error)
                # Each time as much again, as it is decoded from its beginning.
                if not within and len(text) - at > LONGEST:
                    size = f"{LONGEST >> 20} MiB"
                    raise UsageError(f"{name}, row {row} (line {number}) is longer than {size}; shorten it") from None
                more = ""
                while not within and len(more) < len(text) - at and (line := next(others, "")):
                    more += line
                if not more:
                    raise _malformed(name, row, number, error) from None
                text, at = text[at:] + more, 0

    sign = go_to(_blank_from(text, 0) + 1)
    while sign != "]":
        place = end()
        yield number, text[at:place]
        row += 1
        sign = go_to(place)
        if sign == ",":
            go_to(at + 1)
        elif sign != "]":
            raise _malformed(name, row, number, ValueError(f"a comma or ] is expected, not {brief(sign)}"))
    if _blank_from(text, at + 1) < len(text) or any(map(str.strip, others)):
        raise UsageError(f"{name} goes on after its array, in line {number} or below; one array is expected")


def _is_within(text: str, error: json.JSONDecodeError) -> bool:
    """Whether reading on mends nothing. No token of JSON spans lines, and only strings are long."""
    left = len(text) - _blank_from(text, error.pos)
    if text.endswith("\n"):
        return left > 0
    return left >= len("-Infinity") and not error.msg.startswith("Unterminated string")


def _blank_from(text: str, at: int) -> int:
    """Return where the spaces and line breaks from a place on end."""
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def _writable(row: dict[str, Any], texts: dict[str, str | None]) -> dict[str, Any]:
    """Return a row with text in place of values that no JSON may hold: NaN and infinity."""
    odd = [
        key for key, text in texts.items() if text is None or _NOT_JSON.search(text)
    ]  # few values need a closer look
    return row | {key: texts[key] for key in odd if not isinstance(row[key], str) and not _is_finite(row[key])}


def _is_finite(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _as_text(value: object) -> str | None:
    """Return numbers, truth values, lists and objects as JSON text. NaN counts as missing."""
    if value is None or value != value:
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
