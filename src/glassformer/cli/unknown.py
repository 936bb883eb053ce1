"""The warning of words that a model does not know: the telling ones first."""

from __future__ import annotations

from collections import Counter

from glassformer.cli.output import human_count, one_line, say

_SHOWN = 10
_LONGEST = 40  # characters of a word


def warn_of_unknown(unknown: Counter[str]) -> None:
    """Name the words that most texts have; numbers and codes such as order numbers are counted, unless there is nothing
    else.

    Args:
        unknown: words with the number of texts that they occur in.
    """
    if not unknown:
        return
    telling = sorted(
        (word for word in unknown if not _is_code(word)), key=lambda word: (-_letters(word), -unknown[word])
    )
    codes = len(unknown) - len(telling)
    words = telling or [word for word, _ in unknown.most_common(_SHOWN)]
    shown = ", ".join(one_line(word if len(word) <= _LONGEST else f"{word[:_LONGEST]}…") for word in words[:_SHOWN])
    more = len(unknown) - len(words[:_SHOWN])
    rest = f" and {human_count(more)} more" if more else ""
    if more and telling and codes:
        rest += f" ({human_count(codes)} with digits)"
    say(f"warning: words never seen in training are read as unknown: {shown}{rest}")


def _is_code(word: str) -> bool:
    return any(character.isdigit() for character in word)


def _letters(word: str) -> bool:
    """Whether this is a word of letters, of more than one where the script has words of several."""
    return len(word) > 1 and word.replace("'", "").replace("’", "").isalpha()
