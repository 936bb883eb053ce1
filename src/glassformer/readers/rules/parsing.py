r"""Read a file of rules. A rule is a line; a line that begins with `#` is a remark.

```
"chargeback" -> billing               a phrase: whole words, in capitals or not
"out of office" -> automatic reply always
/\bINV-\d{6}\b/ -> billing            a pattern; after /…/i capitals do not matter
"refund" -> billing 1.5               the score that it adds; without a number, held-out rows find it
"password" -> not billing
```
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from glassformer.errors import UsageError, brief, quoted, words_of
from glassformer.readers.counting.ngrams import words_of as words_in
from glassformer.readers.reader import HEAVIEST

MOST_RULES, MOST_PATTERNS = 5_000, 200  # a pattern is compiled each time that texts are answered
LONGEST_PATTERN, LONGEST_PHRASE = 500, 20  # characters, words
_MOST_BYTES = 1_000_000
_LINE = re.compile(r"(?P<quoted>\"(?P<phrase>.*)\"|/(?P<pattern>.+)/(?P<flag>i?))\s*->\s*(?P<answer>.+)")
_LAST = re.compile(r"(?P<label>.*\S)\s+(?P<last>always|[-+]?(?:\d+\.?\d*|\.\d+))")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A line of the file.

    Attributes:
        written: the phrase or the pattern as it stands in the file.
        phrase: its words (`words_of`). Empty if the rule has a pattern.
        pattern: a regular expression of Rust, whose search takes time in proportion to the text.
        label: the number of the label.
        negated: whether the rule speaks against the label.
        weight: the score that the file gives. None: held-out rows find it.
        always: whether the rule decides.
    """

    written: str
    phrase: tuple[str, ...]
    pattern: str
    label: int
    negated: bool
    weight: float | None
    always: bool

    def named(self, labels: Sequence[str]) -> str:
        """Return the rule in words, without its weight: `"refund" -> billing`."""
        label = f"{'not ' if self.negated else ''}{labels[self.label]}"
        return f"{self.written} -> {label}{' always' if self.always else ''}"


def read_rules(path: Path) -> str:
    """Return the contents of a file of rules. Raises `UsageError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"`model.rules={str(path)!r}`: {error.strerror}; name a file of rules (a model keeps its own in "
            "readers/rules/rules.txt)"
        ) from error
    if len(content) > _MOST_BYTES:
        raise UsageError(f"{path} is larger than {_MOST_BYTES:,} bytes, which no file of rules is; name another file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not in UTF-8; save it so") from error


def parse_rules(content: str, labels: Sequence[str], where: str) -> tuple[Rule, ...]:
    """Return the rules of a file.

    Args:
        labels: the names of the labels.
        where: the name of the file, for messages.

    Raises:
        UsageError: a line is not a rule, names a label that is not known or has a pattern that cannot be compiled; or
            there is no rule, or there are too many.
    """
    rules = tuple(_rules(content, labels, where))
    if not rules:
        raise UsageError(f'{where} holds no rule; write one on each line, such as "refund" -> {labels[0]}')
    patterns = sum(bool(rule.pattern) for rule in rules)
    for number, most, what in ((len(rules), MOST_RULES, "rules"), (patterns, MOST_PATTERNS, "patterns")):
        if number > most:
            raise UsageError(f"{where} holds {number:,} {what}, and a model has at most {most:,}; leave some out")
    return rules


def _rules(content: str, labels: Sequence[str], where: str) -> Iterator[Rule]:
    known = {_plain(label): number for number, label in enumerate(labels)}
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        at = f"{where}, line {number}"
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise UsageError(
                f'{at}: {brief(line.strip())} is not a rule; write "a phrase" -> {labels[0]}, '
                f"or /a pattern/ -> {labels[0]}"
            )
        label, negated, last = _answer(found["answer"], known, labels, at)
        weight = None if last in (None, "always") else _weight(str(last), at)
        if negated and last == "always":
            raise UsageError(f"{at}: `always` decides for a label, not against one; write a number in its place")
        phrase = () if found["phrase"] is None else _phrase(found["phrase"], at)
        pattern = "" if found["pattern"] is None else _pattern(found["pattern"], found["flag"], at)
        yield Rule(
            written=found["quoted"],
            phrase=phrase,
            pattern=pattern,
            label=label,
            negated=negated,
            weight=weight,
            always=last == "always",
        )


def _plain(label: str) -> str:
    return unicodedata.normalize("NFC", label.strip())


def _answer(answer: str, known: dict[str, int], labels: Sequence[str], at: str) -> tuple[int, bool, str | None]:
    """Return the number of the label, whether `not` stands before it, and what follows it.

    The longest part that is a label is the label, since labels may hold numbers and spaces.
    """
    read = _LAST.fullmatch(answer)
    for text, last in ((answer, None), *([] if read is None else [(read["label"], read["last"])])):
        plain = _plain(text)
        for label, negated in ((plain, False), (_plain(plain.removeprefix("not ")), plain.startswith("not "))):
            for name in (label, label[1:-1] if label.startswith('"') and label.endswith('"') else label):
                if name in known:
                    return known[name], negated, last
    name = _plain(answer if read is None else read["label"]).removeprefix("not ")
    near = difflib.get_close_matches(name, labels, n=1)
    shown = ", ".join(labels[:10]) + (", …" if len(labels) > 10 else "")
    hint = f"did you mean {near[0]}?" if near else f"the labels are {shown}. A remark stands on a line of its own"
    raise UsageError(f"{at}: no label {quoted(name)}; {hint}")


def _weight(written: str, at: str) -> float:
    weight = float(written)
    if not 0 < weight <= HEAVIEST:
        raise UsageError(
            f"{at}: the weight {written} is not above 0 and at most {HEAVIEST:g}; to speak against a label, write "
            "`not` before it"
        )
    return weight


def _phrase(written: str, at: str) -> tuple[str, ...]:
    words = tuple(words_in(written))
    if not words:
        raise UsageError(f"{at}: the phrase has no word; write some between the quotation marks")
    if len(words) > LONGEST_PHRASE:
        raise UsageError(f"{at}: the phrase has {len(words)} words, and at most {LONGEST_PHRASE} are allowed")
    return words


def _pattern(written: str, flag: str, at: str) -> str:
    import polars as pl  # tables are an extra where PyTorch is missing

    if len(written) > LONGEST_PATTERN:
        raise UsageError(
            f"{at}: the pattern has {len(written):,} characters, and at most {LONGEST_PATTERN} are allowed"
        )
    pattern = unicodedata.normalize("NFC", f"(?i){written}" if flag else written)
    try:
        matches_nothing = pl.Series([""]).str.contains(pattern)[0]
    except pl.exceptions.ComputeError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        why = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), words_of(error))
        raise UsageError(f"{at}: the pattern {brief(written)} cannot be used: {why}") from error
    if matches_nothing:
        raise UsageError(f"{at}: the pattern {brief(written)} matches a text without any character; make it narrower")
    return pattern
