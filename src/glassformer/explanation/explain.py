"""Explain an answer: what each word adds to it, by both readers, and how far that can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from glassformer.errors import UsageError, brief_value
from glassformer.explanation.attribution import METHODS, FloatArray, TokenReading
from glassformer.explanation.counting import NgramShare, counted_shares
from glassformer.explanation.faithfulness import Faithfulness, measure_faithfulness
from glassformer.explanation.words import NO_WORD, TextInWords
from glassformer.prediction.predictor import Predictor

DEFAULT_METHOD = "integrated-gradients"
_NGRAMS_SHOWN = 10
FAITHFUL = 0.9
"""From this score on, the shares of an explanation are said to be trustworthy."""


@dataclass(frozen=True, kw_only=True)
class WordShare:
    """What a word adds to the margin, in logits. `text[start:end]` is the word."""

    word: str
    start: int
    end: int
    counting: float
    transformer: float

    @property
    def total(self) -> float:
        return self.counting + self.transformer


@dataclass(frozen=True, kw_only=True)
class NgramInMargin:
    """What an n-gram adds to the margin by counting, in logits, and how often it occurs."""

    ngram: str
    count: int
    share: float


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why a model prefers one label to another for a text.

    The margin is the logit of `label` minus that of `rival`: the logarithm of the ratio of their probabilities. With
    several labels per text there is no rival, and the margin is the logit of `label`. It is the sum of the shares of
    all words, `nothing` and `error`.

    Attributes:
        probability: that of `label`.
        words: in the order of the text.
        nothing: what a text without known words would get: the bias of counting, and the transformer's margin for the
            same text with unknown words.
        error: what the method leaves unexplained. The shares of counting are exact.
        ngrams: those that move the margin most by counting, either way.
        faithfulness: None if the text has too few words for it.
    """

    text: str
    label: Any
    rival: Any
    probability: float
    margin: float
    words: tuple[WordShare, ...]
    nothing: float
    error: float
    ngrams: tuple[NgramInMargin, ...]
    method: str
    faithfulness: Faithfulness | None

    @property
    def readers(self) -> tuple[str, ...]:
        """The readers that take part in the answer: `counting`, `transformer` or both."""
        return tuple(name for name in ("counting", "transformer") if any(getattr(word, name) for word in self.words))

    @property
    def trusted(self) -> bool | None:
        """Whether the shares can be trusted. None if that was not checked."""
        return None if self.faithfulness is None else self.faithfulness.score >= FAITHFUL

    @property
    def verdict(self) -> str:
        """A sentence that says how far the shares can be trusted."""
        found = self.faithfulness
        if found is None:
            return "The text has too few words to check the shares by deleting some of them."
        checked = (
            f"By deletion of words, the shares did better than {found.score * found.rankings:.0f} of {found.rankings}"
        )
        if self.trusted:
            return f"{checked} random rankings, so they can be trusted."
        return f"{checked} random rankings only, so do not rely on them."

    def _repr_html_(self) -> str:
        """Show the page in a notebook, in a frame of its own."""
        from glassformer.explanation.page import render

        return f'<iframe srcdoc="{escape(render(self))}" style="width: 100%; height: 28rem; border: 0"></iframe>'

    def as_json(self) -> dict[str, Any]:
        """Return the explanation as JSON values."""
        found = asdict(self)
        found["words"] = [asdict(word) | {"total": word.total} for word in self.words]
        return found


