"""The rules reader: adds up the scores of the rules that match a text. `fitting.py` finds those that no one gave."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from glassformer.data.arrays import FloatArray, check_is_file
from glassformer.data.json_files import read_json
from glassformer.errors import GlassformerError, UsageError
from glassformer.readers.reader import DECIDING, HEAVIEST, Reader
from glassformer.readers.rules.matching import Matcher
from glassformer.readers.rules.parsing import Rule, parse_rules, read_rules

RULES_FILE, WEIGHTS_FILE = "rules.txt", "rules.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class RulesReader(Reader):
    """Rules and their weights.

    Attributes:
        content: of the file.
        labels: the names of the scores.
        several: whether a text may have several labels. Otherwise one rule at most decides about a text.
        weights: (rules,) the score that each rule adds to its label, or takes from it. 0 for those that decide.
    """

    weighed: ClassVar = False

    content: str
    labels: tuple[str, ...]
    several: bool
    rules: tuple[Rule, ...]
    weights: FloatArray

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: a pickle or copy holds nothing that follows from them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of(cls, content: str, labels: Sequence[str], where: str, *, several: bool) -> RulesReader:
        """Return the reader of a file, with the weights that it gives, and 1 for others.

        Raises:
            UsageError: see `parse_rules`.
        """
        rules = parse_rules(content, labels, where)
        weights = np.array([0 if rule.always else rule.weight or 1 for rule in rules], np.float32)
        return cls(content=content, labels=tuple(labels), several=several, rules=rules, weights=weights)

    @property
    def bias(self) -> FloatArray:
        """(width,) the scores of a text without a match."""
        return np.zeros(len(self.labels), np.float32)

    @cached_property
    def matcher(self) -> Matcher:
        return Matcher.of(self.rules)

    def scores(self, texts: Sequence[str]) -> FloatArray:
        return self.scores_of(self.matcher.matches(texts))

    def scores_of(self, matches: Sequence[Sequence[int]]) -> FloatArray:
        """Return the scores of texts that these rules match."""
        scores = np.zeros((len(matches), len(self.labels)), np.float32)
        for row, matched in enumerate(matches):
            for rule, added in self.added(matched).items():
                scores[row, self.rules[rule].label] += added
        return scores

    def added(self, matched: Sequence[int]) -> dict[int, float]:
        """Return what each rule that matches a text adds to its label.

        The first rule that decides silences all others that say something about the same decision.
        """
        silencing, found = self.silencing(matched), dict[int, float]()
        for rule in matched:
            own = float(self.weights[rule]) * (-1 if self.rules[rule].negated else 1)
            decided = DECIDING if silencing.get(rule) == rule else 0.0
            found[rule] = decided if rule in silencing else own
        return found

    def silencing(self, matched: Sequence[int]) -> dict[int, int]:
        """Return by rule the one that decides in its place: the first with `always`, which may be itself."""
        first: dict[int, int] = {}
        for rule in matched:
            if self.rules[rule].always:
                first.setdefault(self._decision(rule), rule)
        return {rule: first[self._decision(rule)] for rule in matched if self._decision(rule) in first}

    def _decision(self, rule: int) -> int:
        return self.rules[rule].label if self.several else 0

    def named(self, rule: int) -> str:
        """Return a rule in words: `rule 3: "refund" -> billing`."""
        return f"rule {rule + 1}: {self.rules[rule].named(self.labels)}"

    def save(self, folder: Path) -> None:
        """Write `rules.txt`, which is the file as it was given, and `rules.json`, which holds the weights."""
        (folder / RULES_FILE).write_bytes(self.content.encode())
        described = {"labels": self.labels, "several": self.several, "weights": [float(str(w)) for w in self.weights]}
        (folder / WEIGHTS_FILE).write_text(json.dumps(described, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> RulesReader:
        """Read what `save` wrote.

        Raises:
            GlassformerError: a file is missing or damaged, or the files do not match each other.
        """
        for name in (RULES_FILE, WEIGHTS_FILE):
            check_is_file(folder / name)
        try:
            described = _Described.model_validate(read_json(folder / WEIGHTS_FILE))
            rules = parse_rules(content := read_rules(folder / RULES_FILE), described.labels, str(folder / RULES_FILE))
        except (ValidationError, UsageError) as error:
            why = error.message if isinstance(error, UsageError) else f"{folder / WEIGHTS_FILE} does not hold weights"
            raise GlassformerError(f"{why}; the files of the model are damaged") from error
        if len(described.weights) != len(rules):
            raise GlassformerError(f"{folder / WEIGHTS_FILE} does not match {RULES_FILE}; copy the folder again")
        return cls(
            content=content,
            labels=described.labels,
            several=described.several,
            rules=rules,
            weights=np.array(described.weights, np.float32),
        )


class _Described(BaseModel):
    """The contents of `rules.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    labels: tuple[str, ...] = Field(min_length=1)
    several: bool
    weights: tuple[Annotated[float, Field(ge=0, le=HEAVIEST)], ...]
