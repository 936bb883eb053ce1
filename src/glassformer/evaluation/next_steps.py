"""What to do next: advice that the figures of any evaluation support. No figure is computed here."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from glassformer.data.wording import counted
from glassformer.evaluation.result import Contestant, Evaluation
from glassformer.evaluation.verdict import ALIKE, is_clear, share, slice_name
from glassformer.evaluation.weak_spots import DoubtfulRows, NextStep, Slices


def measure_it(folder: Path) -> NextStep:
    """Return the first step after each training."""
    return NextStep(
        text="Measure the model on labelled rows that it has not seen, and compare it with a baseline.",
        command=f"glassformer evaluate {shlex.quote(str(folder))} TEST_TABLE",
    )


def choose(evaluation: Evaluation, lost: Callable[[Contestant[Any]], str]) -> NextStep | None:
    """Advise as the verdict does, unless the model won. Rows that were learned are no reason for a choice."""
    if evaluation.too_good:
        text = f"Choose by rows that the model has not seen, and measure it on them: {evaluation.too_good}."
        return NextStep(text=text)
    duel = evaluation.duel
    if duel.strongest is None:
        return None
    baseline, compared = duel.baselines[duel.strongest], duel.comparisons[duel.strongest]
    clear = is_clear(compared.difference, compared.p)
    if compared.difference.value > 0 if clear else ALIKE in compared.verdict:
        return None
    said = f"These rows show no clear winner. Measure on more test rows, or choose {baseline.name}, which is simpler."
    return NextStep(text=lost(baseline) if clear else said, section="duel")


def check_doubts(doubts: DoubtfulRows[Any] | None, what: str, why: str, section: str) -> NextStep | None:
    """Advise to look at rows of training."""
    if doubts is None:
        return None
    kind = "row" if doubts.cross_fitted else "held-out row"
    have = "has" if doubts.doubtful == 1 else "have"
    asks = (
        "" if doubts.command is None else " The command checks them without a transformer, so it may list other rows."
    )
    return NextStep(
        text=f"Check {what}s: {doubts.doubtful:,} of {counted(doubts.rows, kind)} of {doubts.source} {have} a {what} "
        f"{why}.{asks}",
        section=section,
        command=doubts.command,
    )


def read_slice(
    slices: Slices | None, said: Callable[[str, str], str], shown: Callable[[float], float]
) -> NextStep | None:
    """Advise to look where the model is worst.

    Args:
        said: the end of the sentence, from the figures of these rows and of the others.
        shown: the figure that belongs to a share of right rows.
    """
    if slices is None or not slices.significantly_worse:
        return None
    worst = slices.listed[0]
    own, others = (share(shown(value)) for value in (worst.accuracy.value, worst.accuracy_of_rest))
    return NextStep(
        text="Read the errors where the model is worst, then collect training rows of their kind "
        f"({slice_name(worst)}): {said(own, others)}.",
        section="slices",
    )
