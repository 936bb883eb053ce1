"""The rules reader: adds up the scores of the rules that match a text. `fitting.py` finds those that no one gave."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from glassformer.data.arrays import Array, FloatArray, check_is_file
from glassformer.data.json_files import read_json
from glassformer.errors import GlassformerError, UsageError
from glassformer.readers.reader import HEAVIEST, Reader
from glassformer.readers.rules.matching import Matcher
from glassformer.readers.rules.parsing import Rule, parse_rules, read_rules
from glassformer.readers.rules.saying import Saying, read_saying

RULES_FILE, WEIGHTS_FILE = "rules.txt", "rules.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class RulesReader(Reader):
    """Rules and their weights.

    Attributes:
        content: of the file.
        weights: (rules,) what each rule adds to its score, or takes from it. Of a rule that decides for a label: 0.
    """

    weighed: ClassVar = False

    content: str
    saying: Saying
    rules: tuple[Rule, ...]
    weights: Array

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: a pickle or copy holds nothing that follows from them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of(cls, content: str, saying: Saying, where: str) -> RulesReader:
        """Return the reader of a file, with the weights that it gives, and 1 for others.

        Raises:
            UsageError: see `parse_rules`.
        """
        rules = parse_rules(content, saying, where)
        weights = [(0 if rule.always else 1) if rule.weight is None else rule.weight for rule in rules]
        return cls(content=content, saying=saying, rules=rules, weights=np.array(weights, saying.precision))

    @property
    def bias(self) -> FloatArray:
        """(width,) the scores of a text without a match."""
        return np.zeros(len(self.saying.outputs), np.float32)

    @cached_property
    def matcher(self) -> Matcher:
        return Matcher.of(self.rules)

    def scores(self, texts: Sequence[str]) -> Array:
        return self.scores_of(self.matcher.matches(texts))

    def scores_of(self, matches: Sequence[Sequence[int]]) -> Array:
        """Return the scores of texts that these rules match."""
        saying = self.saying
        scores = np.zeros((len(matches), len(saying.outputs)), saying.precision)
        for row, matched in enumerate(matches):
            for rule, added in self.added(matched).items():
                scores[row, self.rules[rule].label] += added
            if saying.decided and self.silencing(matched):
                scores[row] += saying.decided
            else:
                scores[row] = scores[row].clip(-saying.farthest, saying.farthest)
        return scores

    def added(self, matched: Sequence[int]) -> dict[int, float]:
        """Return what each rule that matches a text adds to its score.

        The first rule that decides silences all others that say something about the same decision.
        """
        silencing = self.silencing(matched)
        return {
            rule: 0.0
            if silencing.get(rule, rule) != rule
            else self.saying.score(self.rules[rule], float(self.weights[rule]))
            for rule in matched
        }

    def silencing(self, matched: Sequence[int]) -> dict[int, int]:
        """Return by rule the one that decides in its place: the first with `always`, which may be itself."""
        first, decision = dict[int, int](), self.saying.decision
        for rule in matched:
            if self.rules[rule].always:
                first.setdefault(decision(self.rules[rule]), rule)
        own = {rule: decision(self.rules[rule]) for rule in matched}
        return {rule: first[own[rule]] for rule in matched if own[rule] in first}

    def named(self, rule: int) -> str:
        """Return a rule in words: `line 3: "refund" -> billing`."""
        found = self.rules[rule]
        return f"line {found.line}: {found.written} -> {self.saying.named(found)}"

    def save(self, folder: Path) -> None:
        """Write `rules.txt`, which is the file as it was given, and `rules.json`, which holds the weights."""
        (folder / RULES_FILE).write_bytes(self.content.encode())
        found = {"weights": [float(str(weight)) for weight in self.weights]} if self.saying.finds else {}
        described = json.dumps(self.saying.model_dump() | found, ensure_ascii=False)
        (folder / WEIGHTS_FILE).write_text(described, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> RulesReader:
        """Read what `save` wrote.

        Raises:
            GlassformerError: a file is missing or damaged, or the files do not match each other.
        """
        for name in (RULES_FILE, WEIGHTS_FILE):
            check_is_file(folder / name)
        try:
            raw = dict(read_json(folder / WEIGHTS_FILE))
            found = _Found.model_validate({"weights": raw.pop("weights", None)}).weights
            reader = cls.of(read_rules(folder / RULES_FILE), read_saying(raw), str(folder / RULES_FILE))
        except (TypeError, ValueError, UsageError) as error:
            why = error.message if isinstance(error, UsageError) else f"{folder / WEIGHTS_FILE} does not hold weights"
            raise GlassformerError(f"{why}; the files of the model are damaged") from error
        if (len(found) if found is not None else None) != (len(reader.rules) if reader.saying.finds else None):
            raise GlassformerError(f"{folder / WEIGHTS_FILE} does not match {RULES_FILE}; copy the folder again")
        return reader if found is None else replace(reader, weights=np.array(found, np.float32))


class _Found(BaseModel):
    """The weights of `rules.json`. None if the file gives all."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    weights: tuple[Annotated[float, Field(ge=0, le=HEAVIEST)], ...] | None
