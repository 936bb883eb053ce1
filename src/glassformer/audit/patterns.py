"""Find personal data in a text by its form: addresses, numbers and names of users. And hide most of what was found."""

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

Kind = Literal[
    "link with a login", "e-mail address", "home folder", "IBAN", "payment card", "IP address", "phone number",
    "user name", "long number",
]  # fmt: skip
DIRECT: tuple[Kind, ...] = (
    "link with a login",
    "e-mail address",
    "home folder",
    "IBAN",
    "payment card",
    "IP address",
    "phone number",
)
"""The kinds that name or reach a person by themselves. A user name or a long number may do so."""

NAME = "probable name"
"""The kind of a name, which has no pattern of its own (see `capitalised_runs` and `is_name`)."""

_DATE = re.compile(r"(?<!\d)\d{1,4}([./-])\d{1,2}\1\d{2,4}(?!\d)|(?:^|[ (])(?:19|20)\d\d ")
_LEAST_DIGITS, _MOST_DIGITS = 8, 15  # of a phone number (ITU-T E.164 allows 15)
_SHORTEST_IBAN, _LONGEST_IBAN = 15, 34  # ISO 13616
_SHORT = 8  # characters: of fewer, only the first and the last are shown


class Match(NamedTuple):
    """Personal data in a text: its kind and the characters from `start` to `end`."""

    kind: Kind
    value: str
    start: int
    end: int


def personal_data(text: str) -> list[Match]:
    """Return the personal data of a text, in order. No character belongs to two matches."""
    taken = bytearray(len(text))
    found = []
    for kind, pattern, is_valid in _PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(taken[start:end]) or not is_valid(match[0]):
                continue
            taken[start:end] = b"\1" * (end - start)
            found.append(Match(kind, match[0], start, end))
    return sorted(found, key=lambda match: match.start)


def masked(value: str) -> str:
    """Return what may be shown of personal data: `m…@e….com`, `+4…67`.

    Of each part of an e-mail address the first character stays, and its ending.
    """
    name, at, domain = value.rpartition("@")
    if at and name and "://" not in value:
        host, _, ending = domain.rpartition(".")
        return f"{name[:1]}…@{host[:1]}….{ending}"
    shown = 1 if len(value) < _SHORT else 2
    return f"{value[:shown]}…{value[-shown:]}"


def masked_name(value: str) -> str:
    """Return what may be shown of a name: `M… R…`."""
    return " ".join(f"{word[:1]}…" for word in value.split())


def _iban(value: str) -> bool:
    """Check the two digits that make an IBAN 1 modulo 97 (ISO 7064)."""
    plain = value.replace(" ", "").upper()
    if not _SHORTEST_IBAN <= len(plain) <= _LONGEST_IBAN:
        return False
    return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1


def _card(value: str) -> bool:
    """Check the last digit (Luhn 1960, ISO/IEC 7812-1)."""
    digits = [int(digit) for digit in reversed(value) if digit.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _address(value: str) -> bool:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_multicast)


def _phone(value: str) -> bool:
    digits = sum(map(str.isdigit, value))
    return _LEAST_DIGITS <= digits <= _MOST_DIGITS and (value.startswith("+") or not _DATE.search(value))


def _home(value: str) -> bool:
    return re.split(r"[/\\]", value)[-1].casefold() not in {"shared", "public", "default"}


# What they find must be valid: of `bool`, the pattern says it all. The first ones go first: the "@" of a link is no
# e-mail address. Every repetition is bounded, so none is slow.
_PATTERNS: tuple[tuple[Kind, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("link with a login", re.compile(r"\b[a-z]{2,6}://[^\s/@:]{1,64}(?::[^\s/@]{0,64})?@[\w.-]{1,253}", re.I), bool),
    (
        "e-mail address",
        re.compile(r"(?<![\w.+%-])\w[\w.+%-]{0,63}@(?:[\w-]{1,63}\.){1,5}[^\W\d_]{2,24}(?![\w-])"),
        bool,
    ),
    (
        "home folder",
        re.compile(r"(?:(?<![\w.])/(?:home|Users)/|\b[A-Z]:[\\/]Users[\\/])[^/\\\s\"'<>,;:()]{1,64}"),
        _home,
    ),
    ("IBAN", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b", re.I | re.A), _iban),
    ("payment card", re.compile(r"(?<![\w.,-])[2-6](?:[ -]?\d){12,18}(?![\w-])"), _card),
    (
        "IP address",
        re.compile(
            r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\w)"
            r"|(?<![\w:.])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:])",
            re.I,
        ),
        _address,
    ),
    (
        "phone number",
        re.compile(
            r"(?<![\w.,/+-])(?:\+ ?|(?<!\d )00)\d(?:[ ()./-]{0,2}\d){6,14}(?!\w)"
            r"|(?<![\w.,/+-])(?<!\d )\(?0\d{1,5}\)?[ /-]{1,2}\d(?:[ /-]?\d){4,10}(?![\w.,]*\w)"
            r"|(?<![\w.,/+-])(?<!\d )\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?![\w.,-]*\w)"
        ),
        _phone,
    ),
    ("user name", re.compile(r"(?<![\w@./])@\w{2,30}(?!\w)"), bool),
    ("long number", re.compile(r"(?<![\w.,+-])\d{7,40}(?![\w-]|[.,]\d)"), bool),
)  # fmt: skip

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NAME_WORD = re.compile(rf"(?:{_WORD.pattern})\.?")
_PARTICLES = {
    *("von", "van", "vom", "zu", "zur", "de", "del", "della", "der", "den", "di", "da", "do", "dos", "du", "la", "le"),
    *("ten", "ter", "y", "e", "al", "el", "bin", "ibn"),
}
_MOST_NAME_WORDS = 5
_ENDS = frozenset('.!?…:;"“”„«»()[]{}|•#@/\n')
_MOST_CAPITALS = 0.5  # of the words of a text: beyond, it is a headline


def capitalised_runs(text: str) -> Iterator[str]:
    """Yield each run of two or three words that begin in upper case inside of a sentence: probable names.

    Such a run may also be a place, a firm or a title: the form does not tell. Headlines have none.
    """
    words = list(_WORD.finditer(text))
    upper = [word[0][0].isupper() and word[0][1:].islower() for word in words]
    if not words or sum(upper) > _MOST_CAPITALS * len(words):
        return
    run: list[re.Match[str]] = []
    for number, (word, is_upper) in enumerate(zip(words, upper, strict=True)):
        between = text[words[number - 1].end() : word.start()] if number else None
        if run and (not is_upper or between != " "):
            yield from _named(run)
            run = []
        inside = between is not None and not _ENDS & set(between)
        if is_upper and (run or inside):
            run.append(word)
    yield from _named(run)


def _named(run: list[re.Match[str]]) -> Iterator[str]:
    if 2 <= len(run) <= 3:
        yield " ".join(word[0] for word in run)


def is_name(cell: str) -> bool:
    """Whether a whole cell of a table has the form of a name: "Maria Meier", "MEIER, Maria", "Dr. J. van der Berg".

    At least two of its words begin in upper case, and the others stand in front of family names. It may also be a
    place, a firm or a title.
    """
    words = cell.replace(",", " ").split()
    if len(words) > _MOST_NAME_WORDS or not all(map(_NAME_WORD.fullmatch, words)):
        return False
    upper = [word for word in words if word[0].isupper()]
    return sum(len(word) > 1 for word in upper) >= 2 and all(word in _PARTICLES or word in upper for word in words)
