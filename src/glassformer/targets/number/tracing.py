"""From the score of a text to its number, in a trace."""

from collections.abc import Iterator

import numpy as np

from glassformer.data.arrays import Array
from glassformer.targets.number.explanation import AskedNumber
from glassformer.targets.number.target import Number, NumberAnswers
from glassformer.tracing.steps import Matrix, Outcome, matrix

SCORE = "score"


def outcome(target: Number, answers: NumberAnswers) -> Outcome:
    asked = AskedNumber.of(target, answers)
    return Outcome(names=(target.column,), label=target.column, rival=None, direction=np.ones(1), answer=asked.headline)


def steps(target: Number, name: str, scores: Array) -> Iterator[Matrix]:
    deviation = target.scale.deviation
    in_unit, base = scores * deviation, np.array([target.base])
    yield matrix("scale", "in_unit", in_unit, name, factor=deviation)
    yield matrix("weight", "base", base)
    yield matrix("add", "number", in_unit + base, "in_unit", "base")
