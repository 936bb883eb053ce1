"""What to do next with a model of labels."""

import shlex
from pathlib import Path
from typing import Any

from glassformer.data.wording import share_in_percent
from glassformer.errors import quoted
from glassformer.evaluation.doubtful_rows import labels_command
from glassformer.evaluation.next_steps import check_doubts, choose, read_slice
from glassformer.evaluation.result import Contestant
from glassformer.evaluation.verdict import macro_f1_against, share
from glassformer.evaluation.weak_spots import NextStep
from glassformer.labels.learning_curve import fewest_rows
from glassformer.prediction.folder_config import FolderConfig
from glassformer.targets.labels.evaluation_result import LabelEvaluation

_MOST_STEPS = 5
_AUTOMATIC = 0.9
_MOST_LEFT = 0.9  # of the share of wrong answers: otherwise a person reads answers for little


def label_steps(evaluation: LabelEvaluation, config: FolderConfig, folder: Path) -> tuple[NextStep, ...]:
    """Return what to do next, at most five steps."""
    duel, metrics = evaluation.duel, evaluation.metrics

    def lost(baseline: Contestant[Any]) -> str:
        rival = baseline.metrics.macro_f1.value
        if macro_f1_against(
            {duel.model.name: metrics.macro_f1.value, baseline.name: rival}, more_accurate=baseline.name
        ):
            return (
                f"Choose by what counts for you: {baseline.name} has the higher accuracy, the model the higher "
                "macro F1."
            )
        return f"Prefer {baseline.name}: it is more accurate on these rows."

    steps = (
        choose(evaluation, lost),
        check_doubts(evaluation.label_doubts, "label", "that the model doubts", "labels"),
        _find_the_rare(evaluation, folder),
        read_slice(
            evaluation.slices, lambda own, others: f"it is right on {own} of them, and on {others} of the others", float
        ),
        _let_review(evaluation, folder),
        _label_more(evaluation, config),
    )
    return tuple(step for step in steps if step is not None)[:_MOST_STEPS]


def _find_the_rare(evaluation: LabelEvaluation, folder: Path) -> NextStep | None:
    """Advise what to do about the class that is found least, of those that are rarer than others."""
    classes = evaluation.metrics.per_class
    mean = sum(each.support for each in classes) / len(classes)
    rare = [each for each in evaluation.metrics.missed if each.support < mean]
    if not rare:
        return None
    worst = min(rare, key=lambda each: each.recall)
    text = f"Label more texts of {quoted(worst.name)}: it was found in {worst.found:,} of {worst.support:,}."
    if evaluation.costs is not None:
        return NextStep(text=text, section="classes")
    end = "-- " if worst.name.startswith("-") else ""  # of the options
    return NextStep(
        text=f"{text} If a miss is worse than a false alarm, say by how much (here 10 times), then measure again:",
        section="classes",
        command=f"glassformer costs {shlex.quote(str(folder))} {end}{shlex.quote(f'{worst.name}=10')}",
    )


def _let_review(evaluation: LabelEvaluation, folder: Path) -> NextStep | None:
    """Advise to send the least sure answers to a person, if clearly fewer of the others are wrong."""
    if evaluation.review is None or (evaluation.costs is not None and evaluation.costs.asked):
        return None
    shares = {each.asked: each for each in evaluation.review.shares}
    found, of_all = shares[_AUTOMATIC].threshold, shares[1.0].error.value
    if not of_all or found is None or found.error is None or found.error.value > _MOST_LEFT * of_all:
        return None
    seen = share_in_percent(1 - found.coverage.value)
    return NextStep(
        text=f"Let a person see the least sure answers, here {seen}: {share(found.error.value)} of the others are "
        f"wrong, against {share(of_all)} of all.",
        section="review",
        command=f"glassformer predict {shlex.quote(str(folder))} `file='new.csv'` `automatic={_AUTOMATIC:g}`",
    )


def _label_more(evaluation: LabelEvaluation, config: FolderConfig) -> NextStep | None:
    """Advise to estimate what more labels would bring, if the training table has enough rows for an estimate.

    The check of doubtful labels ends with this estimate, so it is not advised twice.
    """
    command, rows = labels_command(config), evaluation.data.training_rows or 0
    if (
        command is None
        or evaluation.label_doubts is not None
        or rows < fewest_rows(len(evaluation.class_names))
        or evaluation.metrics.accuracy.value == 1
    ):
        return None
    return NextStep(text="Estimate how far more labelled rows would improve counting.", command=command)
