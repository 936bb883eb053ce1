"""Settings that the library names in a message, as the flags of the command line.

The library writes `init='x'`, `overwrite=True`, `out=` or `training.epochs=3`, in backticks. The terminal shows
--init x, --overwrite, --out or --set training.epochs=3.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glassformer.doctor.findings import Finding

FLAGS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "above", "add", "address", "algorithm", "automatic", "below", "chosen", "columns", "costs", "counterfactual",
        "data", "data_dir", "device", "dictionary", "dictionary_dir", "dims", "encoding", "file", "fold_labels",
        "format", "group", "heads", "host", "init", "into", "keep_feedback", "keep_texts", "label", "labelled",
        "levels", "method", "min_count", "minutes", "multilabel", "nearest", "neighbours", "next", "objective",
        "order", "out", "over", "overwrite", "port", "preset", "pretrain", "project", "prompts", "query", "recipe",
        "rejected", "replay", "resume", "reward", "runtime", "seconds", "seeds", "snapshots", "steps", "target",
        "task", "temperature", "test", "text", "time", "top_k", "track", "train", "unlabelled", "vary", "workers",
    )
} | {"from_file": "--from"}  # fmt: skip
"""The flag of each setting of the library that a command takes."""

_SETTING = re.compile(r"`([a-z_]+(?:\.[a-z_]+)?)=([^`]*)`")


def as_flags(message: str, *, leave: Container[str] = ()) -> str:
    """The message with each setting in it as a flag; other words in backticks stay."""
    return _SETTING.sub(lambda found: found[0] if found[1] in leave else _flag(found), message)


def as_typed(flags: Mapping[str, object]) -> list[str]:
    """Return the flags that were given, as they are typed. A list is a flag that was repeated."""
    given = {f"--{name.rstrip('_').replace('_', '-')}": value for name, value in flags.items() if value}
    pairs = ((flag, each) for flag, value in given.items() for each in (value if isinstance(value, list) else [value]))
    return [part for flag, value in pairs for part in ((flag,) if value is True else (flag, str(value)))]


def _flag(found: re.Match[str]) -> str:
    name, value = found[1], _typed(found[2])
    if "." in name:
        flag = f"--{name.partition('.')[2].replace('_', '-')}"
        if _was_typed(flag):
            return f"{flag} {shlex.quote(value)}" if value else flag
        return f"--set {name}={shlex.quote(value) if value else '…'}"
    if name not in FLAGS:
        return found[0]
    flag = "--target" if name == "label" and _was_typed("--target") else FLAGS[name]  # both name the label column
    return flag if value in ("", "True") else f"{flag} {shlex.quote(value)}"


def _was_typed(flag: str) -> bool:
    return any(argument.partition("=")[0] == flag for argument in sys.argv)


def _typed(value: str) -> str:
    """Return a value without the quotes of a Python string."""
    try:
        read = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
    return read if isinstance(read, str) else value


def said_with_flags(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings of `doctor` or `audit` whose settings are written as flags."""
    return tuple(
        each.model_copy(update={"found": as_flags(each.found), "advice": as_flags(each.advice)}) for each in findings
    )


def with_flags(evaluation: Any) -> Any:
    """Return the evaluation, of labels or a number, with the settings in notes and commands as flags."""
    changed: dict[str, Any] = {
        "notes": tuple(map(as_flags, evaluation.notes)),
        "next_steps": tuple(
            step if step.command is None else step.model_copy(update={"command": as_flags(step.command)})
            for step in evaluation.next_steps
        ),
    }
    for key in ("label_doubts", "doubts"):
        doubts = getattr(evaluation, key, None)
        if doubts is not None and doubts.command is not None:
            changed[key] = doubts.model_copy(update={"command": as_flags(doubts.command)})
    return evaluation.model_copy(update=changed)
