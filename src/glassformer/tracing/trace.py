"""Trace one text through a classifier: both readers, how they add up, and one backward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glassformer.data.arrays import FloatArray, IntArray
from glassformer.data.inputs import refuse_several
from glassformer.data.tokenizers import START_ID
from glassformer.errors import UsageError
from glassformer.prediction.predictor import Predictor
from glassformer.readers.counting.reader import CountingReader, spread
from glassformer.targets.labels.target import labels_of
from glassformer.targets.probabilities import probabilities
from glassformer.tracing.hearing import hear
from glassformer.tracing.planning import plan
from glassformer.tracing.steps import BACKWARDS, CLASSES, NGRAMS, TOKENS, Step

MOST_NUMBERS = 3_000_000
"""The most numbers that a trace holds of activations, and again of weights. A page with all of them has 50 MB."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """A step with its numbers.

    Attributes:
        values: the shape is that of `step.axes`.
        gradient: of the margin (see `Trace`), in the same shape. None where there is none: the counting reader,
            and tables that are not learned.
    """

    step: Step
    values: FloatArray
    gradient: FloatArray | None = None


@dataclass(frozen=True, kw_only=True)
class Trace:
    """All matrices between a text and its probabilities, in the order in which they are computed.

    Attributes:
        tokens: of the transformer, the start token first.
        ngrams: the known n-grams of the text, in the order of the rows of `counting.ngrams`.
        label, rival: the answer and the second most probable label. The gradients are those of the margin: the logit
            of `label` minus that of `rival`, of the transformer alone if there are two readers. With several labels per
            text or a single one, there is no rival.
        by_counting: whether the model answers by counting alone. The transformer then plays no part in the answer.
        weights_left_out: how many weights are not among the matrices, because they are too many.
    """

    text: str
    tokens: tuple[str, ...]
    ngrams: tuple[str, ...]
    labels: tuple[str, ...]
    label: str
    rival: str | None
    matrices: tuple[Matrix, ...]
    by_counting: bool
    weights_left_out: int

    @property
    def note(self) -> str:
        """A sentence if the transformer plays no part in the answer; or empty."""
        if not self.by_counting:
            return ""
        return "This model answers by counting alone: its transformer is traced, but plays no part in the answer."

    def __getitem__(self, name: str) -> FloatArray:
        """Return the values of a matrix by its name."""
        return next(matrix.values for matrix in self.matrices if matrix.step.name == name)

    def __iter__(self) -> Iterator[Matrix]:
        return iter(self.matrices)


def trace(predictor: Predictor, text: str) -> Trace:
    """Trace a text through a classifier.

    Raises:
        UsageError: the text is empty or too long.
    """
    config = predictor.trained.config
    labels_of(config.target, "a trace")
    refuse_several(config.inputs, "a trace follows", "`glassformer explain` says what each input adds")
    if not text.strip():
        raise UsageError("the text is empty, so there is nothing to trace")
    token_ids, tokens = _tokens(predictor, text)
    steps = plan(predictor.trained.model)
    _check_length(predictor, steps, len(tokens))
    probs = predictor.answer([text]).probs[0]
    order = np.argsort(-probs, kind="stable").tolist()
    first, rival = order[0], None if config.multilabel or len(order) < 2 else order[1]

    def margin(logits: Tensor) -> Tensor:
        return logits[first] - (0 if rival is None else logits[rival])

    heard = hear(predictor.trained.model, steps, token_ids, margin)
    if "fixed_length" in steps[0].settings:
        tokens = (*tokens[1:], *["(padding)"] * (len(heard["token_ids"][0]) - len(tokens) + 1))
    matrices = [Matrix(step=step, values=heard[step.name][0], gradient=heard[step.name][1]) for step in steps]
    weights = sum(matrix.values.size for matrix in matrices if matrix.step.operation == "weight")
    if weights > MOST_NUMBERS:
        matrices = [matrix for matrix in matrices if matrix.step.operation != "weight"]
    ngrams, last = _after_the_logits(predictor, text, heard["logits"][0])
    labels = tuple(map(str, config.labels))
    return Trace(
        text=text,
        tokens=tokens,
        ngrams=ngrams,
        labels=labels,
        label=labels[first],
        rival=None if rival is None else labels[rival],
        matrices=(*matrices, *last),
        by_counting=config.answers_by_counting,
        weights_left_out=weights if weights > MOST_NUMBERS else 0,
    )


def _tokens(predictor: Predictor, text: str) -> tuple[IntArray, tuple[str, ...]]:
    """Return the ids of the tokens and how they are written in the text.

    Raises:
        UsageError: the text is longer than what the model reads at once.
    """
    ids, spans = predictor.trained.tokenizer.encode_with_offsets(text)
    longest = predictor.trained.config.model.max_seq_len - 1
    if len(ids) > longest:
        raise UsageError(
            f"the text has {len(ids):,} tokens, and a trace shows what the model reads at once, "
            f"at most {longest:,} tokens; give a passage of it"
        )
    written = [text[start:end] or "(end)" for start, end in spans]
    return np.array([START_ID, *ids], np.int64), ("(start)", *written)


def _check_length(predictor: Predictor, steps: Sequence[Step], length: int) -> None:
    """Refuse a text whose trace would hold too many numbers, before they are computed.

    Raises:
        UsageError: the text is too long for this model.
    """
    of_one_token = hear(predictor.trained.model, steps, np.array([START_ID]), torch.sum)
    fixed = "fixed_length" in steps[0].settings
    powers = [
        (of_one_token[step.name][0].size, 0 if fixed else step.axes.count(TOKENS) + step.axes.count(BACKWARDS))
        for step in steps
        if step.operation != "weight"
    ]

    def numbers(tokens: int) -> int:
        return sum(int(size) * tokens**power for size, power in powers)

    if numbers(length) > MOST_NUMBERS:
        longest = max((tokens for tokens in range(1, length) if numbers(tokens) <= MOST_NUMBERS), default=1) - 1
        raise UsageError(
            f"the text has {length - 1:,} tokens, and a trace of this model holds at most {longest:,}; "
            "give a passage of it"
        )


def _after_the_logits(predictor: Predictor, text: str, logits: FloatArray) -> tuple[tuple[str, ...], list[Matrix]]:
    """Return the known n-grams, and the matrices from the logits of the transformer to the probabilities."""
    config, counting = predictor.trained.config, predictor.trained.counting
    found: list[Matrix] = []

    def add(operation: str, name: str, values: FloatArray, *inputs: str, rows: str = "", **settings: Any) -> FloatArray:
        axes = (rows, CLASSES) if rows else (CLASSES,)
        step = Step(name=name, operation=operation, inputs=inputs, axes=axes, settings=settings)
        found.append(Matrix(step=step, values=values.astype(np.float32)))
        return values

    ngrams: tuple[str, ...] = ()
    total, name = logits, "logits"
    if counting is not None and config.readers is not None:
        ngrams, shares, bias = _counted(counting, text)
        add("given", "counting.ngrams", shares, rows=NGRAMS)
        add("weight", "counting.bias", bias)
        counted = add("column-sum", "counting.logits", shares.sum(axis=0) + bias, "counting.ngrams", "counting.bias")
        weights = config.readers.counting.weight, config.readers.transformer.weight
        counted = add("scale", "counting.weighted", weights[0] * counted, "counting.logits", factor=weights[0])
        attended = add("scale", "transformer.weighted", weights[1] * logits, "logits", factor=weights[1])
        total, name = add("add", "sum", counted + attended, "counting.weighted", "transformer.weighted"), "sum"
    calibrated = add("divide", "calibrated", total / config.temperature, name, divisor=config.temperature)
    probs = probabilities(calibrated[None], multilabel=config.multilabel)[0]
    add("sigmoid" if config.multilabel else "softmax", "probabilities", probs, "calibrated")
    return ngrams, found


def _counted(reader: CountingReader, text: str) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """Return the known n-grams of a text, what each adds to the logits, and the bias."""
    shares = reader.of_ngrams(text)
    values = np.array(list(shares.values()), np.float32).reshape(len(shares), reader.n_classes)
    written = tuple(f"{ngram} ({family})" for family, ngram in shares)
    return written, values, spread(reader.bias[None], reader.n_classes)[0]
