"""What wrong answers cost, and the answers of the least expected cost (Elkan 2001). Without PyTorch."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from glassformer.data.arrays import Array, BoolArray, DoubleArray
from glassformer.data.parts import exists
from glassformer.data.wording import label_name, listed
from glassformer.errors import UsageError, brief, brief_value, quoted

REVIEW = "review"
"""The answer of a row that says what asking a person costs."""
_COLUMNS = ["truth", "answer", "cost"]
_MOST_ROWS = 100_000
_MOST = 1e100  # sums of larger costs would be infinite
_SAID, _KNOWN = 3, 10


class CostRow(BaseModel):
    """What an answer costs to texts of a class. Without `answer`: any wrong answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    truth: str | None = None
    answer: str | None = None
    cost: float = Field(ge=0)
    place: str = Field(default="`costs=`", exclude=True, repr=False)
    """Where it was given, for messages."""

    def refused(self, why: str) -> UsageError:
        """Return an error that names the place."""
        return UsageError(f"{self.place}: {why}")


def read_costs(given: Any) -> tuple[CostRow, ...]:
    """Return the rows of costs.

    Args:
        given: costs by label, `{"fraud": 10, "review": 0.3}`, where a pair `("fraud", "ok")` is a truth and an answer;
            `"fraud=10"`; a table with the columns truth, answer and cost; or a list of such things.

    Raises:
        UsageError: a cost is no number from 0 on or far too large, or is given twice, or the table cannot be read.
    """
    rows = tuple(_rows(given))
    known = set[tuple[str | None, str | None]]()
    for row in rows:
        if (row.truth, row.answer) in known:
            raise row.refused(f"there is another cost for {quoted(row.truth or row.answer)}; keep one of them")
        known.add((row.truth, row.answer))
    return rows


CostRows = Annotated[tuple[CostRow, ...], BeforeValidator(read_costs)]


def _rows(given: Any) -> Iterable[CostRow]:
    if isinstance(given, CostRow):
        yield given
    elif isinstance(given, Mapping) and "cost" in given and {"truth", "answer"} & given.keys():
        yield _row(given.get("truth"), given.get("answer"), given["cost"])
    elif isinstance(given, Mapping):
        for label, cost in given.items():
            truth, answer = label if isinstance(label, tuple) and len(label) == 2 else (label, None)
            yield _row(truth, answer, cost)
    elif isinstance(given, str | Path):
        yield from _typed(str(given))
    elif isinstance(given, list | tuple):
        for each in given:
            if isinstance(each, list | tuple) and len(each) == 3 and not isinstance(each[2], str):
                yield _row(*each)
            else:
                yield from _rows(each)
    else:
        raise UsageError(f"`costs={brief_value(given)}`: give costs by label, such as {{'fraud': 10}}, or a table")


def _row(truth: Any, answer: Any, cost: Any, place: str = "`costs=`") -> CostRow:
    try:
        number = math.nan if isinstance(cost, bool) or cost is None else float(cost)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise UsageError(f"{place}: the cost {brief_value(cost)} is no number from 0 on")
    if number > _MOST:
        raise UsageError(f"{place}: the cost {brief_value(cost)} is larger than {_MOST:g}, too large to be added up")
    truth, answer = (None if each is None else label_name(each).strip() or None for each in (truth, answer))
    if truth is None and answer is None:
        raise UsageError(f"{place}: it is not clear what costs {number:g}; name the class in the column truth")
    return CostRow(truth=truth, answer=answer, cost=abs(number), place=place)  # not -0


