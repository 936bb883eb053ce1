"""The rules of a model for the page that `web.py` writes: what `page/rules.js` reads.

A phrase matches alike everywhere. A pattern is a regular expression of Rust. It is written anew as one of JavaScript
that matches the same texts. One that holds what a browser may read otherwise is refused.
"""

import re
from typing import Any

import numpy as np

from glassformer.data.wording import counted, listed
from glassformer.errors import UsageError
from glassformer.readers.rules.reader import RulesReader

_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}"
_SETS = {"d": r"\p{Nd}", "D": r"\P{Nd}", "s": r"\p{White_Space}", "S": r"\P{White_Space}"}
_AT_BORDER = f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
_WITHIN = f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))"
_CONTROLS = "nrtfv"
_SYNTAX = r"^$\.*+?()[]{}|/"
_FLAGS = re.compile(r"\(\?([ims]+)\)")
_GROUP = re.compile(r"\((?:\?:|\?P?<\w+>)?(?!\?)")
_REPEATED = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})\??")
_MOST_NAMED = 5


def page_rules(reader: RulesReader) -> dict[str, Any]:
    """Return the rules as the page reads them.

    Raises:
        UsageError: a pattern cannot be written for a browser.
    """
    saying, refused, rules = reader.saying, list[str](), list[dict[str, Any]]()
    for number, rule in enumerate(reader.rules):
        try:
            found = {"phrase": " ".join(rule.phrase)} if rule.phrase else {"pattern": translated(rule.pattern)}
        except _UnlikeError as error:
            refused.append(f"{reader.named(number)} (it holds {error})")
            continue
        added = saying.score(rule, float(reader.weights[number]))
        decides = {"decision": saying.decision(rule), "always": rule.always}
        rules.append({**found, "label": rule.label, "added": added, **decides})
    if refused:
        raise UsageError(
            f"the page runs the rules of a model, and {counted(len(refused), 'pattern')} may mean something else in a "
            f"browser: {listed(refused, _MOST_NAMED, between='; ')}. Write them as phrases or simpler patterns and "
            "train again, or use `format='onnx'`"
        )
    farthest = saying.farthest if np.isfinite(saying.farthest) else None
    return {"width": len(saying.outputs), "silences": bool(saying.decided), "farthest": farthest, "rules": rules}


class _UnlikeError(Exception):
    """Holds the part of a pattern that a browser may read in another way."""


def translated(pattern: str) -> dict[str, str]:
    """Return the source and the flags of the same pattern in JavaScript."""
    flags = ""
    while found := _FLAGS.match(pattern):
        flags, pattern = flags + found[1], pattern[found.end() :]
    return {"source": _Translation(pattern, set(flags)).whole(), "flags": "iu" if "i" in flags else "u"}


class _Translation:
    """A pattern that is read from its beginning."""

    def __init__(self, pattern: str, flags: set[str]) -> None:
        self.rest, self.flags, self.written = pattern, flags, list[str]()
        self.open: list[bool] = []  # for each open group, whether something in it may be repeated any number of times
        self.last = False  # whether the last item is such a group
        self.fixed = True  # whether the last item cannot be repeated in a browser

    def whole(self) -> str:
        while self.rest:
            self._item()
        return "".join(self.written)

    def _take(self, length: int) -> str:
        taken, self.rest = self.rest[:length], self.rest[length:]
        return taken

    def _item(self) -> None:
        if found := _REPEATED.match(self.rest):
            self._repeat(self._take(found.end()))
            self.fixed = True
            return
        self.last, first = False, self.rest[0]
        self.fixed = first in "^$|("
        if first == "(":
            opened = _GROUP.match(self.rest)
            if opened is None:
                raise _UnlikeError(self.rest[:3])
            self._take(opened.end())
            self.open.append(False)
            self.written.append("(?:")
        elif first == ")":
            self.written.append(self._take(1))
            self.last = self.open.pop()
            if self.open:
                self.open[-1] |= self.last
        elif first == "[":
            self.written.append(self._class())
        elif first == "\\":
            self.written.append(self._escape(in_class=False))
        else:
            self.written.append(self._plain(self._take(1)))

    def _repeat(self, sign: str) -> None:
        """Refuse (a+)+, which takes a browser a time that doubles with each letter."""
        if self.fixed:
            raise _UnlikeError(f"{sign} after what is not repeated")
        if (sign[0] == "{" and "," not in sign) or sign[0] == "?":
            self.written.append(sign)
            return
        if self.last:
            raise _UnlikeError(f"a repetition within a repetition, {sign}")
        self.written.append(sign)
        if self.open:
            self.open[-1] = True

    def _plain(self, letter: str) -> str:
        if letter == "{":
            raise _UnlikeError(letter)
        if letter == ".":
            return r"[\s\S]" if "s" in self.flags else r"[^\n]"
        if letter in "^$" and "m" in self.flags:
            return r"(?<![^\n])" if letter == "^" else r"(?![^\n])"
        return "\\" + letter if letter in "]}/" else letter

    def _escape(self, *, in_class: bool) -> str:
        escape = self._take(2)
        letter = escape[1:]
        if letter in _SETS:
            return _SETS[letter]
        if letter == "w":
            return _WORD if in_class else f"[{_WORD}]"
        if letter == "W" and not in_class:
            return f"[^{_WORD}]"
        if letter in "bB" and not in_class and self.rest[:1] != "{":
            return _AT_BORDER if letter == "b" else _WITHIN
        if letter in _CONTROLS:
            return escape
        if not letter.isascii() or letter.isalnum():
            raise _UnlikeError(escape)
        return self._literal(letter, in_class=in_class)

    @staticmethod
    def _literal(letter: str, *, in_class: bool) -> str:
        return "\\" + letter if letter in _SYNTAX or (in_class and letter == "-") else letter

    def _class(self) -> str:
        self._take(1)
        found = "[" + (self._take(1) if self.rest.startswith("^") else "")
        if self.rest.startswith("]"):
            raise _UnlikeError("[]")
        while not self.rest.startswith("]"):
            if self.rest[:1] == "[" or self.rest[:2] in ("&&", "--", "~~"):
                raise _UnlikeError(self.rest[:2])
            if self.rest[0] == "\\":
                found += self._escape(in_class=True)
            elif self.rest[0] == "-" and not found.endswith(("[", "[^")) and self.rest[1:2] != "]":
                found += self._take(1)
            else:
                found += self._literal(self._take(1), in_class=True)
        return found + self._take(1)
