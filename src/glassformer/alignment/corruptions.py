"""Corrupted copies of answers: what a reward model must rank below the answer itself.

A reward model that has only read whole answers does not know what half of one is worth, and a policy finds out. So it
also learns from answers that nobody would prefer to the original.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from glassformer.alignment.pairs import ReadPair
from glassformer.data.arrays import IntArray


class Corrupted(NamedTuple):
    """A corrupted answer."""

    kind: str
    pair: ReadPair


def cut_short(ids: IntArray, rng: np.random.Generator) -> IntArray:
    """Keep a beginning."""
    return ids[: rng.integers(len(ids))]


def with_gap(ids: IntArray, rng: np.random.Generator) -> IntArray:
    """Leave out a part."""
    start, end = _part(len(ids), rng)
    return np.concatenate([ids[:start], ids[end:]])


def shuffled(ids: IntArray, rng: np.random.Generator) -> IntArray:
    """Put the tokens of a part into random order."""
    start, end = _part(len(ids), rng)
    return np.concatenate([ids[:start], rng.permutation(ids[start:end]), ids[end:]])


def repeated(ids: IntArray, rng: np.random.Generator) -> IntArray:
    """Say a part twice."""
    start, end = _part(len(ids), rng)
    return np.concatenate([ids[:end], ids[start:]])


def replaced(ids: IntArray, rng: np.random.Generator) -> IntArray:
    """Put another token of the answer in place of one."""
    changed = ids.copy()
    changed[rng.integers(len(ids))] = ids[rng.integers(len(ids))]
    return changed


_WAYS: dict[str, Callable[[IntArray, np.random.Generator], IntArray]] = {
    way.__name__: way for way in (cut_short, with_gap, shuffled, repeated, replaced)
}
_OFF_SUBJECT = "off_subject"
KINDS = (*_WAYS, _OFF_SUBJECT)


class Corruptor:
    """Corrupts answers.

    Args:
        others: prompts with answers. One that answers another prompt is off the subject.
        window: the most tokens of a prompt with its answer. Longer ones are cut there.
    """

    def __init__(self, others: Sequence[ReadPair], *, window: int) -> None:
        self.others, self.window = others, window
        self.kinds = KINDS if len({_prompt(other) for other in others}) > 1 else tuple(_WAYS)

    def __call__(self, pair: ReadPair, rng: np.random.Generator, *, kind: str | None = None) -> Corrupted:
        """Corrupt an answer in the given way, or in a random one.

        An answer that this does not change is cut short: one of a single token cannot be shuffled.
        """
        kind = kind or self.kinds[rng.integers(len(self.kinds))]
        answer = pair.token_ids[pair.begins :]
        if kind == _OFF_SUBJECT:
            other = self.others[int(rng.integers(len(self.others)))]
            changed = answer if _prompt(other) == _prompt(pair) else other.token_ids[other.begins :]
        else:
            changed = _WAYS[kind](answer, rng)
        if np.array_equal(changed, answer):
            kind, changed = "cut_short", cut_short(answer, rng)
        joined = np.concatenate([pair.token_ids[: pair.begins], changed])[: self.window]
        return Corrupted(kind, ReadPair(token_ids=joined, begins=pair.begins))


def _prompt(pair: ReadPair) -> bytes:
    return pair.token_ids[: pair.begins].tobytes()


def _part(length: int, rng: np.random.Generator) -> tuple[int, int]:
    """Return the start and the end of a random part with at least one token."""
    start, end = sorted(rng.choice(length + 1, size=2, replace=False))
    return int(start), int(end)
