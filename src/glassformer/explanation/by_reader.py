"""What each word adds to the margin, by each reader of a model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from glassformer.data.arrays import DoubleArray
from glassformer.errors import UsageError, brief_value
from glassformer.explanation.occluding import SHAPLEY_WORDS, leave_one_out, occlusion, shapley
from glassformer.explanation.question import Question
from glassformer.explanation.reading import TokenReading, of_words
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.counting.ngrams import words_of

EXACT = ("counting", "body", "rules")
"""The readers whose shares are exact."""
_MOST_READINGS = 200  # of a text without some of its words

Method = Callable[[TokenReading], DoubleArray]
"""What each token adds to the transformer's margin, a weighted sum of its logits: (tokens,)."""


def _looking_inside(name: str) -> Method:
    """Return a method of `gradients.py`. It is imported when it is used, because it needs PyTorch."""

    def method(reading: TokenReading) -> DoubleArray:
        if reading.model is None:
            able = ", ".join(name for name in METHODS if name not in INSIDE)
            raise UsageError(f"`method='{name.replace('_', '-')}'`: an exported model only answers; choose {able}")
        from glassformer.explanation import gradients

        return getattr(gradients, name)(reading)

    return method


METHODS: Mapping[str, Method] = {
    "shapley": shapley,
    "integrated-gradients": _looking_inside("integrated_gradients"),
    "gradient-x-input": _looking_inside("gradient_x_input"),
    "occlusion": occlusion,
    "leave-one-out": leave_one_out,
    "rollout": _looking_inside("rollout"),
}
INSIDE = {"integrated-gradients", "gradient-x-input", "rollout"}
"""The methods that look into the transformer, which an exported model does not allow."""


def check_method(method: str | None) -> None:
    """Raise `UsageError` if there is no such method."""
    if method not in (None, *METHODS):
        raise UsageError(f"`method={brief_value(method)}`: no such method; choose from {', '.join(METHODS)}")


@dataclass(frozen=True, kw_only=True)
class ReaderShares:
    """The part of the margin that comes from a reader.

    Attributes:
        words: (words,) what each word adds.
        nothing: what a text without known words would get.
    """

    words: DoubleArray
    nothing: float


def shares_by_reader(question: Question, method: str | None = None) -> dict[str, ReaderShares]:
    """Return the shares of each reader that is asked. Those of `EXACT` are exact.

    Args:
        method: a key of `METHODS`, for the transformer; see `default_method`.
    """
    method = method or default_method(question)
    found: dict[str, ReaderShares] = {}
    for name, weight in question.weights.items():
        if weight:
            found[name] = _EXPLAINED.get(name, _left_out)(question, name, method)
    return found


def total_of(shares: Mapping[str, ReaderShares]) -> DoubleArray:
    """Return what each word adds to the margin in all: (words,)."""
    return np.sum([each.words for each in shares.values()], axis=0)


def default_method(question: Question) -> str:
    """Return the method for the transformer: `shapley`, or a cheaper one for a text that is too long for it."""
    if len(question.text.words) <= SHAPLEY_WORDS:
        return "shapley"
    return "occlusion" if getattr(question.predictor.trained, "model", None) is None else "integrated-gradients"


def _counted(question: Question, name: str, method: str) -> ReaderShares:  # noqa: ARG001 (exact without a method)
    counted, direction = question.counted, question.direction_of("counting")
    assert counted is not None  # it has a weight
    return ReaderShares(words=counted.words @ direction, nothing=float(counted.bias @ direction))


def _averaged(question: Question, name: str, method: str) -> ReaderShares:  # noqa: ARG001
    reader, cut = question.predictor.trained.readers[name], question.text
    assert isinstance(reader, BodyReader)
    direction, shares = question.direction_of(name), np.zeros(len(cut.words))
    np.add.at(shares, cut.of_counted, reader.of_words(words_of(cut.text)) @ direction)
    return ReaderShares(words=shares, nothing=float(reader.bias @ direction))


def _ruled(question: Question, name: str, method: str) -> ReaderShares:  # noqa: ARG001
    ruled, direction = question.ruled, question.direction_of(name)
    assert ruled is not None  # it has a weight
    return ReaderShares(words=ruled.words @ direction, nothing=float(ruled.nothing @ direction))


def _attended(question: Question, name: str, method: str) -> ReaderShares:  # noqa: ARG001
    reading = question.reading
    assert reading is not None  # it has a weight
    shares = of_words(reading, METHODS[method](reading), len(question.text.words))
    return ReaderShares(words=shares, nothing=reading.margin_of_nothing)


def _left_out(question: Question, name: str, method: str) -> ReaderShares:  # noqa: ARG001
    """Leave out each word in turn (Li et al. 2016): of a reader, only its scores are known.

    Of a long text, neighbouring words are left out together, and share the change equally.
    """
    cut, words = question.text, range(len(question.text.words))
    runs = np.array_split(words, max(1, min(len(words), _MOST_READINGS)))
    texts = [cut.text, cut.without(words), *(cut.without(run.tolist()) for run in runs)]
    whole, nothing, *others = question.predictor.alone(name, texts) @ question.direction_of(name)
    lengths = np.array([len(run) for run in runs])
    shares = np.repeat((whole - np.array(others)) / np.maximum(lengths, 1), lengths)
    return ReaderShares(words=shares, nothing=float(nothing))


_EXPLAINED: Mapping[str, Callable[[Question, str, str], ReaderShares]] = {
    "counting": _counted,
    "body": _averaged,
    "rules": _ruled,
    "transformer": _attended,
}
"""How readers are explained that can say more than their scores."""
