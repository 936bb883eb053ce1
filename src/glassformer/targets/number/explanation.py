"""What is asked about an answer with a number: the number itself, in its unit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from glassformer.data.arrays import DoubleArray, FloatArray
from glassformer.data.wording import short
from glassformer.errors import UsageError
from glassformer.explanation.asked import Asked, Goal
from glassformer.targets.number.target import COVERAGE, Number, NumberAnswers, significant


@dataclass(frozen=True, kw_only=True, eq=False)
class AskedNumber(Asked):
    """Why a number. The margin is the number, and the shares of words are in its unit.

    Attributes:
        answers: the number, with its interval.
        above, below: the number that an answer to a changed text should pass. None for both: any end of the interval.
    """

    whole: ClassVar = "number"
    unit: ClassVar = ""
    columns: ClassVar = {"prediction": float, "interval_low": float, "interval_high": float}
    word_columns: ClassVar = ("words_raising", "words_lowering")
    share_key: ClassVar = "effect"

    column: str
    answers: NumberAnswers
    above: float | None
    below: float | None

    @classmethod
    def of(
        cls,
        target: Number,
        answers: NumberAnswers,
        *,
        label: Any = None,
        above: float | None = None,
        below: float | None = None,
    ) -> Self:
        if label is not None:
            raise UsageError("`label=` is for models that answer with labels; this one answers with a number")
        value = float(answers.values[0])
        if above is not None and below is not None:
            raise UsageError("give `above=` or `below=`, not both")
        for name, bound in (("above", above), ("below", below)):
            if bound is not None and not math.isfinite(bound):
                raise UsageError(f"`{name}={bound:g}` is not a finite number")
        if (above is not None and value > above) or (below is not None and value < below):
            passed = f"`above={above:g}`" if above is not None else f"`below={below:g}`"
            raise UsageError(f"{passed}: the answer, {short(value)}, is there already; give another number")
        return cls(
            prediction=significant(value),
            direction=np.array([target.scale.deviation]),
            offset=target.base,
            column=target.column,
            answers=answers,
            above=above,
            below=below,
        )

    @property
    def value(self) -> float:
        return float(self.answers.values[0])

    @property
    def named(self) -> str:
        return short(self.value)

    @property
    def headline(self) -> str:
        away = self.answers.distance
        within = "" if away is None else f" (± {short(away)} for {COVERAGE:.0%} of texts)"
        return f"{self.column}: {self.named}{within}"

    @property
    def sides(self) -> tuple[str, str]:
        return "raises the number", "lowers it"

    @property
    def least(self) -> float:
        return float(self.direction[0])

    def written(self, share: float) -> str:
        """Write a share with its sign, to a hundredth of the deviation of the training rows."""
        decimals = max(0, 2 - math.floor(math.log10(self.least)))
        return (f"{share:+,.{decimals}f}" if round(share, decimals) else f"{0:.{decimals}f}").replace("-", "−")

    def rounded(self, share: float) -> float:
        return significant(share)

    def as_json(self) -> dict[str, Any]:
        return dict(zip(self.columns, self.cells(), strict=True))

    @property
    def about(self) -> dict[str, Any]:
        return {"prediction": self.prediction}

    def of_word(self, shares: Mapping[str, float]) -> dict[str, Any]:
        """Return `effect`, the sum of the shares, and `readers`. They are rounded."""
        by_reader = {name: significant(share) for name, share in shares.items()}
        return {"effect": significant(sum(shares.values())), "readers": by_reader}

    def cells(self) -> list[Any]:
        return list(self.answers.with_interval(0))

    @property
    def wanted(self) -> str:
        if self.above is not None:
            return f"moves the answer above {short(self.above)}"
        return (
            "moves the answer out of its interval"
            if self.below is None
            else f"moves the answer below {short(self.below)}"
        )

    def goals(self, scores: FloatArray) -> tuple[Goal, ...]:  # noqa: ARG002
        if self.above is not None:
            return (self._rising(self.above),)
        if self.below is not None:
            return (self._falling(self.below),)
        if (away := self.answers.distance) is None:
            raise UsageError(
                "`counterfactual=True`: the model knows no interval that the answer could leave; say where the answer "
                "should go, by `above=` or `below=`"
            )
        return self._falling(self.value - away), self._rising(self.value + away)

    def _falling(self, below: float) -> Goal:
        return Goal(sign=1, gaps=lambda scores: self._values(scores) - below, reached=f"falls below {short(below)}")

    def _rising(self, above: float) -> Goal:
        return Goal(sign=-1, gaps=lambda scores: above - self._values(scores), reached=f"rises above {short(above)}")

    def _values(self, scores: FloatArray) -> DoubleArray:
        return scores.astype(np.float64) @ self.direction + self.offset

    def after(self, answers: NumberAnswers) -> dict[str, Any]:
        return dict(zip(self.columns, answers.with_interval(0), strict=True))

    def shown(self, after: Mapping[str, Any]) -> str:
        return short(after["prediction"])


PART = AskedNumber
