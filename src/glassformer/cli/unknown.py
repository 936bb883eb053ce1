"""What is said about answers: unknown words, texts unlike the training data, and which answers need review."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from glassformer.cli.flags import as_flags
from glassformer.cli.output import one_line, say
from glassformer.data.wording import counted, listed

if TYPE_CHECKING:
    from glassformer.prediction.answering import Answering
    from glassformer.readers.counting.unlike import Seen

_SHOWN = 10
USUALLY_UNLIKE = 0.01  # the share of held-out rows that are unlike the training data
_OFTEN_UNLIKE = 2 * USUALLY_UNLIKE
_LONGEST = 40  # characters of a word


def warn_of_unknown(unknown: Counter[str]) -> None:
    """List the words that occur in the most texts, the most telling ones first.

    Numbers, codes such as order numbers, and punctuation are only counted, unless there is nothing else.
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
    rest = f" and {more:,} more" if more else ""
    counts = ((codes, "with digits"), (marks, "punctuation"))
    kinds = [f"{len(kind):,} {name}" for kind, name in counts if kind]
    if more and telling and kinds:
        rest += f" ({', '.join(kinds)})"
    say(f"warning: words never seen in training are read as unknown: {words}{rest}")


@dataclass
class Marked:
    """How many texts have something in common, and the number of the first, from 1."""

    count: int = 0
    first: int = 0

    def add(self, which: Iterable[object], *, after: int) -> None:
        """Count those of these texts that are true. `after` is how many texts came before them."""
        for number, marked in enumerate(which, after + 1):
            if marked:
                self.count += 1
                self.first = self.first or number

    def warn(self, rows: int, unit: str, said: tuple[str, str]) -> None:
        """Warn of them, if there are any.

        Args:
            unit: what they are, `row` or `text`.
            said: what is said of one, and of several.
        """
        if self.count and rows == 1:
            say(f"warning: the {unit} {said[0]}")
        elif self.count:
            say(
                f"warning: {self.count:,} of {counted(rows, unit)} {said[self.count > 1]} "
                f"(first: {unit} {self.first:,})"
            )


def warn_of_unlike(unlike: Marked, rows: int, unit: str) -> None:
    """Warn of texts that are unlike the training data, if they are more than usual."""
    if unlike.count <= USUALLY_UNLIKE * rows:
        return
    said = (
        "is unlike the training data; its answer means little",
        "are unlike the training data; such answers mean little",
    )
    if unlike.count <= _OFTEN_UNLIKE * rows:
        said = ("is unlike the training data; 1 in 100 is usual", "are unlike the training data; 1 in 100 is usual")
    unlike.warn(rows, unit, said)


def note_what_is_not_kept(seen: Seen | None) -> None:
    """Say it if the model cannot tell which texts are unlike its training data."""
    if seen is None:
        from glassformer.readers.counting.unlike import NOT_KEPT

        say(f"note: {as_flags(NOT_KEPT)}")


def review_below(predictor: Answering, automatic: float | None) -> float | None:
    """Return the confidence below which an answer needs review, and say what it is. None if nobody asked."""
    if automatic is None:
        return None
    rule = predictor.thresholds.rule(automatic)
    say(f"note: {rule}")
    return rule.below


def say_needs_review(needs_review: int, rows: int, unit: str) -> None:
    """Say how many answers need review."""
    say(f"note: {needs_review:,} of {counted(rows, unit)} {'needs' if 1 in (needs_review, rows) else 'need'} review")


def counts_of(rows: int, empty: int, needs_review: int | None, predictions: Counter[str] | None) -> dict[str, Any]:
    """Return the counts over all answers, for JSON.

    Args:
        predictions: how often each answer was given. None if that is not counted.
    """
    counts: dict[str, Any] = {"rows": rows, "answered": rows - empty, "unanswered": empty}
    counts |= {} if needs_review is None else {"needs_review": needs_review}
    return counts | ({} if predictions is None else {"predictions": dict(predictions.most_common())})


def most_given(predictions: Counter[str]) -> str:
    """Return how often the most frequent answers were given, as ` (good 12, bad 3)`."""
    shown = listed([f"{label or '(no label)'} {count:,}" for label, count in predictions.most_common()], _SHOWN)
    return f" ({shown})" if shown else ""


def is_punctuation(text: str) -> bool:
    """Whether a text has punctuation but no letter, digit or emoji."""
    seen = text.strip()
    return bool(seen) and all(unicodedata.category(char)[0] in "PZC" or char in _SIGNS for char in seen)


_SIGNS = "$+<=>^`|~"  # the characters of ASCII that Unicode counts as symbols


def _is_word(word: str) -> bool:
    """Whether this is a word of letters, with more than one letter if the script has such words."""
    return len(word) > 1 and word.replace("'", "").replace("’", "").isalpha()
