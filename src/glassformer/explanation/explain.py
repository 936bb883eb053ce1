"""Explain an answer: what each word adds to it, by each reader, and how far this explanation can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from glassformer.data.arrays import DoubleArray
from glassformer.errors import UsageError
from glassformer.explanation.by_reader import (
    INSIDE,
    METHODS,
    ReaderShares,
    check_method,
    default_method,
    shares_by_reader,
    total_of,
)
from glassformer.explanation.counterfactual import find_counterfactual
from glassformer.explanation.exact import named
from glassformer.explanation.explanation import Explanation, Passage
from glassformer.explanation.faithfulness import RANDOM_RANKINGS, measure_faithfulness
from glassformer.explanation.neighbours import body_reader_of, near_in_body, neighbours_of
from glassformer.explanation.page import render
from glassformer.explanation.question import Question
from glassformer.explanation.reading import TokenReading, of_words
from glassformer.explanation.shares import NgramInMargin, WordShare
from glassformer.explanation.words import NO_WORD
from glassformer.prediction.answering import Answering

if TYPE_CHECKING:
    from glassformer.explanation.heads import Head
    from glassformer.prediction.nearest import NearestTexts


_NGRAMS_SHOWN = 10
_LONG, _RANKINGS_OF_LONG = 1_000, 10  # the check of a text of more words compares with fewer random rankings
_WORDS_WITH_NEIGHBOURS, _NEIGHBOURS_OF_EACH = 5, 5
_NEAREST = 5  # training texts


class _InNotebooks(Explanation):
    """An explanation that shows itself as a page."""

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own."""
        return f'<iframe srcdoc="{escape(render(self))}" style="width: 100%; height: 28rem; border: 0"></iframe>'


def explain(
    predictor: Answering,
    text: str | Mapping[str, Any],
    *,
    label: Any = None,
    above: float | None = None,
    below: float | None = None,
    method: str | None = None,
    faithfulness: bool = True,
    counterfactual: bool = False,
    heads: bool = False,
    neighbours: bool = False,
    nearest: bool = False,
) -> Explanation:
    """Explain why a model gives its answer to a text.

    Args:
        label: of a model with labels, the label that is explained, by default the most probable one. Its rival is the
            most probable other label.
        above, below: of a model of a number, where `counterfactual` moves the answer. By default out of its interval.
        method: a key of `METHODS`, for the transformer. By default `shapley`. For a text that is too long for it,
            `integrated-gradients` (see docs/how-it-works/faithfulness.md), or `occlusion` if the model was exported.
        heads: measure what each attention head adds to the margin. Empty if the transformer does not take part.
        neighbours: list the words whose embeddings, and whose vectors in the body, are nearest to those of the
            strongest words. Empty if the transformer, or the body, does not take part.
        nearest: list the training texts that are nearest to the text, if the model keeps its training texts.

    Raises:
        InputError: the text is not a string or is empty, or there is no such label.
        UsageError: there is no such method, the method or a setting does not fit the model, or the model
            does not keep its training texts. An exported model only answers: it has no `heads`, `neighbours` and
            `nearest`.
    """
    check_method(method)
    trained = predictor.trained
    model, body = getattr(trained, "model", None), body_reader_of(trained)
    asked = [name for name, value in {"heads": heads, "neighbours": neighbours, "nearest": nearest}.items() if value]
    if asked and model is None:
        raise UsageError(f"`{asked[0]}=True`: an exported model only answers; ask the model folder that it was made of")
    if not counterfactual and (above is not None or below is not None):
        raise UsageError(f"`{'below' if above is None else 'above'}=` goes with `counterfactual=True`")
    question = Question.ask(predictor, text, label=label, above=above, below=below)
    method = method or default_method(question)
    near = _nearest(predictor, question.text.text) if nearest else None
    reading, cut = question.reading, question.text
    by_reader = shares_by_reader(question, method)
    shares = total_of(by_reader)
    without = sum(each.nothing for each in by_reader.values()) + question.asked.offset
    margin, rankings = question.margin, RANDOM_RANKINGS if len(shares) <= _LONG else _RANKINGS_OF_LONG
    strongest = [
        cut.words[number].text for number in np.argsort(-np.abs(shares), kind="stable")[:_WORDS_WITH_NEIGHBOURS]
    ]
    in_body = near_in_body(trained, strongest, count=_NEIGHBOURS_OF_EACH) if neighbours else {}
    return _InNotebooks(
        text=question.layout.text,
        asked=question.asked,
        margin=margin,
        words=_words(question, by_reader),
        without_known_words=without,
        unexplained=margin - without - float(shares.sum()),
        ngrams=_ngrams(question),
        rules=() if question.ruled is None else question.ruled.told(question.direction_of("rules")),
        method=method,
        faithfulness=measure_faithfulness(cut, shares, question.margins, rankings=rankings) if faithfulness else None,
        agreement=_agreement(reading, by_reader, method) if faithfulness and reading else {},
        passages=passages_of(question),
        unlike_training=_unlike(predictor, cut.text),
        counterfactual=find_counterfactual(question, shares) if counterfactual else None,
        heads=_heads(reading, len(cut.words)) if heads and reading else (),
        neighbours=neighbours_of(model, trained.tokenizer, strongest, count=_NEIGHBOURS_OF_EACH)
        if neighbours and reading
        else {},
        near_in_body=in_body,
        near_before=body.body if in_body and body and body.origin == "continued" else None,
        nearest=near,
    )


