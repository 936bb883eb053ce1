"""`--automatic`: which answers need review."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.cli.output import human_count, say
from glassformer.data.wording import counted

if TYPE_CHECKING:
    from glassformer.prediction.answering import Answering


def review_below(predictor: Answering, automatic: float | None) -> float | None:
    """Return the confidence below which an answer needs review, and say what it is. None if nobody asked.

    Raises:
        UsageError: see `Answering.thresholds` and `Thresholds.rule`.
    """
    if automatic is None:
        return None
    rule = predictor.thresholds.rule(automatic)
    say(f"note: {rule}")
    return rule.below


def say_needs_review(needs_review: int, rows: int, unit: str) -> None:
    """Say how many answers need review.

    Args:
        unit: what the rows are, `row` or `text`.
    """
    say(f"note: {human_count(needs_review)} of {counted(rows, unit)} {'needs' if needs_review == 1 else 'need'} review")
