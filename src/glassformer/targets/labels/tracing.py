"""From the logits of a text to its probabilities, in a trace."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from glassformer.data.arrays import Array
from glassformer.data.wording import percent
from glassformer.targets.labels.answers import LabelAnswers
from glassformer.targets.labels.explanation import AskedLabel
from glassformer.targets.labels.target import Labels
from glassformer.targets.probabilities import probabilities
from glassformer.tracing.steps import Matrix, Outcome, TracedTarget, matrix


def _outcome(target: Labels, answers: LabelAnswers) -> Outcome:
    asked = AskedLabel.of(target, answers)
    return Outcome(
        names=tuple(map(str, target.labels)),
        label=str(asked.label),
        rival=None if asked.rival is None else str(asked.rival),
        direction=np.sign(asked.direction),
        answer=f"{asked.label} ({percent(asked.probability)})",
    )


def _steps(target: Labels, name: str, logits: Array) -> Iterator[Matrix]:
    calibrated = logits / target.temperature
    yield matrix("divide", "calibrated", calibrated, name, divisor=target.temperature)
    probs = probabilities(calibrated[None], multilabel=target.multilabel)[0]
    yield matrix("sigmoid" if target.multilabel else "softmax", "probabilities", probs, "calibrated")


PART = TracedTarget(score="logit", outcome=_outcome, steps=_steps)
