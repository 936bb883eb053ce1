"""The warning about words that a model does not know. The most telling words come first."""

from __future__ import annotations

import unicodedata
from collections import Counter

from glassformer.cli.output import human_count, one_line, say

_SHOWN = 10
_LONGEST = 40  # characters of a word


def warn_of_unknown(unknown: Counter[str]) -> None:
    """List the words that occur in the most texts.

    Numbers, codes such as order numbers, and punctuation are only counted, unless there is nothing else.

    Args:
        unknown: words with the number of texts that they occur in.
    """
    if not unknown:
        return
    codes = {word for word in unknown if any(character.isdigit() for character in word)}
    marks = {word for word in unknown if is_punctuation(word)}
    telling = sorted(
        (word for word in unknown if word not in codes | marks), key=lambda word: (-_is_word(word), -unknown[word])
    )
    shown = (telling or [word for word, _ in unknown.most_common(_SHOWN)])[:_SHOWN]
    words = ", ".join(one_line(word if len(word) <= _LONGEST else f"{word[:_LONGEST]}…") for word in shown)
    more = len(unknown) - len(shown)
    rest = f" and {human_count(more)} more" if more else ""
    counts = ((codes, "with digits"), (marks, "punctuation"))
    kinds = [f"{human_count(len(kind))} {name}" for kind, name in counts if kind]
    if more and telling and kinds:
        rest += f" ({', '.join(kinds)})"
    say(f"warning: words never seen in training are read as unknown: {words}{rest}")


def is_punctuation(text: str) -> bool:
    """Whether a text has punctuation but no letter, digit or emoji."""
    seen = text.strip()
    return bool(seen) and all(unicodedata.category(char)[0] in "PZC" or char in _SIGNS for char in seen)


_SIGNS = "$+<=>^`|~"  # the characters of ASCII that Unicode counts as symbols


def _is_word(word: str) -> bool:
    """Whether this is a word of letters, with more than one letter if the script has such words."""
    return len(word) > 1 and word.replace("'", "").replace("’", "").isalpha()
