"""Make pairs and preferences from a table of labelled texts."""

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
"""A function that divides a text into a prompt and a completion, or returns None if the text is too short."""


@dataclass(frozen=True, kw_only=True)
class FromTable:
    """The records made from a table.

    Attributes:
        pairs: one per text, whatever its label.
        preferences: each prefers a text with the chosen label to another text with the same prompt. Each text is used
            once.
        too_short: the number of texts that have no completion because they end with their prompt.
        without_partner: the number of texts left without a partner of the other label.
    """

    pairs: list[Pair]
    preferences: list[Preference]
    too_short: int
    without_partner: int


def from_table(table: Table, split: Split, *, chosen: str, rejected: str | None, seed: int) -> FromTable:
    """Make a pair of every text, and preferences of texts with the same prompt.

    Args:
        chosen: the label of the preferred texts.
        rejected: the label of the rejected texts; None for every label except `chosen`.

    Raises:
        UsageError: the table does not have a label, every text has the label `chosen`, or both labels are the same.
    """
    labels = table.frame["label"].cast(str).to_list()
    for name, setting in ((chosen, "chosen"), (rejected, "rejected")):
        if name is not None and name not in labels:
            raise UsageError(
                f"`{setting}={name!r}`: {table.source} has no such label; it has {', '.join(sorted(set(labels)))}"
            )
    if chosen == rejected:
        raise UsageError(f"`chosen=` and `rejected=` are both {chosen}; name two different labels")
    if set(labels) == {chosen}:
        raise UsageError(
            f"{table.source}: every text has the label {chosen}; preferences need texts of another label too"
        )
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
        without_partner=judged - 2 * len(preferences),
    )


def question(text: str) -> Pair:
    """Make a pair of one of the generated opinions: a question about its subject, and the opinion as the answer."""
    return Pair(prompt=polarity.QUESTION.format(s=polarity.subject_of(text)), completion=f" {text}")


def cut(text: str, *, words: int) -> Pair | None:
    """Divide a text after its first `words` words. The completion begins with the space between the two parts.

    With 0 words the prompt is empty, and any two texts can be compared.

    Returns:
        The pair, or None if the text has no more than `words` words.
    """
    parts = text.split(maxsplit=words)
    if len(parts) <= words:
        return None
    at = len(text) - len(parts[-1])
    begins = len(text[:at].rstrip()) if words else at
    return Pair(prompt=text[:begins].lstrip(), completion=text[begins:].rstrip())


def write_records(path: Path, records: Iterable[Pair | Preference]) -> None:
    """Write records as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_aside(path) as aside, aside.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")
