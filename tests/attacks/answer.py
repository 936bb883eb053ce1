"""What a hostile case must end in: one plain sentence, the right exit code, and nothing lost."""

import hashlib
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.terminal import Outcome

LONGEST_ANSWER = 600
TURNS_TEXT_ROUND = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class LostError(AssertionError):
    """The attack destroyed or changed something of the user's."""


def answered(outcome: Outcome, *words: str, code: int = 2) -> None:
    """The command refused in one sentence that holds these words: nothing on standard output, no traceback."""
    assert outcome.code == code, f"exit code {outcome.code}: {outcome.err[-2000:]}"
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, outcome.err[-2000:]
    assert len(errors[0]) <= LONGEST_ANSWER, f"{len(errors[0])} characters: {errors[0][:LONGEST_ANSWER]}…"
    for word in words:
        assert word in errors[0], f"{word!r} is not in {errors[0]!r}"
    harmless(outcome)


def harmless(outcome: Outcome) -> None:
    """Nothing that was written can steer a terminal."""
    for stream in (outcome.out, outcome.err):
        odd = {char for char in stream if unicodedata.category(char) == "Cc" and char not in "\n\t\r"}
        odd |= set(stream) & TURNS_TEXT_ROUND
        assert not odd, f"control characters reached the terminal: {odd}"


@contextmanager
def nothing_lost(*places: Path) -> Iterator[None]:
    """Every file below these places is afterwards what it was before, and no file was added."""
    before = {place: _contents(place) for place in places}
    yield
    for place, contents in before.items():
        after = _contents(place)
        if after != contents:
            changed = sorted(name for name in contents | after if contents.get(name) != after.get(name))
            raise LostError(f"{place}: changed, added or gone: {', '.join(changed)}")


def _contents(place: Path) -> dict[str, str]:
    files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    return {str(file.relative_to(place)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