def _unlike(predictor: Answering, text: str) -> bool | None:
    seen = predictor.trained.seen
    return None if seen is None else bool(seen.is_unlike(seen.unseen_shares([text]))[0])


def _heads(reading: TokenReading, n_words: int) -> tuple[Head, ...]:
    from glassformer.explanation.heads import heads_of  # it needs PyTorch

    return heads_of(reading, n_words)


def _nearest(predictor: Answering, text: str) -> NearestTexts:
    from glassformer.prediction.predictor import Predictor  # it needs PyTorch

    assert isinstance(predictor, Predictor)
    return predictor.search.nearest(text, count=_NEAREST)


def _words(question: Question, by_reader: Mapping[str, ReaderShares]) -> tuple[WordShare, ...]:
    found = []
    for number, word in enumerate(question.text.words):
        start, end = question.layout.span(word.start, word.end)
        shares = {name: float(each.words[number]) for name, each in by_reader.items()}
        where = question.layout.input_of(word.start)
        found.append(WordShare(word=word.text, start=start, end=end, shares=shares, input=where))
    return tuple(found)


def _agreement(reading: TokenReading, by_reader: Mapping[str, ReaderShares], method: str) -> Mapping[str, float]:
    transformer = by_reader["transformer"].words
    others = [each.words for name, each in by_reader.items() if name != "transformer"]
    return measure_agreement(reading, np.sum([0 * transformer, *others], axis=0), transformer, method)


def _ngrams(question: Question) -> tuple[NgramInMargin, ...]:
    """Return the n-grams that move the margin most by counting."""
    if question.counted is None:
        return ()
    shares = np.vecdot(question.counted.logits.astype(np.float64), question.direction_of("counting"))
    inputs, found = question.predictor.trained.config.inputs, []
    for row in np.argsort(-np.abs(shares), kind="stable")[:_NGRAMS_SHOWN]:
        (family, written), count = question.counted.ngrams[row], int(question.counted.counts[row])
        ngram, where = named(written, inputs)
        found.append(NgramInMargin(ngram=ngram, family=family, count=count, share=float(shares[row]), input=where))
    return tuple(found)


def passages_of(question: Question) -> tuple[Passage, ...]:
    """Return the passages that the transformer reads one by one. Neighbours overlap. Empty if it reads the whole text.

    The transformer's part of the margin is the mean of theirs.
    """
    reading = question.reading
    if reading is None:
        return ()
    windows, starts = reading.windows
    if len(windows) == 1:
        return ()
    margins = reading.margins_of(list(windows)).tolist()
    length = windows.shape[1] - 1
    spans = [
        question.layout.span(question.spans[first][0], question.spans[first + length - 1][1])
        for first in starts.tolist()
    ]
    return tuple(
        Passage(start=start, end=end, margin=margin) for (start, end), margin in zip(spans, margins, strict=True)
    )


COMPARED = ("integrated-gradients", "gradient-x-input", "occlusion", "leave-one-out")
"""The methods that are compared. Rollout has no direction."""
WORDS_COMPARED = 16
"""So many words of a longer text are drawn, because two of the methods read the text once for each word."""
FEWEST_WORDS = 4


def measure_agreement(
    reading: TokenReading, others: DoubleArray, transformer: DoubleArray, method: str
) -> Mapping[str, float]:
    """Return for each other method the rank correlation (Spearman) of its shares of words with these.

    Empty if there are too few words, or if a ranking is undefined because all its shares are equal.

    Args:
        others: (words,) the shares by other readers, which all methods have in common.
        transformer: (words,) the shares of the transformer by `method`.
    """
    words = np.setdiff1d(reading.groups, [NO_WORD])
    if len(words) < FEWEST_WORDS:
        return {}
    drawn = np.random.default_rng(0).permutation(words)[:WORDS_COMPARED]
    some = replace(reading, groups=np.where(np.isin(reading.groups, drawn), reading.groups, NO_WORD))
    found = {}
    for name in COMPARED:
        if name != method and not (reading.model is None and name in INSIDE):
            other = others + of_words(some, METHODS[name](some), len(others))
            found[name] = _correlation((others + transformer)[drawn], other[drawn])
    return {name: value for name, value in found.items() if value is not None}


def _correlation(first: DoubleArray, second: DoubleArray) -> float | None:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: DoubleArray) -> DoubleArray:
    """Return the rank of each value; equal values share the mean of their ranks. Without SciPy, as exports answer."""
    _, number, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle: DoubleArray = np.cumsum(counts) - (counts - 1) / 2
    return middle[number]
