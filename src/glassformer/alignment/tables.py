"""Prompts and completions, and preferences, from a table of labelled texts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from glassformer.alignment.pairs import Pair, Preference
from glassformer.data import polarity
from glassformer.data.files import written_aside
from glassformer.data.table import Table
from glassformer.errors import UsageError

Split = Callable[[str], Pair | None]
"""A text as a prompt and its completion; none where it is too short."""


@dataclass(frozen=True, kw_only=True)
class FromTable:
    """What a table gives.

    Attributes:
        pairs: of every text, whatever its label.
        preferences: of two texts with the same prompt, the one with the chosen label over the other. Each text comes
            once.
        too_short: texts that end with their prompt.
        alone: texts for which no text of the other side is left.
    """

    pairs: list[Pair]
    preferences: list[Preference]
    too_short: int
    alone: int


def from_table(table: Table, split: Split, *, chosen: str, rejected: str | None, seed: int) -> FromTable:
    """Make every text a prompt with a completion, and prefer those of one label.

    Args:
        rejected: the label of the worse side; None for every other label.

    Raises:
        UsageError: a label that the table does not have, that all of it has, or that is on both sides.
    """
    labels = table.frame["label"].cast(str).to_list()
    for name, option in ((chosen, "--chosen"), (rejected, "--rejected")):
        if name is not None and name not in labels:
            raise UsageError(f"{option} {name}: {table.source} has the labels {', '.join(sorted(set(labels)))}")
    if chosen == rejected:
        raise UsageError(f"--chosen and --rejected are both {chosen}")
    if set(labels) == {chosen}:
        raise UsageError(f"{table.source}: every text has the label {chosen}; there is none to prefer it over")
    pairs: list[Pair] = []
    sides: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    every = [split(text) for text in table.frame["text"]]
    for pair, label in zip(every, labels, strict=True):
        if pair is None:
            continue
        pairs.append(pair)
        if label == chosen or rejected in (None, label):
            sides[pair.prompt][label != chosen].append(pair.completion)
    preferences: list[Preference] = []
    rng = np.random.default_rng(seed)
    for prompt, (good, bad) in sides.items():
        for left, right in zip(rng.permutation(len(good)), rng.permutation(len(bad)), strict=False):
            if good[left] != bad[right]:
                preferences.append(Preference(prompt=prompt, chosen=good[left], rejected=bad[right]))
    judged = sum(len(good) + len(bad) for good, bad in sides.values())
    return FromTable(
        pairs=pairs,
        preferences=preferences,
        too_short=every.count(None),
        alone=judged - 2 * len(preferences),
    )


def question(text: str) -> Pair | None:
    """An embedded opinion as the answer to the question for its subject."""
    subject = polarity.subject_of(text)
    return Pair(prompt=f"how is the {subject}?", completion=f" {text}")


def cut(text: str, *, words: int) -> Pair | None:
    """A text's first words, and the rest of it with the space that it begins with; none where nothing is left.

    Of 0 words the prompt is empty, and any two texts can be compared.
    """
    parts = text.split(maxsplit=words)
    if len(parts) <= words:
        return None
    at = len(text) - len(parts[-1])
    begins = len(text[:at].rstrip()) if words else at
    return Pair(prompt=text[:begins].lstrip(), completion=text[begins:].rstrip())


def write_records(path: Path, records: Iterable[Pair | Preference]) -> None:
    """As JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_aside(path) as aside, aside.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")
