"""The target of a number: an answer is a number with an interval."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from glassformer.data.arrays import BoolArray, Numbers
from glassformer.data.wording import counted, short
from glassformer.errors import GlassformerError, UsageError, brief_value
from glassformer.readers.reader import DECIDING
from glassformer.readers.rules.saying import NumberSaying
from glassformer.targets.answers import Answers, Scores
from glassformer.targets.number.held_out import HeldOutNumbers, Scale
from glassformer.targets.review import percent_of
from glassformer.targets.target import Followed, Target

COVERAGE = 0.9
"""The share of right numbers that the intervals of answers should hold."""
_LARGEST = sys.float_info.max  # JSON also knows larger whole numbers
_STEP = 1e-9  # of a deviation: a rule that decides on 0 then gives 0


@dataclass(frozen=True, kw_only=True)
class NumberAnswers(Answers):
    """The numbers of some texts, each with an interval.

    Attributes:
        values: (texts,)
        distance: half of the width of the interval around each value. None if the model does not know it.
        readers: what each reader adds to the value of each text (texts,). The rest is the same for all texts.
        review_below: an answer to a text of which a lower share is known needs review. None: nobody asked.
    """

    per_text: ClassVar = ("values",)
    keys: ClassVar = ("interval_low", "interval_high")
    text_columns: ClassVar = ()

    values: Numbers
    distance: float | None
    review_below: float | None = None

    @property
    def needs_review(self) -> BoolArray | None:
        """Which texts have a larger unseen share than may be answered (texts,); all if the model does not know it."""
        if self.review_below is None:
            return None
        return np.ones(len(self.values), np.bool_) if self.unseen is None else 1 - self.unseen < self.review_below

    def predictions(self) -> list[float | None]:
        return [None if empty else value for empty, value in zip(self.empty, self.values.tolist(), strict=True)]

    def counts(self) -> Counter[str]:
        """Return nothing: any number may be an answer."""
        return Counter()

    def cells(self, row: int, top_k: int | None) -> list[str]:  # noqa: ARG002 (a number has no other answers)
        """Return the number and its interval."""
        if self.empty[row]:
            return ["(no text)", ""]
        value, low, high = self.with_interval(row)
        return [short(value), "" if low is None or high is None else f"{short(low)} to {short(high)}"]

    def with_interval(self, row: int) -> tuple[float, float | None, float | None]:
        """Return the number of a text, and where its interval begins and ends."""
        value, away = float(self.values[row]), self.distance
        low, high = (None, None) if away is None else (significant(value - away), significant(value + away))
        return significant(value), low, high

    def _record(self, row: int, top_k: int | None) -> dict[str, Any]:  # noqa: ARG002
        return dict(zip(["prediction", *self.keys], self.with_interval(row), strict=True))

    def _added(self) -> dict[str, list[float]]:
        return {name: list(map(significant, added.tolist())) for name, added in self.readers.items()}

    def _columns(self) -> dict[str, Any]:
        rows = [self.with_interval(row) for row in range(len(self.values))]
        return {name: [row[place] for row in rows] for place, name in enumerate(["prediction", *self.keys])}


class Number(Target):
    """A number. Scores are numbers on the scale of training, (number − mean) / deviation."""

    precision: ClassVar = np.float64
    counted: ClassVar = False

    kind: Literal["number"] = "number"
    column: str
    """The column that was learned."""
    scale: Scale
    bias: float = 0.0
    """What is added to the scores of the readers."""

    @property
    def width(self) -> int:
        return 1

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def base(self) -> float:
        """The answer to which the readers add: the mean of the training rows and the bias."""
        return self.scale.mean + self.bias * self.scale.deviation

    def held_out(self, metrics: Mapping[str, Any]) -> HeldOutNumbers | None:
        found = metrics.get("held_out")
        return None if found is None else HeldOutNumbers.model_validate(found)

    def decides(self, scores: Scores) -> BoolArray:
        return np.abs(scores[:, 0]) >= DECIDING

    def decided(self, scores: Mapping[str, Scores]) -> dict[str, Scores]:
        found = dict(scores)
        for name, each in scores.items():
            if (rows := self.decides(each)).any():
                found = {other: np.where(rows[:, None], 0, values) for other, values in found.items()}
                found[name] = np.where(rows[:, None], each - NumberSaying.decided, each)
        return found

    def taught(self, scores: Scores) -> Scores:
        """Return the expected numbers, on the scale of training."""
        return scores + self.bias

    def answers(
        self, scores: Mapping[str, Scores], held_out: Any, *, coverage: float = COVERAGE, **about: Any
    ) -> NumberAnswers:
        distance = self.distance(held_out, coverage)
        return NumberAnswers(values=self.values(scores), distance=distance, readers=self._added(scores), **about)

    def weighed(self, added: Scores) -> Scores:
        return added[:, None] / self.scale.deviation

    def _added(self, scores: Mapping[str, Scores]) -> dict[str, Numbers]:
        """Return what each reader adds to the answers, in the unit of the number: (texts,)."""
        return {name: values[:, 0] * self.scale.deviation for name, values in scores.items()}

    def values(self, scores: Mapping[str, Scores]) -> Numbers:
        values: Numbers = self.base + np.sum(list(self._added(scores).values()), axis=0)
        if not np.isfinite(values).all():
            raise GlassformerError("the model gives NaN or infinite numbers: its weights are damaged")
        step = self.scale.deviation * _STEP
        return np.rint(values / step) * step + 0.0 if step else values  # −0 becomes 0

    def alone(self, held_out: HeldOutNumbers | None, reader: str, scores: Scores) -> Numbers | None:
        """Return the answers of a reader from its scores (texts, 1) if it answered alone.

        None if no rows were held out.
        """
        found = None if held_out is None else held_out.readers.get(reader)
        if found is None:
            return None
        values: Numbers = scores[:, 0].astype(np.float64)
        return self.scale.mean + self.scale.deviation * (found.bias + found.weight * values)

    def distance(self, held_out: HeldOutNumbers | None, coverage: float = COVERAGE) -> float | None:
        """Return the distance from an answer within which the right number should lie. None if it is not known.

        Args:
            coverage: the share of the right numbers, from 0.01 to 0.99 in whole percents.

        Raises:
            UsageError: it is not such a share.
        """
        place = percent_of(coverage, "coverage") - 1
        if place > 98:
            raise UsageError("`coverage=1`: no interval holds every number; give at most 0.99")
        return None if held_out is None else held_out.distances[place]

    def why_no_interval(self, held_out: HeldOutNumbers | None, coverage: float = COVERAGE) -> str | None:
        """Return why there are no intervals of a coverage, or None if there are."""
        if self.distance(held_out, coverage) is not None:
            return None
        if held_out is None:
            return "no rows were held out in training"
        if held_out.known is not None:
            return (
                f"the right number of {held_out.known:,} held-out rows is known, and intervals of {coverage:.0%} need "
                f"at least {rows_needed(coverage)}"
            )
        rows = counted(held_out.rows, "row was", "rows were")
        return f"{rows} held out in training, and intervals of {coverage:.0%} need at least {rows_needed(coverage)}"

    @property
    def _columns(self) -> dict[str, type]:
        return dict.fromkeys(["prediction", *NumberAnswers.keys], float)

    def notes(self, held_out: HeldOutNumbers | None) -> list[str]:
        if why := self.why_no_interval(held_out):
            return [f"there are no intervals: {why}"]
        assert held_out is not None
        which = "held-out rows" if held_out.folds == 1 else "cross-fitted rows"
        rows = f"{held_out.rows if held_out.known is None else held_out.known:,} {which}"
        return [f"an interval should contain the true number of {COVERAGE:.0%} of texts; calibrated on {rows}"]

    def named(self, label: Any) -> float:
        return float(label)

    def check_right(self, given: Any) -> None:
        if isinstance(given, bool | str | list) or not -_LARGEST <= given <= _LARGEST:
            raise UsageError(f"`label={brief_value(given)}` is not a number; the model answers with one")

    def followed(self, records: Sequence[Mapping[str, Any]], held_out: HeldOutNumbers | None) -> list[Followed]:
        usual = None if held_out is None else held_out.answer
        return [Followed("answer", [record["prediction"] for record in records], usual)]

    def described(self) -> dict[str, Any]:
        scale = self.scale
        return {"target": self.column, "lowest": scale.lowest, "highest": scale.highest, "base": self.base}

    @property
    def in_words(self) -> str:
        return f"It answers with the number `{self.column}`."


def number_of(target: Target) -> Number:
    """Return the target of a number. Raises `UsageError` if it has labels."""
    if not isinstance(target, Number):
        raise UsageError("the model answers with labels; this is for models that answer with a number")
    return target


def rows_needed(coverage: float) -> int:
    """Return how many held-out rows intervals of a coverage need: the smallest n with ⌈(n + 1) · coverage⌉ ≤ n."""
    percent = percent_of(coverage, "coverage")
    return -(-percent // (100 - percent))


def significant(value: float) -> float:
    """Round to six significant digits."""
    return float(f"{value:.6g}")
