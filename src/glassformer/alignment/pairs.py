"""The records of alignment: read them from JSON lines, and encode them.

A pair is a prompt with one completion, to be imitated. A preference is a prompt with two completions, of which people
preferred one.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from glassformer.data.arrays import IntArray
from glassformer.data.encodings import half_of_pair
from glassformer.data.lines import lines_of
from glassformer.data.rows import check_file
from glassformer.data.tokenizers import START_ID, TextTokenizer
from glassformer.errors import UsageError, brief_value


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A prompt, and the completion that the model learns to give."""

    prompt: str
    completion: str


@dataclass(frozen=True, kw_only=True)
class Preference:
    """A prompt with two completions, the preferred one first."""

    prompt: str
    chosen: str
    rejected: str


Record = TypeVar("Record")
FEWEST = 10
"""With fewer groups of records, no record is held out (see `hold_out_records`)."""
FEWEST_PROMPTS = 50
"""With fewer prompts, a policy trains on all of them."""


def read_pairs(path: Path) -> list[Pair]:
    """Read pairs from JSON lines.

    A line is {"prompt": …, "completion": …}, or {"messages": [{"role": …, "content": …}, …]}, or only the list of
    messages. Messages become a prompt of lines "role: content". The last message is the completion.

    Raises:
        UsageError: there is no such file, or a line is not such a record. The message gives the line's number.
    """
    return _read(path, _pair, chats=True)


def read_preferences(path: Path) -> list[Preference]:
    """Read preferences from JSON lines: {"prompt": …, "chosen": …, "rejected": …}.

    The prompt may be empty or left out.

    Raises:
        UsageError: there is no such file, or a line is not such a record. The message gives the line's number.
    """
    return _read(path, _preference)


def read_prompts(path: Path) -> list[str]:
    """Read prompts: the lines of a .txt file, or the "prompt" of each JSON line. Repeated prompts are dropped.

    Other keys of a JSON line are ignored.

    Raises:
        UsageError: there is no such file, it holds no prompt, or a line has no "prompt". The message gives the line's
            number.
    """
    if path.suffix.lower() == ".txt":
        prompts = [line for line in _lines(path) if line.strip()]
    else:
        prompts = _read(path, lambda record: _text(record, "prompt", empty=True))
    if not prompts:
        raise UsageError(f"{path} holds no prompt")
    return list(dict.fromkeys(prompts))


def hold_out_records(
    records: Sequence[Record], share: float, *, seed: int, fewest: int = FEWEST
) -> tuple[list[Record], list[Record]]:
    """Divide records into those to train on and those held out.

    Records of the same prompt stay on the same side. If there are fewer than half as many prompts as records, only
    equal records stay together. Nothing is held out of fewer than `fewest` groups.

    Args:
        share: the share of the groups that is held out; 0 holds out nothing.

    Returns:
        The training records and the held-out records.
    """
    prompts = list(dict.fromkeys(map(_prompt_of, records)))
    group: Callable[[Any], Any] = _prompt_of if 2 * len(prompts) >= len(records) else lambda record: record
    groups = list(dict.fromkeys(map(group, records)))
    if not share or len(groups) < fewest:
        return list(records), []
    size = max(1, round(share * len(groups)))
    chosen = {groups[i] for i in np.random.default_rng(seed).permutation(len(groups))[:size]}
    train = [record for record in records if group(record) not in chosen]
    return train, [record for record in records if group(record) in chosen]


@dataclass(frozen=True, kw_only=True)
class ReadPair:
    """A prompt and a completion as token ids.

    Attributes:
        token_ids: the start token, the prompt and the completion.
        begins: the index of the completion's first token.
    """

    token_ids: IntArray
    begins: int

    @property
    def length(self) -> int:
        """The number of tokens, the start token included."""
        return len(self.token_ids)


def read_together(tokenizer: TextTokenizer, prompts: Sequence[str], completions: Sequence[str]) -> list[ReadPair]:
    """Encode each prompt and its completion separately, as they are when the model generates, and join them."""
    return [
        ReadPair(token_ids=np.concatenate([[START_ID], prompt, completion]), begins=1 + len(prompt))
        for prompt, completion in zip(tokenizer.encode(prompts), tokenizer.encode(completions), strict=True)
    ]


def room_for_answers(pairs: Sequence[ReadPair], window: int) -> int:
    """Return the most tokens of an answer: those of the longest one and its end, or what the longest prompt leaves."""
    longest = max(pair.length - pair.begins for pair in pairs)
    return max(1, min(longest + 1, window - max(pair.begins for pair in pairs)))


def _prompt_of(record: Any) -> str:
    return record if isinstance(record, str) else str(record.prompt)


def _read(path: Path, understand: Callable[[dict[str, Any]], Record], *, chats: bool = False) -> list[Record]:
    """Read one record per line. With `chats`, a line that is a list is read as the messages of a chat."""
    records = []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
            if "\\u" in line and half_of_pair(json.dumps(raw, ensure_ascii=False)) is not None:
                raise ValueError("it holds half of a surrogate pair, which is not a character")
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"{path}, line {number}: not readable as JSON ({error}); each line must be a complete record"
            ) from error
        if chats and isinstance(raw, list):
            raw = {"messages": raw}
        if not isinstance(raw, dict):
            raise UsageError(f"{path}, line {number}: a record must be a JSON object, got {str(raw)[:40]!r}")
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
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise UsageError('"messages" must be a list of {"role": …, "content": …}')
    *before, last = messages
    if last.get("role") in ("user", "system"):
        raise UsageError(f"the last message is the {last['role']}'s; end with the answer that the model is to learn")
    lines = [f"{_text(message, 'role')}: {_text(message, 'content', empty=True)}" for message in before]
    return Pair(prompt="\n".join([*lines, f"{_text(last, 'role')}:"]), completion=f" {_text(last, 'content')}")


def _preference(record: dict[str, Any]) -> Preference:
    prompt = _text(record, "prompt", empty=True) if "prompt" in record else ""
    chosen, rejected = _text(record, "chosen"), _text(record, "rejected")
    if chosen == rejected:
        raise UsageError('"chosen" and "rejected" are the same text; change one of them, or remove the line')
    return Preference(prompt=prompt, chosen=chosen, rejected=rejected)


def _text(record: dict[str, Any], name: str, *, empty: bool = False) -> str:
    if name not in record:
        raise UsageError(f'there is no "{name}"')
    value = record[name]
    if not isinstance(value, str):
        raise UsageError(f'"{name}" must be a text, got {brief_value(value)}')
    if not empty and not value.strip():
        raise UsageError(f'"{name}" holds only white space' if value else f'"{name}" is empty')
    return value
