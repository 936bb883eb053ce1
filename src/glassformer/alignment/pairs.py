"""Prompts with one completion, to imitate, or with two, of which one was preferred: read from JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from glassformer.data.lines import lines_of
from glassformer.data.rows import check_file
from glassformer.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What is asked, and what is to be answered."""

    prompt: str
    completion: str


@dataclass(frozen=True, kw_only=True)
class Preference:
    """Two completions of a prompt, the better one first."""

    prompt: str
    chosen: str
    rejected: str


Record = TypeVar("Record")
FEWEST = 10
"""With fewer records nothing is held out."""


def read_pairs(path: Path) -> list[Pair]:
    """Lines {"prompt": …, "completion": …}, or {"messages": [{"role": …, "content": …}, …]}, or such lists alone.

    A list of messages becomes a text of lines "role: content", the last message being the completion.

    Raises:
        UsageError: no such file, or a line that is not such a record, with its number.
    """
    return _read(path, _pair, chats=True)


def read_preferences(path: Path) -> list[Preference]:
    """Lines of {"prompt": …, "chosen": …, "rejected": …}; the prompt may be empty or left out.

    Raises:
        UsageError: no such file, or a line that is not such a record, with its number.
    """
    return _read(path, _preference)


def read_prompts(path: Path) -> list[str]:
    """The prompts of lines with a "prompt", whatever else they hold; of a .txt file, its lines. Each prompt comes once.

    Raises:
        UsageError: no such file, or a line that is not such a record, with its number.
    """
    if path.suffix.lower() == ".txt":
        prompts = [line for line in _lines(path) if line.strip()]
    else:
        prompts = _read(path, lambda record: _text(record, "prompt", empty=True))
    if not prompts:
        raise UsageError(f"{path} holds no prompt")
    return list(dict.fromkeys(prompts))


def hold_out_records(records: Sequence[Record], share: float, *, seed: int) -> tuple[list[Record], list[Record]]:
    """The records to learn from, and a share of them held out; none where there are few.

    A prompt stays on one side, unless few prompts are those of many records: then equal records do.
    """
    prompts = list(dict.fromkeys(map(_prompt_of, records)))
    group: Callable[[Any], Any] = _prompt_of if 2 * len(prompts) >= len(records) else lambda record: record
    groups = list(dict.fromkeys(map(group, records)))
    if not share or len(groups) < FEWEST:
        return list(records), []
    size = max(1, round(share * len(groups)))
    chosen = {groups[i] for i in np.random.default_rng(seed).permutation(len(groups))[:size]}
    train = [one for one in records if group(one) not in chosen]
    return train, [one for one in records if group(one) in chosen]


def _prompt_of(record: Any) -> str:
    return record if isinstance(record, str) else str(record.prompt)


def _read(path: Path, understand: Callable[[dict[str, Any]], Record], *, chats: bool = False) -> list[Record]:
    """The records of the lines; with `chats`, a list is a chat without a name around it."""
    records = []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
            if "\\u" in line:  # half an escaped surrogate pair is legal JSON, but no text
                json.dumps(raw, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"{path}, line {number}: not readable as JSON ({error}); every line is a record of its own"
            ) from error
        if chats and isinstance(raw, list):
            raw = {"messages": raw}
        if not isinstance(raw, dict):
            raise UsageError(f"{path}, line {number}: an object with names is needed, got {str(raw)[:40]!r}")
        try:
            records.append(understand(raw))
        except UsageError as error:
            raise UsageError(f"{path}, line {number}: {error}") from error
    if not records:
        raise UsageError(f"{path} holds no record")
    return records


def _lines(path: Path) -> Iterator[str]:
    with check_file(path).open("rb") as file:
        yield from lines_of(file, str(path))


def _pair(record: dict[str, Any]) -> Pair:
    if "messages" in record:
        return _conversation(record["messages"])
    return Pair(prompt=_text(record, "prompt", empty=True), completion=_text(record, "completion"))


def _conversation(messages: Any) -> Pair:
    if not isinstance(messages, list) or not messages or not all(isinstance(one, dict) for one in messages):
        raise UsageError('"messages" must be a list of {"role": …, "content": …}')
    *before, last = messages
    if last.get("role") in ("user", "system"):
        raise UsageError(f"the last message is the {last['role']}'s; it is the answer that is learned, so end with one")
    lines = [f"{_text(one, 'role')}: {_text(one, 'content', empty=True)}" for one in before]
    return Pair(prompt="\n".join([*lines, f"{_text(last, 'role')}:"]), completion=f" {_text(last, 'content')}")


def _preference(record: dict[str, Any]) -> Preference:
    prompt = _text(record, "prompt", empty=True) if "prompt" in record else ""
    chosen, rejected = _text(record, "chosen"), _text(record, "rejected")
    if chosen == rejected:
        raise UsageError('"chosen" and "rejected" are the same; nothing can be learned from that')
    return Preference(prompt=prompt, chosen=chosen, rejected=rejected)


def _text(record: dict[str, Any], name: str, *, empty: bool = False) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise UsageError(f'"{name}" must be a text, got {value!r}' if name in record else f'there is no "{name}"')
    if not empty and not value.strip():
        raise UsageError(f'"{name}" is white space alone' if value else f'"{name}" is empty')
    return value