def explain(
    predictor: Predictor, text: str, *, label: Any = None, method: str = DEFAULT_METHOD, faithfulness: bool = True
) -> Explanation:
    """Explain why a model gives a label to a text.

    Args:
        label: by default the most probable one. Its rival is the most probable other label.
        method: a key of `METHODS`, for the transformer.

    Raises:
        UsageError: the text is empty, there is no such label or method, or the method does not fit the model.
    """
    if method not in METHODS:
        raise UsageError(f"`method={method!r}`: no such method; choose from {', '.join(METHODS)}")
    if not text.strip():
        raise UsageError("the text is empty, so there is nothing to explain")
    (answer,) = [predictor.answer([text])]
    config = predictor.trained.config
    first, rival = _labels(answer.probs[0], list(config.labels), label, multilabel=config.multilabel)
    direction = np.zeros(config.n_classes)
    direction[first] = 1
    if rival is not None:
        direction[rival] = -1

    def margins(texts: Sequence[str]) -> FloatArray:
        found: FloatArray = predictor.logits(texts) @ direction / config.temperature
        return found

    cut = TextInWords.cut(text)
    counting, ngrams, bias = _counted(predictor, cut, direction)
    reading = _reading(predictor, cut, direction)
    transformer, nothing, error = np.zeros(len(cut.words)), bias, 0.0
    if reading is not None:
        of_tokens = METHODS[method](reading)
        np.add.at(transformer, reading.groups[reading.groups != NO_WORD], of_tokens[reading.groups != NO_WORD])
        nothing += reading.margin_of_nothing
    margin = float(margins([text])[0])
    error = margin - nothing - float((counting + transformer).sum())
    shares = counting + transformer
    return Explanation(
        text=text,
        label=config.labels[first],
        rival=None if rival is None else config.labels[rival],
        probability=float(answer.probs[0, first]),
        margin=margin,
        words=tuple(
            WordShare(word=word.text, start=word.start, end=word.end, counting=counted, transformer=attended)
            for word, counted, attended in zip(cut.words, counting.tolist(), transformer.tolist(), strict=True)
        ),
        nothing=nothing,
        error=error,
        ngrams=ngrams,
        method=method,
        faithfulness=measure_faithfulness(cut, shares, margins) if faithfulness else None,
    )


def _labels(probs: FloatArray, labels: list[Any], label: Any, *, multilabel: bool) -> tuple[int, int | None]:
    """Return the numbers of the explained label and of its rival.

    Raises:
        UsageError: there is no such label.
    """
    order = np.argsort(-probs, kind="stable").tolist()
    first = order[0]
    if label is not None:
        named = [number for number, known in enumerate(labels) if known == label or str(known) == str(label)]
        if not named:
            known = ", ".join(brief_value(each) for each in labels[:_NGRAMS_SHOWN])
            raise UsageError(f"`label={brief_value(label)}`: the model has no such label; it has {known}")
        first = named[0]
    others = [number for number in order if number != first]
    return first, None if multilabel or not others else others[0]


def _counted(
    predictor: Predictor, cut: TextInWords, direction: FloatArray
) -> tuple[FloatArray, tuple[NgramInMargin, ...], float]:
    """Return the shares of the words in the margin by counting, the strongest n-grams, and the share of the bias."""
    readers, reader = predictor.trained.config.readers, predictor.trained.counting
    if readers is None or reader is None:
        return np.zeros(len(cut.words)), (), 0.0
    scaled = direction * readers.counting.weight / predictor.trained.config.temperature
    found = counted_shares(reader, cut)
    by_share = sorted(found.ngrams, key=lambda each: -abs(float(each.logits @ scaled)))
    return (
        found.words @ scaled,
        tuple(_in_margin(each, scaled) for each in by_share[:_NGRAMS_SHOWN]),
        float(found.bias @ scaled),
    )


def _in_margin(share: NgramShare, direction: FloatArray) -> NgramInMargin:
    return NgramInMargin(ngram=share.ngram, count=share.count, share=float(share.logits @ direction))


def _reading(predictor: Predictor, cut: TextInWords, direction: FloatArray) -> TokenReading | None:
    """Return the transformer's reading of the text, or None if it does not take part in the answer."""
    config, tokenizer = predictor.trained.config, predictor.trained.tokenizer
    weight = 1.0 if config.readers is None else config.readers.transformer.weight
    if not weight:
        return None
    ids, spans = tokenizer.encode_with_offsets(cut.text)
    return TokenReading(
        model=predictor.trained.model,
        ids=np.array(ids, np.int64),
        groups=cut.of_tokens(spans),
        direction=direction * weight / config.temperature,
        max_seq_len=config.model.max_seq_len,
    )
