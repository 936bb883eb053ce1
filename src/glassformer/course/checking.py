"""Exercises that check themselves: they say what is wrong, and give a hint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from glassformer.course.exercises import Exercise, Kind, all_exercises
from glassformer.errors import UsageError, brief_value

_TOLERANCE = 6e-3
"""Two decimals are enough."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether an answer is right, and what to say. `right` is None if nothing was answered."""

    right: bool | None
    says: str


class _NotAnsweredError(Exception):
    """The three dots of the lesson are still there."""


def check(name: str, answer: Any) -> None:
    """Print whether the answer to an exercise is right, or what is wrong with it.

    Raises:
        UsageError: there is no exercise of this name.
    """
    verdict = judge(name, answer)
    mark = {True: "right.", False: "not yet.", None: "no answer yet."}[verdict.right]
    print(f"Exercise {name}: {mark} {verdict.says}")


def judge(name: str, answer: Any) -> Verdict:
    """Judge the answer to an exercise (see `check`)."""
    exercises, name = all_exercises(), str(name)  # 1.1 is as good as "1.1"
    if name not in exercises:
        raise UsageError(f"there is no exercise {brief_value(name)}; there are {', '.join(exercises)}")
    exercise = exercises[name]
    try:
        problem = _JUDGES[exercise.kind](exercise, answer)
    except _NotAnsweredError:
        return Verdict(right=None, says="Put your answer in place of the three dots, and run this again.")
    return Verdict(right=problem is None, says=exercise.learned if problem is None else problem)


def _judge_numbers(exercise: Exercise, answer: Any) -> str | None:
    right = _numbers(exercise.right())
    found = _numbers(answer)
    if found is None or right is None:
        return f"Give numbers here (a number, a list or a tensor), not {brief_value(answer)}."
    difference = _difference(found, right)
    if difference is None:
        return None
    for slip, remark in exercise.slips:
        if _difference(found, _numbers(slip())) is None:
            return remark
    return f"{difference} {exercise.hint}"


def _judge_word(exercise: Exercise, answer: Any) -> str | None:
    if answer is ...:
        raise _NotAnsweredError
    if not isinstance(answer, str):
        return f"Give a word in quotes, not {brief_value(answer)}."
    if _folded(answer) == _folded(exercise.right()):
        return None
    return next(
        (remark for slip, remark in exercise.slips if _folded(answer) == _folded(slip())),
        f"It is not {brief_value(answer)}. {exercise.hint}",
    )


def _judge_function(exercise: Exercise, answer: Any) -> str | None:
    if not callable(answer):
        wrong = brief_value(answer)
        return f"Give the function, not its result: its name without brackets, not {wrong}."
    for arguments in exercise.calls:
        right = _numbers(exercise.right(*_copied(arguments)))
        assert right is not None
        try:
            returned = answer(*_copied(arguments))
        except Exception as error:  # the reader's own code
            return f"Your function stopped with {type(error).__name__}: {error}. {exercise.hint}"
        found = _numbers(returned)
        if found is None:
            return f"Your function returned {brief_value(returned)}; it should return numbers. {exercise.hint}"
        difference = _difference(found, right)
        if difference is None:
            continue
        for slip, remark in exercise.slips:
            if _difference(found, _numbers(slip(*_copied(arguments)))) is None:
                return remark
        return f"We called your function with test numbers. {difference} {exercise.hint}"
    return None


_JUDGES: Mapping[Kind, Callable[[Exercise, Any], str | None]] = {
    "numbers": _judge_numbers, "word": _judge_word, "function": _judge_function
}  # fmt: skip


def _numbers(answer: Any) -> Tensor | None:
    """Return an answer as a tensor, or None if it holds no numbers."""
    if answer is ...:
        raise _NotAnsweredError
    try:
        if isinstance(answer, list | tuple) and answer:
            parts = [part for each in answer if (part := _numbers(each)) is not None]
            return torch.stack(parts) if len(parts) == len(answer) else None
        return torch.as_tensor(answer).detach().double()
    except (TypeError, ValueError, RuntimeError):
        return None


def _difference(found: Tensor, right: Tensor | None) -> str | None:
    """Say where two tensors differ, or return None if they are equal up to rounding."""
    if right is None or found.shape != right.shape:
        wanted = "none" if right is None else _shape(right)
        return f"The shape is {_shape(found)}; it should be {wanted}."
    near = torch.isclose(found, right, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True)
    if near.all():
        return None
    if not right.ndim:
        return f"It is not {found.item():.4g}."
    place = [int(index) for index in (~near).nonzero()[0]]
    return f"The first wrong number is {found[tuple(place)].item():.4g}, at {place} (counted from 0)."


def _shape(tensor: Tensor) -> str:
    return " × ".join(map(str, tensor.shape)) if tensor.ndim else "that of a single number"


def _copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copy tensors, so that a function that changes its arguments changes no other call."""
    return tuple(each.clone() if isinstance(each, Tensor) else each for each in arguments)


def _folded(word: str) -> str:
    return word.strip().strip(".").casefold()
