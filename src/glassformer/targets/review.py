"""Which answers a person should see, and which labels a text may have: thresholds that held-out rows give.

Answers are automatic from a confidence on (selective classification: Geifman & El-Yaniv 2017). A label is in the set of
a text from a probability on (split conformal prediction: Angelopoulos & Bates 2023, eq. 1). Without PyTorch.
"""

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from glassformer.data.arrays import Array, DoubleArray, FloatArray, IntArray
from glassformer.data.wording import share_in_percent
from glassformer.errors import UsageError, brief_value
from glassformer.targets.costs import Costs
from glassformer.targets.probabilities import confidences_of, given_by, one_hot

Shares = Annotated[tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(min_length=100, max_length=100)]
Counts = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=100, max_length=100)]
SomeRows = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=100, max_length=100)]


@dataclass(frozen=True, kw_only=True)
class ReviewRule:
    """An answer of a lower confidence than `below` needs review.

    Attributes:
        automatic: how many of them have at least this confidence.
        wrong: how many of these were answered wrongly. None if the held-out rows have no labels.
    """

    below: float
    held_out_rows: int
    automatic: int
    wrong: int | None

    def __str__(self) -> str:
        """Return the rule in words."""
        error = "" if self.wrong is None else f"; {share_in_percent(self.wrong / self.automatic)} of these were wrong"
        return (
            f"an answer with a confidence below {self.below:.6g} needs review. Of {self.held_out_rows:,} held-out "
            f"rows, {self.automatic:,} had at least this confidence{error}"
        )


class Thresholds(BaseModel):
    """The thresholds for 1%, 2%, … 100% of texts, by the answers to held-out rows."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    confidence: Shares
    """The lowest confidence of this share of the rows, the surest ones."""
    rows: SomeRows
    """How many rows have at least this confidence."""
    wrong: Counts | None
    """How many of these were answered wrongly; with several labels per text, those with any wrong label. None if the
    rows have no labels."""
    label_probability: Shares | None
    """The probability from which on a label is in the set, so that this share of the sets hold the right label. 0 if
    there are too few rows. None with several labels per text, and without labels."""

    @classmethod
    def of(cls, probs: Array, labels: Array | None, *, multilabel: bool, costs: Costs | None = None) -> Self:
        """Find the thresholds.

        Args:
            probs: (rows, n_classes) the calibrated probabilities of at least one row.
            labels: class numbers (rows,), or multi-hot (rows, n_classes) with `multilabel`.
        """
        count = len(probs)
        confidences = _rounded_down(confidences_of(probs, multilabel=multilabel, costs=costs))
        ascending = np.sort(confidences)
        confidence = ascending[count - places(count)]
        rows = count - np.searchsorted(ascending, confidence)
        wrong = of_truth = None
        if labels is not None:
            given = given_by(probs, multilabel=multilabel, costs=costs)
            of_truth = None if multilabel else _label_probabilities(probs[np.arange(count), labels])
            wrong = (given != one_hot(labels, probs.shape[1])).any(axis=1)
            wrong = wrong[np.argsort(-confidences)].cumsum()[rows - 1]
        return cls(
            confidence=tuple(confidence.tolist()),
            rows=tuple(rows.tolist()),
            wrong=None if wrong is None else tuple(wrong.tolist()),
            label_probability=None if of_truth is None else tuple(of_truth.tolist()),
        )

    def rule(self, automatic: float) -> ReviewRule:
        """Return the rule by which this share of answers is given automatically, from 0.01 to 1.

        Raises:
            UsageError: it is not such a share, or not in whole percents.
        """
        at = percent_of(automatic, "automatic") - 1
        return ReviewRule(
            below=self.confidence[at],
            held_out_rows=self.rows[-1],
            automatic=self.rows[at],
            wrong=None if self.wrong is None else self.wrong[at],
        )

    def label_threshold(self, coverage: float) -> float:
        """Return the probability from which on a label is in the set of a text.

        Args:
            coverage: the share of the sets that should hold the right label, from 0.01 to 1.

        Raises:
            UsageError: the coverage is not such a share, or the held-out rows do not give sets.
        """
        at = percent_of(coverage, "coverage") - 1
        if self.label_probability is None:
            raise UsageError(
                "this model gives no label sets: they need one label per text, and held-out rows with labels"
            )
        return self.label_probability[at]


def percent_of(share: float, setting: str) -> int:
    """Return a share in percent.

    Raises:
        UsageError: it is not from 0.01 to 1, or not in whole percents.
    """
    number = isinstance(share, float | int | np.floating)
    if not number or not 0 < share <= 1 or abs(100 * share - round(100 * share)) > 1e-9:
        given = f"{share:g}" if number else brief_value(share)
        raise UsageError(f"`{setting}={given}`: give a share from 0.01 to 1 in whole percents, such as 0.9")
    return round(100 * share)


def places(count: int) -> IntArray:
    """Return ⌈count · 1%⌉, …, ⌈count · 100%⌉. In whole numbers, as 0.9 · 10 must not become 9.000000000000002."""
    return -(-count * np.arange(1, 101) // 100)


def _label_probabilities(of_truth: FloatArray) -> DoubleArray:
    """Return for 1%, … 100% the ⌈(n + 1) · coverage⌉-th largest probability of the right label, or 0 if n is too small.

    With the score 1 − p of the right label, this is 1 − q̂ of Angelopoulos & Bates 2023, eq. 1.

    Args:
        of_truth: (rows,) the probability of the right label of each row.
    """
    return np.append(np.sort(_rounded_down(of_truth))[::-1], 0.0)[places(len(of_truth) + 1) - 1]


def _rounded_down(probs: FloatArray) -> DoubleArray:
    """Round to six decimals, so that each row itself has at least its rounded probability."""
    return np.floor(probs.astype(np.float64) * 1e6) / 1e6
