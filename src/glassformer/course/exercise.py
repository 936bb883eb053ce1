"""An exercise: its right answer, the slips that many make, and what to say to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["numbers", "word", "function"]


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """An exercise.

    Attributes:
        right: computes the right answer; or the right function, which is called with the same arguments as the answer.
        calls: for a function, the arguments of each call.
        slips: wrong answers that many give, computed in the same way, and what to say to them.
        hint: what to say to other wrong answers.
        learned: what to say to the right one.
    """

    right: Callable[..., Any]
    hint: str
    learned: str
    kind: Kind = "numbers"
    calls: Callable[[], Sequence[tuple[Any, ...]]] = tuple
    slips: Sequence[tuple[Callable[..., Any], str]] = ()
