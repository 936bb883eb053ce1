"""What to do next: advice that the figures of an evaluation support."""

from __future__ import annotations

import shlex
from pathlib import Path

from glassformer.data.wording import counted
from glassformer.evaluation.doubtful_labels import labels_command
from glassformer.evaluation.result import Evaluation
from glassformer.evaluation.verdict import ALIKE, is_clear, macro_f1_against, share, slice_name
from glassformer.evaluation.weak_spots import NextStep
from glassformer.labels.learning_curve import fewest_rows
from glassformer.prediction.folder_config import FolderConfig

_AUTOMATIC = 0.9


def next_steps(evaluation: Evaluation, config: FolderConfig, folder: Path) -> tuple[NextStep, ...]:
    """Return what to do next, at most five steps. No figure is computed here.

    Args:
        folder: the model folder.
    """
    steps = (
        _choose(evaluation),
        _check_labels(evaluation),
        _read_slice(evaluation),
        _let_review(evaluation, folder),
        _label_more(evaluation, config),
    )
    return tuple(step for step in steps if step is not None)


def _choose(evaluation: Evaluation) -> NextStep | None:
    """Advise as the verdict does, unless the model won."""
    duel = evaluation.duel
    if not duel.baselines:
        return None
    strongest = max(range(len(duel.baselines)), key=lambda at: duel.baselines[at].metrics.accuracy.value)
    baseline, compared, metrics = duel.baselines[strongest], duel.comparisons[strongest], evaluation.metrics
    clear = is_clear(compared.difference, compared.mcnemar_p)
    if clear and compared.difference.value > 0:
        return None
    if not clear and ALIKE in compared.verdict:
        return None
    if not clear:
        said = (
            f"These rows show no clear winner. Measure on more test rows, or choose {baseline.name}, which is simpler."
        )
    elif macro_f1_against(
        duel.model.name,
        metrics.macro_f1.value,
        baseline.name,
        baseline.metrics.macro_f1.value,
        more_accurate=baseline.name,
    ):
        said = f"Choose by what counts for you: {baseline.name} has the higher accuracy, the model the higher macro F1."
    else:
        said = f"Prefer {baseline.name}: it is more accurate on these rows."
    return NextStep(text=said, section="duel")


def _check_labels(evaluation: Evaluation) -> NextStep | None:
    doubts = evaluation.label_doubts
    if doubts is None:
        return None
    kind = "row" if doubts.cross_fitted else "held-out row"
    have = "has a label" if doubts.doubtful == 1 else "have a label"
    return NextStep(
        text=f"Check labels: {doubts.doubtful:,} of {counted(doubts.rows, kind)} of {doubts.source} {have} "
        "that the model doubts.",
        section="labels",
        command=doubts.command,
    )


def _read_slice(evaluation: Evaluation) -> NextStep | None:
    slices = evaluation.slices
    if slices is None or not slices.significantly_worse:
        return None
    worst = slices.listed[0]
    return NextStep(
        text="Read the errors where the model is worst, then collect training rows of their kind "
        f"({slice_name(worst)}): it is right on {share(worst.accuracy.value)} of them, and on "
        f"{share(worst.accuracy_of_rest)} of the others.",
        section="slices",
    )


def _let_review(evaluation: Evaluation, folder: Path) -> NextStep | None:
    """Advise to send the least sure answers to a person, if fewer of the others are wrong."""
    if evaluation.review is None:
        return None
    errors = {each.asked: each.error.value for each in evaluation.review.shares if each.threshold or each.asked == 1}
    if _AUTOMATIC not in errors or errors[_AUTOMATIC] >= errors[1.0]:
        return None
    return NextStep(
        text=f"Let a person see the least sure tenth of the answers: of the surest {_AUTOMATIC:.0%}, "
        f"{share(errors[_AUTOMATIC])} are wrong, of all {share(errors[1.0])}.",
        section="review",
        command=f"glassformer predict {shlex.quote(str(folder))} `file='new.csv'` `automatic={_AUTOMATIC:g}`",
    )


def _label_more(evaluation: Evaluation, config: FolderConfig) -> NextStep | None:
    """Advise to estimate what more labels would bring, if the training table has enough rows for an estimate."""
    command, rows = labels_command(config), evaluation.data.training_rows or 0
    if command is None or rows < fewest_rows(len(evaluation.class_names)) or evaluation.metrics.accuracy.value == 1:
        return None
    return NextStep(text="Find out what 1,000 more labelled rows would bring.", command=command)
