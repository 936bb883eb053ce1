"""What a check of labels finds: a row for each finding, which a person reads and fills in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from glassformer.data.arrays import Numbers

if TYPE_CHECKING:
    from glassformer.labels.learning_curve import LearningCurve

DOUBTFUL = "doubtful label"
CONFLICT = "same text, other label"
NEAR_CONFLICT = "nearly the same text, other label"
REPEAT = "same text"
NEAR_REPEAT = "nearly the same text"
IN_TEST = "in the test table"
NEAR_TEST = "nearly in the test table"
WHYS = (DOUBTFUL, CONFLICT, NEAR_CONFLICT, REPEAT, NEAR_REPEAT, IN_TEST, NEAR_TEST)
"""The kinds of findings, in the order in which they are listed."""
OF_LABELS = (DOUBTFUL, CONFLICT, NEAR_CONFLICT)
"""Those that are about the label. The others are about texts that occur more than once."""
OF_TEST = (IN_TEST, NEAR_TEST)
"""Those whose other row is one of the test table."""
_LEFT_TO_READER = (CONFLICT, NEAR_CONFLICT, NEAR_REPEAT, NEAR_TEST)  # with numbers

DROP = "drop"
"""The word in `new_label` that leaves a row out."""
NONE = "none"
"""The word for a text to which no label applies, in tables with several labels per text."""
NEW_LABEL = "new_label"
_CLEARLY = 1.645  # standard errors: the 95% quantile of the normal distribution
_LEAST_GAIN = 0.2  # of what is left above the most frequent label


def schema(measure: str) -> dict[str, type[pl.DataType]]:
    """Return the columns of findings. That of the measure says how sure the model is of a suggestion."""
    texts = dict.fromkeys(("text", "label", "why", "suggested_label"), pl.String)
    return {"row": pl.UInt32, **texts, measure: pl.Float64, "other_row": pl.UInt32, "similarity": pl.Float64}


def knows_little(agreement: float, majority: float) -> bool:
    """Return whether a model that agrees with so many labels is hardly better than always the most frequent one."""
    return agreement - majority < _LEAST_GAIN * (1 - majority)


def knows_nothing(right: Numbers, baseline_error: Numbers) -> bool:
    """Return whether answers are not clearly better than one answer to all rows.

    They are if the mean gain of a row is above 0 in a one-sided test at 5%: more than 1.645 standard errors. In some
    tables, answers to labels without any meaning agree a little more often than the most frequent label by chance.

    Args:
        right: (rows,) how right each answer is: 1 if it agrees with the label.
        baseline_error: (rows,) the same for the one answer.
    """
    gains = right - baseline_error
    return bool(gains.mean() <= _CLEARLY * gains.std() / math.sqrt(len(gains)))


@dataclass(frozen=True, kw_only=True)
class LabelCheck:
    """What was found in a table.

    Attributes:
        findings: a row for each finding, with the columns of `schema`: first those of the kind `DOUBTFUL`, the most
            doubtful first. `suggested_label` is the label that the held-out model gives, and `probability` that of this
            label; of a number, `deviations` says how far it is off. `other_row` has the same or nearly the same text;
            with `IN_TEST` and `NEAR_TEST` it is a row of the test table. `similarity` is the share of all runs of five
            characters of both texts that both have.
        rows: how many rows were checked.
        labels: the labels of the table. A number has none.
        agreement: the share of rows whose label the held-out model gives. With several labels per text, the share of
            yes and no that it gives. With numbers, R² of the rows that are not doubtful.
        majority: the same for one answer to all rows: the most frequent label, the more frequent of yes and no for
            each label, or the mean, whose R² is 0.
        knows_nothing: whether the model is not clearly better than this one answer. Then no label is doubted.
        estimated_wrong: an estimate of how many labels are wrong, mostly far too high: hard texts count too. None of
            numbers, and if the model knows nothing.
        curve: what more rows would bring. None if there are too few rows to tell, or the model knows nothing.
    """

    findings: pl.DataFrame
    rows: int
    labels: tuple[str, ...]
    agreement: float
    majority: float
    knows_nothing: bool
    estimated_wrong: float | None
    curve: LearningCurve | None

    @property
    def knows_little(self) -> bool:
        """Whether the held-out model is hardly better than always the most frequent label, so its doubts say little."""
        return knows_little(self.agreement, self.majority)

    def of_kind(self, why: str) -> pl.DataFrame:
        return self.findings.filter(pl.col("why") == why)

    def to_fill_in(self, *, prefill: bool) -> pl.DataFrame:
        """Return the findings with the column `new_label`, which is empty.

        Args:
            prefill: suggest what to do, once for each row, at its first finding that has a suggestion: the suggested
                label, if it is another one, for findings about labels; `drop` for the others. With numbers, nothing for
                texts that are only nearly the same, which may well differ in what the number is about. Nothing either
                where the same text has other numbers, because the answer is none of them.
        """
        if not prefill:
            return self.findings.with_columns(pl.lit(None, pl.String).alias(NEW_LABEL))
        of_labels = pl.col("why").is_in(OF_LABELS)
        other = pl.when(pl.col("suggested_label") != pl.col("label")).then(pl.col("suggested_label"))
        drop = pl.lit(None if DROP in self.labels else DROP, pl.String)
        new = pl.when(of_labels).then(other).otherwise(drop)
        if not self.labels:
            new = pl.when(~pl.col("why").is_in(_LEFT_TO_READER)).then(new)
        is_first = new.cum_count().over("row") == 1
        return self.findings.with_columns(pl.when(is_first).then(new).alias(NEW_LABEL))
