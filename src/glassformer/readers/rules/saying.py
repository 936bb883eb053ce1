"""What a rule may say, which depends on the kind of answer: the part of a line after the arrow."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from glassformer.data.wording import did_you_mean, listed
from glassformer.errors import UsageError, brief, quoted
from glassformer.readers.reader import DECIDING, HEAVIEST

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)"
_LAST = re.compile(rf"(?P<label>.*\S)\s+(?P<last>always|{_NUMBER})")
_AMOUNT = re.compile(rf"(?P<number>{_NUMBER})(?P<always>\s+always)?")


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a rule says.

    Attributes:
        label: the number of the score that it speaks about.
        negated: whether it speaks against this label.
        weight: the score that the file gives. None: held-out rows find it.
        always: whether it decides.
    """

    label: int = 0
    negated: bool = False
    weight: float | None
    always: bool


class Saying(BaseModel, ABC):
    """What the rules of a model may say (`rules.json` holds it)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    precision: ClassVar[type[np.floating[Any]]] = np.float32
    decided: ClassVar[float] = 0.0
    """What the scores of a text hold besides if a rule decides about it, so that the target knows."""
    farthest: ClassVar[float] = np.inf
    """The most that rules add which do not decide."""
    adds: ClassVar[str] = ""
    """What is said of a rule that adds what its line says. Empty: what it adds."""
    finds: ClassVar[bool] = True
    """Whether rows find the weights that the file does not give."""

    def check(self, rule: Said, named: str) -> None:
        """Raise `UsageError` if a rule does not go with the rows that are learned. `named` is the rule in words."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """The name of each score."""

    @property
    @abstractmethod
    def example(self) -> str:
        """What a line may say."""

    @abstractmethod
    def read(self, written: str, at: str) -> Said:
        """Read the part of a line after the arrow. Raises `UsageError` if it says nothing."""

    @abstractmethod
    def named(self, said: Said) -> str:
        """Write it, without a weight of a label."""

    @abstractmethod
    def score(self, said: Said, weight: float) -> float:
        """Return what a rule adds to its score, or with `always` the score that it decides on."""

    def decision(self, said: Said) -> int:  # noqa: ARG002 (most answers are one decision)
        """Return about which of the decisions of a text a rule says something."""
        return 0


class LabelSaying(Saying):
    """A label that a rule speaks for or against."""

    labels: tuple[str, ...] = Field(min_length=1)
    several: bool
    """Whether a text may have several labels. Otherwise one rule at most decides about a text."""

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.labels

    @property
    def example(self) -> str:
        return self.labels[0]

    def read(self, written: str, at: str) -> Said:
        label, negated, last = self._parts(written, at)
        weight = None if last in (None, "always") else _weight(str(last), at)
        if negated and last == "always":
            raise UsageError(f"{at}: `always` decides for a label, not against one; write a number in its place")
        return Said(label=label, negated=negated, weight=weight, always=last == "always")

    @cached_property
    def _known(self) -> dict[str, int]:
        return {_plain(label): number for number, label in enumerate(self.labels)}

    def _parts(self, written: str, at: str) -> tuple[int, bool, str | None]:
        """Return the number of the label, whether `not` stands before it, and what follows it.

        The longest part that is a label is the label, since labels may hold numbers and spaces.
        """
        read, known = _LAST.fullmatch(written), self._known
        for text, last in ((written, None), *([] if read is None else [(read["label"], read["last"])])):
            plain = _plain(text)
            for label, negated in ((plain, False), (_plain(plain.removeprefix("not ")), plain.startswith("not "))):
                for name in (label, label[1:-1] if label.startswith('"') and label.endswith('"') else label):
                    if name in known:
                        return known[name], negated, last
        name = _plain(written if read is None else read["label"]).removeprefix("not ")
        hint = did_you_mean(name, self.labels)
        hint = hint or f" The labels are {listed(self.labels, 10)}. A remark stands on a line of its own"
        raise UsageError(f"{at}: no label {quoted(name)}.{hint}")

    def named(self, said: Said) -> str:
        return f"{'not ' if said.negated else ''}{self.labels[said.label]}{' always' if said.always else ''}"

    def score(self, said: Said, weight: float) -> float:
        return DECIDING if said.always else -weight if said.negated else weight

    def decision(self, said: Said) -> int:
        return said.label if self.several else 0


class NumberSaying(Saying):
    """What a rule adds to a number, or which number it decides on. Scores are (number − mean) / deviation."""

    precision: ClassVar = np.float64
    decided: ClassVar = 2 * DECIDING
    farthest: ClassVar = DECIDING / 2  # so that the sum with `decided` is above `DECIDING`, and others are below
    adds: ClassVar = "added"
    finds: ClassVar = False

    column: str
    mean: float
    """The answer without any reader."""
    deviation: Annotated[float, Field(gt=0)]

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def example(self) -> str:
        return "+2"

    def read(self, written: str, at: str) -> Said:
        found = _AMOUNT.fullmatch(written.strip())
        if found is None:
            raise UsageError(
                f"{at}: {quoted(written.strip())} says nothing about a number; write +2 or -2, which is added to "
                f"{quoted(self.column)}, or 2 always, which decides"
            )
        number, always = float(found["number"]), found["always"] is not None
        if not always and found["number"][0] not in "+-":
            raise UsageError(f"{at}: write +{written.strip()} to add it, or {written.strip()} always to decide")
        return Said(weight=number, always=always)

    def check(self, rule: Said, named: str) -> None:
        assert rule.weight is not None
        if abs(self.score(rule, rule.weight)) > self.farthest:
            raise UsageError(
                f"{named} is more than {self.farthest:g} standard deviations ({self.deviation:g}) away from what is "
                f"learned, {quoted(self.column)}, whose mean is {self.mean:g}; is it in the same unit?"
            )

    def named(self, said: Said) -> str:
        return f"{said.weight:.12g} always" if said.always else f"{said.weight:+.12g}"

    def score(self, said: Said, weight: float) -> float:
        return (weight - self.mean if said.always else weight) / self.deviation


def read_saying(described: dict[str, Any]) -> Saying:
    """Return what was written by `model_dump`. Raises `ValidationError` if it is damaged."""
    return (NumberSaying if "column" in described else LabelSaying).model_validate(described)


def _plain(label: str) -> str:
    return unicodedata.normalize("NFC", label.strip())


def _weight(written: str, at: str) -> float:
    weight = float(written)
    if not 0 < weight <= HEAVIEST:
        raise UsageError(
            f"{at}: the weight {brief(written)} is not above 0 and at most {HEAVIEST:g}; to speak against a label, "
            "write `not` before it"
        )
    return weight
