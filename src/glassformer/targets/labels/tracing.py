"""From the logits of a text to its probabilities, and to what answers should cost, in a trace."""

from collections.abc import Iterator

import numpy as np

from glassformer.data.arrays import Array
from glassformer.data.wording import percent
from glassformer.targets.labels.answers import LabelAnswers
from glassformer.targets.labels.explanation import AskedLabel
from glassformer.targets.labels.target import Labels
from glassformer.targets.probabilities import probabilities
from glassformer.tracing.steps import CLASSES, Matrix, Outcome, matrix

SCORE = "logit"


def outcome(target: Labels, answers: LabelAnswers) -> Outcome:
    """Return what is traced of the answer to a single text."""
    asked = AskedLabel.of(target, answers)
    return Outcome(
        names=tuple(map(str, target.labels)),
        label=str(asked.label),
        rival=None if asked.rival is None else str(asked.rival),
        direction=np.sign(asked.direction),
        answer=f"{asked.label} ({percent(asked.probability)})",
    )


def steps(target: Labels, name: str, logits: Array) -> Iterator[Matrix]:
    """Yield what follows from the logits (width,), which the step `name` gives."""
    calibrated = logits / target.temperature
    yield matrix("divide", "calibrated", calibrated, name, divisor=target.temperature)
    probs = probabilities(calibrated[None], multilabel=target.multilabel)[0]
    yield matrix("sigmoid" if target.multilabel else "softmax", "probabilities", probs, "calibrated")
    if (costs := target.rule) is None:
        return
    expected = costs.expected(probs[None])[0]
    if target.multilabel:
        yield matrix("given", "costs", costs.wrong)
        yield matrix("product", "left_out", expected[:, 0], "probabilities", "costs")
        yield matrix("complement", "given_wrongly", expected[:, 1], "probabilities")
    else:
        yield matrix("given", "costs", costs.wrong, rows=CLASSES)
        yield matrix("weighted-mean", "expected_costs", expected, "probabilities", "costs")
