r"""Read a file of rules. A rule is a line; a line that begins with `#` is a remark.

```
"chargeback" -> billing               a phrase: whole words, in capitals or not
"out of office" -> automatic reply always
/\bINV-\d{6}\b/ -> billing            a pattern; after /…/i capitals do not matter
"refund" -> billing 1.5               the score that it adds; without a number, held-out rows find it
"password" -> not billing
```

What stands after the arrow depends on the kind of answer: see `saying.py`.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter
from pydantic_core import SchemaError

from glassformer.errors import UsageError, brief, quoted
from glassformer.readers.counting.ngrams import words_of as words_in
from glassformer.readers.rules.saying import Said, Saying

MOST_RULES, MOST_PATTERNS = 5_000, 200  # a pattern may take .1 seconds and 10 MiB
LONGEST_PATTERN, LONGEST_PHRASE = 500, 20  # characters, words
_MOST_BYTES = 1_000_000
_MOST_SECONDS = 15
_LINE_END = re.compile(r"\r\n?|\n")
_LINE = re.compile(r"(?P<quoted>\"(?P<phrase>.*)\"|/(?P<pattern>.+)/(?P<flag>i?))\s*->\s*(?P<answer>.+)")


@dataclass(frozen=True, kw_only=True)
class Rule(Said):
    """A line of the file.

    Attributes:
        line: its number, from 1 on.
        written: the phrase or the pattern as it stands in the file.
        phrase: its words (`words_of`). Empty if the rule has a pattern.
        pattern: a regular expression of Rust, whose search takes time in proportion to the text.
    """

    line: int
    written: str
    phrase: tuple[str, ...]
    pattern: str


def read_rules(path: Path) -> str:
    """Return the contents of a file of rules. Raises `UsageError` if it cannot be read."""
    try:
        if path.is_fifo():
            raise ValueError("it is a pipe, which may never end")
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # a name with a null byte
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"`model.rules={quoted(path, most=300)}`: {why}; name a file of rules (a model keeps its own in "
            "readers/rules/rules.txt)"
        ) from error
    if len(content) > _MOST_BYTES:
        raise UsageError(f"{path} is larger than {_MOST_BYTES:,} bytes, which no file of rules is; name another file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not in UTF-8; save it so") from error


def parse_rules(content: str, saying: Saying, where: str) -> tuple[Rule, ...]:
    """Return the rules of a file.

    Args:
        where: the name of the file, for messages.

    Raises:
        UsageError: a line is not a rule, says nothing that is known or has a pattern that cannot be compiled; or there
            is no rule, or there are too many.
    """
    rules = tuple(_rules(content, saying, where))
    if not rules:
        raise UsageError(f'{where} holds no rule; write one on each line, such as "refund" -> {saying.example}')
    patterns = sum(bool(rule.pattern) for rule in rules)
    for number, most, what in ((len(rules), MOST_RULES, "rules"), (patterns, MOST_PATTERNS, "patterns")):
        if number > most:
            raise UsageError(f"{where} holds {number:,} {what}, and a model has at most {most:,}; leave some out")
    return rules


def lines_of(content: str, where: str, example: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Return the place of each rule, what it says and the rest of it. Raises `UsageError` if a line is no rule.

    Args:
        example: what may stand after the arrow.
    """
    began = time.perf_counter()
    for number, line in enumerate(_LINE_END.split(content), 1):  # as editors count them; more ends lines for Python
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        at = f"{where}, line {number}"
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise UsageError(
                f'{at}: {brief(line.strip())} is not a rule; write "a phrase" -> {example}, or /a pattern/ for '
                "the phrase"
            )
        phrase = () if found["phrase"] is None else _phrase(found["phrase"], at)
        pattern = "" if found["pattern"] is None else _pattern(found["pattern"], found["flag"], at)
        if pattern and time.perf_counter() - began > _MOST_SECONDS:
            raise UsageError(
                f"{at}: the patterns up to here take more than {_MOST_SECONDS} seconds to compile; \\w stands for "
                "140,000 characters, so write [a-z] where it is repeated many times"
            )
        yield (
            at,
            found["answer"],
            {"line": number, "written": found["quoted"], "phrase": phrase, "pattern": pattern},
        )


def _rules(content: str, saying: Saying, where: str) -> Iterator[Rule]:
    for at, answer, rest in lines_of(content, where, saying.example):
        yield Rule(**rest, **vars(saying.read(answer, at)))


def _phrase(written: str, at: str) -> tuple[str, ...]:
    words = tuple(words_in(written))
    if not words:
        raise UsageError(f"{at}: the phrase has no word; write some between the quotation marks")
    if len(words) > LONGEST_PHRASE:
        raise UsageError(f"{at}: the phrase has {len(words)} words, and at most {LONGEST_PHRASE} are allowed")
    return words


@lru_cache(maxsize=MOST_PATTERNS)
def search(pattern: str) -> Callable[[str], bool]:
    """Return what says whether a text has a match. Raises `SchemaError` if the pattern cannot be compiled."""
    return TypeAdapter(Annotated[str, Field(pattern=pattern)]).validator.isinstance_python


def _pattern(written: str, flag: str, at: str) -> str:
    if len(written) > LONGEST_PATTERN:
        raise UsageError(
            f"{at}: the pattern has {len(written):,} characters, and at most {LONGEST_PATTERN} are allowed"
        )
    pattern = unicodedata.normalize("NFC", f"(?i){written}" if flag else written)
    try:
        matches_nothing = search(pattern)("")
    except SchemaError as error:
        *_, why = re.split(r"\b(?:Schema)?[Ee]rror: ", str(error))
        raise UsageError(f"{at}: the pattern {brief(written)} cannot be used: {brief(why)}") from error
    if matches_nothing:
        raise UsageError(f"{at}: the pattern {brief(written)} matches a text without any character; make it narrower")
    return pattern
