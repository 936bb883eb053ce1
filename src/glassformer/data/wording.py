"""Words for numbers and labels, as readers see them. They need no other package."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from glassformer.errors import UsageError, quoted

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 except tab and line break, DEL, C1, characters that change the direction of text, and halves of pairs."""
_ROUNDING = 1e-9  # of a share that is computed
_SHORTEST_END = 3  # letters: shorter ends say too little


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its words: "1 text occurs", "1,234 texts occur". The default plural is `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def percent(probability: float) -> str:
    """Write .987 as 98.7%. No probability is written as 100.0% or 0.0%, which reads as certainty."""
    if probability >= 0.9995:
        return "> 99.9%"
    return f"{probability:.1%}" if probability >= 0.0005 else "< 0.1%"


def share_in_percent(share: float, digits: int = 1) -> str:
    """Write .0312 as 3.1%, and .0003 as 0.03%: a share of rows is 0% or 100% only if it is that exactly."""
    shown = f"{share:.{digits}%}"
    coarse = _ROUNDING < share < 1 - _ROUNDING and float(shown[:-1]) in (0, 100)
    return share_in_percent(share, digits + 1) if coarse else shown


def decimals(probability: float) -> str:
    """Write .98712 as 0.987, with `>0.999` and `<0.001` in the place of 1.000 and 0.000."""
    if probability >= 0.9995:
        return ">0.999"
    return f"{probability:.3f}" if probability >= 0.0005 else "<0.001"


def figure(value: float) -> str:
    """Write −.01234 as −0.0123, and −.00001 as 0.0000."""
    rounded = round(value, 4) + 0.0  # no −0.0
    return f"{rounded:.4f}".replace("-", "−")


def short(value: float) -> str:
    """Write a number of the user's unit with four digits that count, and all digits before the point: "0.01235",
    "12.35", "556,131"."""
    return f"{value:,.0f}" if 9_999.5 <= abs(value) < 1e15 else f"{value:.4g}"


def listed(words: Sequence[str], most: int, *, between: str = ", ", more: str = " and {:,} more") -> str:
    """Return the first words, and how many more there are: "bad, fair and 7 more"."""
    return between.join(words[:most]) + (more.format(len(words) - most) if len(words) > most else "")


def in_a_row(words: Sequence[str], most: int = 1_000) -> str:
    """Return "a", "a and b" or "a, b and c"; of more than `most` words "a, b, c and 7 more"."""
    *before, last = words if len(words) <= most else (*words[:most], f"{len(words) - most:,} more")
    return f"{', '.join(before)} and {last}" if before else last


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that names the word spelled most alike, with a space before it, or nothing.

    A longer word that ends so is named too, such as the path of a class.
    """
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1)
    if not near and len(name) >= _SHORTEST_END:
        near = [each for each in known if each.casefold().endswith(name.casefold())]
    return f" Did you mean {quoted(near[0])}?" if near else ""


def label_name(label: object) -> str:
    """Return a label of any type as a string, as a table would give it. A whole number loses its ".0"."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def label_text(label: object) -> str:
    """Return the label of a text for a reader, or its labels: "good", "comedy, drama", or "(no label)" for none."""
    return (", ".join(map(label_name, label)) or "(no label)") if isinstance(label, list) else label_name(label)


def label_cell(label: Any) -> str:
    """Format an answer as a cell of a table. Several labels share a cell."""
    return "|".join(map(label_name, label)) if isinstance(label, list) else label_name(label)


def names_in(option: str) -> list[str]:
    """Return the names in an option. As in a CSV, commas are in between, and a name with a comma stands in quotes."""
    try:
        return [name.strip() for name in next(csv.reader([option], skipinitialspace=True), []) if name.strip()]
    except csv.Error as error:
        raise UsageError(f"{quoted(option)}: give names with commas in between, on one line") from error


def in_option(name: str) -> str:
    """Return a name as it stands in such an option."""
    return '"' + name.replace('"', '""') + '"' if re.search('[",]', name) else name


def about(seconds: float) -> str:
    """Return a duration for people: "20 seconds", "3.5 minutes", "12 minutes", "2.5 hours"."""
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    value, unit = (seconds / 60, "minutes") if seconds < 5400 else (seconds / 3600, "hours")
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}".replace(".0 ", " ")


def duration(seconds: float) -> str:
    """Write a duration: 75.2 becomes `1 min 15 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 and seconds % 1 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def in_markdown(text: str) -> str:
    """Return a text of others as Markdown that shows it as it is, on one line."""
    return re.sub(r"[\\`*\[\]<>|&~$]", r"\\\g<0>", " ".join(text.split()))
