"""Read JSON lines: an object in each line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from glassformer.data.encodings import half_of_pair
from glassformer.data.formats.format import Place
from glassformer.data.formats.text import Lines, TextFormat
from glassformer.errors import UsageError

MOST_DIGITS = 100


@dataclass(frozen=True)
class JsonLines(TextFormat):
    """An object in each line. Each batch has the keys of its own rows."""

    name = "json"
    extensions = (".jsonl", ".ndjson", ".json")

    def of_lines(self, lines: Lines, place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
        """Yield the batches of lines."""
        records = _json_records(lines.whole, place.name)
        while rows := list(itertools.islice(records, rows_per_batch)):
            columns = dict.fromkeys(key for row in rows for key in row)
            yield pl.DataFrame([pl.Series(key, [row.get(key) for row in rows], pl.String) for key in columns])


JSON_LINES = JsonLines()


def _json_records(lines: Iterator[str], name: str) -> Iterator[dict[str, str | None]]:
    row = 1
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, parse_int=_whole_number)
            if not isinstance(record, dict) or not record:
                raise ValueError("not an object with at least one key")
            texts = {key: _as_text(value) for key, value in record.items()}
            if "\\u" in line and half_of_pair(json.dumps(record, ensure_ascii=False)) is not None:
                raise ValueError("it holds half of a surrogate pair, which is not a character")
        except (ValueError, RecursionError) as error:
            array = line.lstrip().startswith("[")
            error = ValueError("it is nested too deeply") if isinstance(error, RecursionError) else error
            hint = f" Turn an array into lines: jq -c '.[]' {name} > lines.jsonl" if array else ""
            raise UsageError(
                f"{name}, row {row} (line {number}) is malformed: {error}. "
                f"One JSON object is expected on each line.{hint}"
            ) from None
        yield texts
        row += 1


def _whole_number(digits: str) -> int | str:
    """Return the number, or the digits as text if there are too many: Python refuses to convert thousands of digits."""
    return int(digits) if len(digits) < MOST_DIGITS else digits


def _as_text(value: object) -> str | None:
    """Return numbers, truth values, lists and objects as JSON text. NaN counts as missing."""
    if value is None or value != value:
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