def _typed(text: str) -> Iterable[CostRow]:
    """Read `fraud=10`, or a table."""
    label, equals, cost = text.rpartition("=")
    is_file = exists(Path(text))
    if equals and not is_file:
        yield _row(label, None, cost, brief(text))
        return
    if not equals and not Path(text).suffix and not is_file:
        raise UsageError(f"`costs={text}`: give a label and its cost, such as {text}=10, or a table")
    from glassformer.data.rows import read_batches, with_columns  # tables are an extra where PyTorch is missing

    number = 0
    for batch in read_batches(Path(text), rows_per_batch=_MOST_ROWS):
        for column in ("truth", "cost"):
            if column not in batch.columns:
                raise UsageError(
                    f"{text} has no column {column!r} (it has: {', '.join(batch.columns)}); a table of costs has the "
                    "columns truth, answer and cost"
                )
        for truth, answer, cost in with_columns(batch, _COLUMNS).iter_rows():
            number += 1
            yield _row(truth, answer, cost, f"{text}, row {number}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Costs:
    """What wrong answers cost: usually 1. A right answer costs nothing.

    Attributes:
        wrong: (truths, answers); with several labels per text the cost of each missed label, (labels,), where a label
            that is given wrongly costs 1.
        review: the cost of asking a person. None: nobody is asked.
    """

    wrong: DoubleArray
    review: float | None

    @classmethod
    def of(cls, rows: Sequence[CostRow], names: Sequence[str], *, multilabel: bool) -> Self | None:
        """Return the costs of rows, or None if there are none.

        Raises:
            UsageError: a row has an unknown label, or says what cannot be.
        """
        if not rows:
            return None
        number = {name: at for at, name in enumerate(names)}
        wrong, review = np.ones(len(names) if multilabel else (len(names), len(names))), None
        for row in sorted(rows, key=lambda row: row.answer is not None):  # a cost for one answer counts more
            if _asks(row, names):
                if row.truth not in (None, REVIEW):
                    raise row.refused("asking a person costs the same whatever is right; leave the truth empty")
                review = row.cost
                continue
            if row.truth is None and row.answer == REVIEW:
                raise row.refused(
                    "`review` asks a person, and is a label here; rename the label, or leave this cost out"
                )
            if row.truth is None:
                raise row.refused("the truth is missing; only the answer `review` has none")
            for label in (row.truth, row.answer):
                if label is not None and label not in number:
                    known = listed(names, _KNOWN, more=" …")
                    raise row.refused(f"there is no label {quoted(label)}; there are {known}")
            if row.answer is None:
                wrong[number[row.truth]] = row.cost
            elif multilabel:
                raise row.refused(
                    "with several labels per text, each label is right or wrong by itself; leave the answer empty"
                )
            elif row.truth == row.answer:
                raise row.refused(f"{quoted(row.truth)} is then the right answer, which costs nothing; leave it out")
            else:
                wrong[number[row.truth], number[row.answer]] = row.cost
        if not multilabel:
            np.fill_diagonal(wrong, 0)
        return cls(wrong=wrong, review=review)

    def expected(self, probs: Array) -> DoubleArray:
        """Return the expected cost of each answer: Σ over truths p(truth) · cost(truth, answer).

        Args:
            probs: (texts, labels).

        Returns:
            (texts, answers); with several labels per text (texts, labels, 2): if the label is not given, and if it is.
        """
        wide = probs.astype(np.float64)
        if self.wrong.ndim == 1:
            return np.stack([wide * self.wrong, 1 - wide], axis=2)
        return wide @ self.wrong

    def given(self, probs: Array) -> BoolArray:
        """Return which labels have the least expected cost: (texts, labels)."""
        if self.wrong.ndim == 1:
            return probs >= 1 / (1 + self.wrong)
        return self.expected(probs).argmin(axis=1)[:, None] == np.arange(len(self.wrong))

    def asked(self, probs: Array) -> BoolArray:
        """Return for which texts asking a person is cheaper than the least expected cost (Chow 1970): (texts,)."""
        if self.review is None:
            return np.zeros(len(probs), np.bool_)
        least = self.expected(probs).min(axis=-1)
        return self.review < (least.sum(axis=1) if self.wrong.ndim == 1 else least)

    def paid(self, given: BoolArray, labels: Array) -> DoubleArray:
        """Return what answers cost: (texts,).

        Args:
            given: which labels were given, (texts, labels).
            labels: class numbers (texts,), or multi-hot (texts, labels).
        """
        if self.wrong.ndim == 1:
            return ((labels > 0) & ~given) @ self.wrong + ((labels == 0) & given).sum(axis=1)
        return self.wrong[labels, given.argmax(axis=1)]


def _asks(row: CostRow, names: Sequence[str]) -> bool:
    """Whether a row says what asking a person costs. A label of this name is a label."""
    return REVIEW not in names and REVIEW in (row.answer, row.truth if row.answer is None else None)


def settled(rows: Sequence[CostRow], names: Sequence[str], *, multilabel: bool) -> tuple[CostRow, ...]:
    """Return the rows as a target keeps them. Raises what `Costs.of` raises."""
    Costs.of(rows, names, multilabel=multilabel)
    return tuple(
        CostRow(answer=REVIEW, cost=row.cost)
        if _asks(row, names)
        else CostRow(truth=row.truth, answer=row.answer, cost=row.cost)
        for row in rows
    )


def in_words(rows: Sequence[CostRow]) -> str:
    """Say what the rows of a target cost."""
    return listed([*map(_said, rows)], _SAID, between="; ", more="; and {:,} more")


def _said(row: CostRow) -> str:
    if row.truth is None:
        return f"asking a person costs {row.cost:g}"
    what = f"a missed {row.truth}" if row.answer is None else f"{row.truth} taken for {row.answer}"
    return f"{what} costs {row.cost:g}"
