"""Explain an answer: what each word adds to it, by both readers, and how far this explanation can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from glassformer.data.arrays import DoubleArray
from glassformer.errors import UsageError
from glassformer.explanation.agreement import measure_agreement
from glassformer.explanation.attribution import METHODS
from glassformer.explanation.counterfactual import find_counterfactual
from glassformer.explanation.counting import named
from glassformer.explanation.explanation import Explanation
from glassformer.explanation.faithfulness import RANDOM_RANKINGS, Faithfulness, measure_faithfulness
from glassformer.explanation.neighbours import neighbours_of
from glassformer.explanation.occluding import SHAPLEY_WORDS
from glassformer.explanation.page import render
from glassformer.explanation.passages import passages_of
from glassformer.explanation.question import Question
from glassformer.explanation.reading import TokenReading, of_words
from glassformer.explanation.shares import NgramInMargin, WordShare
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
    method: str | None = None,
    faithfulness: bool = True,
    counterfactual: bool = False,
    heads: bool = False,
    neighbours: bool = False,
    nearest: bool = False,
) -> Explanation:
    """Explain why a model gives a label to a text.

    Args:
        label: by default the most probable one. Its rival is the most probable other label.
        method: a key of `METHODS`, for the transformer. By default `shapley`. For a text that is too long for it,
            `integrated-gradients` (see docs/how-it-works/faithfulness.md), or `occlusion` if the model was exported.
        faithfulness: check the shares, by deletion of words and by other methods.
        counterfactual: search for a small change of words that turns the answer.
        heads: measure what each attention head adds to the margin. Empty if the transformer does not take part.
        neighbours: list the words whose embeddings are nearest to those of the strongest words. Empty if the
            transformer does not take part.
        nearest: list the training texts that are nearest to the text, if the model keeps its training texts.

    Raises:
        InputError: the text is not a string or is empty, or there is no such label.
        UsageError: there is no such method, the method does not fit the model, or the model
            does not keep its training texts. An exported model only answers: it has no `heads`, `neighbours` and
            `nearest`.
    """
    if method not in {None, *METHODS}:
        raise UsageError(f"`method={method!r}`: no such method; choose from {', '.join(METHODS)}")
    model = getattr(predictor.trained, "model", None)
    asked = [name for name, value in {"heads": heads, "neighbours": neighbours, "nearest": nearest}.items() if value]
    if asked and model is None:
        raise UsageError(f"`{asked[0]}=True`: an exported model only answers; ask the model folder that it was made of")
    question = Question.ask(predictor, text, label)
    in_a_long_text = "occlusion" if model is None else "integrated-gradients"
    method = method or ("shapley" if len(question.text.words) <= SHAPLEY_WORDS else in_a_long_text)
    near = _nearest(predictor, question.text.text) if nearest else None
    reading, cut = question.reading, question.text
    counting, transformer = _counting(question), _transformer(question, method)
    shares, without = counting + transformer, _without_known_words(question)
    margin = float(question.margins([cut.text])[0])
    labels = predictor.trained.config.labels
    strongest = [
        cut.words[number].text for number in np.argsort(-np.abs(shares), kind="stable")[:_WORDS_WITH_NEIGHBOURS]
    ]
    return _InNotebooks(
        text=question.layout.text,
        prediction=question.prediction,
        label=labels[question.label],
        rival=None if question.rival is None else labels[question.rival],
        probability=float(question.probs[question.label]),
        most_probable=question.label == int(question.probs.argmax()),
        margin=margin,
        words=_words(question, counting, transformer),
        without_known_words=without,
        unexplained=margin - without - float(shares.sum()),
        ngrams=_ngrams(question),
        method=method,
        faithfulness=_faithfulness(question, shares) if faithfulness else None,
        agreement=measure_agreement(reading, counting, transformer, method) if faithfulness and reading else {},
        passages=passages_of(question),
        unlike_training=_unlike(predictor, cut.text),
        counterfactual=find_counterfactual(question, shares) if counterfactual else None,
        heads=_heads(reading, len(cut.words)) if heads and reading else (),
        neighbours=neighbours_of(model, predictor.trained.tokenizer, strongest, count=_NEIGHBOURS_OF_EACH)
        if neighbours and reading
        else {},
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


def _words(question: Question, counting: DoubleArray, transformer: DoubleArray) -> tuple[WordShare, ...]:
    found = []
    for word, by_counting, attended in zip(question.text.words, counting.tolist(), transformer.tolist(), strict=True):
        start, end = question.layout.span(word.start, word.end)
        where = question.layout.input_of(word.start)
        found.append(
            WordShare(word=word.text, start=start, end=end, counting=by_counting, transformer=attended, input=where)
        )
    return tuple(found)


def _counting(question: Question) -> DoubleArray:
    """Return what each word adds to the margin by counting: (words,)."""
    if question.counted is None:
        return np.zeros(len(question.text.words))
    return question.counted.words @ question.counting_direction


def _transformer(question: Question, method: str) -> DoubleArray:
    """Return what each word adds to the margin by the transformer: (words,)."""
    reading, n_words = question.reading, len(question.text.words)
    return np.zeros(n_words) if reading is None else of_words(reading, METHODS[method](reading), n_words)


def _without_known_words(question: Question) -> float:
    """Return the margin of a text without known words."""
    reading, counted = question.reading, question.counted
    return (0.0 if reading is None else reading.margin_of_nothing) + (
        0.0 if counted is None else float(counted.bias @ question.counting_direction)
    )


def _faithfulness(question: Question, shares: DoubleArray) -> Faithfulness | None:
    rankings = RANDOM_RANKINGS if len(shares) <= _LONG else _RANKINGS_OF_LONG
    return measure_faithfulness(question.text, shares, question.margins, rankings=rankings)


def _ngrams(question: Question) -> tuple[NgramInMargin, ...]:
    """Return the n-grams that move the margin most by counting."""
    if question.counted is None:
        return ()
    shares = [(float(each.logits @ question.counting_direction), each) for each in question.counted.ngrams]
    strongest = sorted(shares, key=lambda pair: -abs(pair[0]))[:_NGRAMS_SHOWN]
    inputs, found = question.predictor.trained.config.inputs, []
    for share, each in strongest:
        ngram, where = named(each.ngram, inputs)
        found.append(NgramInMargin(ngram=ngram, family=each.family, count=each.count, share=share, input=where))
    return tuple(found)
