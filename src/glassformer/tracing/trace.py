"""Trace one text through a model: its readers, how they add up, and one backward pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glassformer.data.arrays import Array, FloatArray, IntArray
from glassformer.data.input_layout import Layout, tokens_written
from glassformer.data.tokenizers import START_ID
from glassformer.errors import UsageError
from glassformer.explanation.question import read_text
from glassformer.prediction.answering_config import TRANSFORMER
from glassformer.prediction.answering_config import named as named_reader
from glassformer.prediction.predictor import Predictor
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.encoder.prediction import EncoderReader
from glassformer.readers.rules.reader import RulesReader
from glassformer.tracing.body import body_steps
from glassformer.tracing.counting import counting_steps
from glassformer.tracing.hearing import hear
from glassformer.tracing.planning import plan
from glassformer.tracing.steps import (
    BACKWARDS,
    CLASSES,
    FEATURES,
    NGRAMS,
    PARTS,
    RULES,
    TOKENS,
    WORDS,
    Matrix,
    Step,
    matrix,
    with_axes,
)

MOST_NUMBERS = 3_000_000
"""The most numbers that a trace holds of activations, and again of weights. A page with all of them has 50 MB."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """All matrices between a text and its answer, in the order in which they are computed.

    Attributes:
        text: the text, or a row of several inputs as it is shown (`Layout`).
        tokens: of the transformer, the start token first.
        ngrams: the known n-grams of the text, in the order of the rows of `counting.ngrams`.
        rules: the rules that match the text, in the order of the rows of `rules.matched`.
        words: of the body, in the order of the rows of `body.words`; with how many pieces an unknown one is read.
        parts: the known words and pieces, in the order of the rows of `body.parts`.
        label, rival: the answer and the second most probable label. The gradients are those of the margin: the logit
            of `label` minus that of `rival`, of the transformer alone if there are several readers. With several labels
            per text or a single one, there is no rival. Of a number, `label` is its column.
        score: what a score is called: a logit, for labels.
        weights_left_out: how many weights are not among the matrices, because they are too many.
    """

    text: str
    tokens: tuple[str, ...]
    ngrams: tuple[str, ...]
    rules: tuple[str, ...]
    words: tuple[str, ...]
    parts: tuple[str, ...]
    labels: tuple[str, ...]
    label: str
    rival: str | None
    score: str
    answer: str
    matrices: tuple[Matrix, ...]
    asked: tuple[str, ...]
    weights_left_out: int

    @property
    def note(self) -> str:
        """A sentence if the transformer plays no part in the answer; or empty."""
        if TRANSFORMER in self.asked:
            return ""
        others = " and ".join(map(named_reader, self.asked))
        return f"This model answers by {others} alone: its transformer is traced, but plays no part in the answer."

    @property
    def answering(self) -> tuple[Matrix, ...]:
        """The matrices without those of a transformer that plays no part in the answer."""
        if TRANSFORMER in self.asked:
            return self.matrices
        names, weighted = [matrix.step.name for matrix in self], f"{TRANSFORMER}.weighted"
        others = self.matrices[names.index("logits") + 1 :]
        return tuple(each for each in others if weighted not in (each.step.name, *each.step.inputs))

    def __getitem__(self, name: str) -> FloatArray:
        """Return the values of a matrix by its name. Raises `KeyError` if there is none."""
        return {matrix.step.name: matrix.values for matrix in self.matrices}[name]

    def __iter__(self) -> Iterator[Matrix]:
        return iter(self.matrices)


def trace(predictor: Predictor, text: str | Mapping[str, Any]) -> Trace:
    """Trace a text through a model.

    Args:
        text: a text, or of a model that reads several inputs a row.

    Raises:
        InputError: the text is empty or not a string.
        UsageError: the text is too long.
    """
    config, text = predictor.trained.config, read_text(predictor, text)
    kind = config.target.part("tracing")
    layout = Layout.of(text, config.inputs)
    token_ids, tokens = _tokens(predictor, text, layout)
    steps = plan(predictor.trained.model)
    _check_length(predictor, steps, len(tokens))
    outcome = kind.outcome(config.target, predictor.answer([text]))
    direction = torch.from_numpy(outcome.direction).float()

    def margin(scores: Tensor) -> Tensor:
        return scores.float() @ direction.to(scores.device)

    heard = hear(predictor.trained.model, steps, token_ids, margin)
    if "fixed_length" in steps[0].settings:
        tokens = (*tokens[1:], *["(padding)"] * (len(heard["token_ids"][0]) - len(tokens) + 1))
    matrices = [Matrix(step=step, values=heard[step.name][0], gradient=heard[step.name][1]) for step in steps]
    weights = sum(matrix.values.size for matrix in matrices if matrix.step.operation == "weight")
    if weights > MOST_NUMBERS:
        matrices = [matrix for matrix in matrices if matrix.step.operation != "weight"]
    names, last = _after_the_scores(predictor, text, heard["logits"][0])
    return Trace(
        text=layout.text,
        tokens=tokens,
        ngrams=names.get(NGRAMS, ()),
        rules=names.get(RULES, ()),
        words=names.get(WORDS, ()),
        parts=names.get(PARTS, ()),
        labels=outcome.names,
        label=outcome.label,
        rival=outcome.rival,
        score=kind.SCORE,
        answer=outcome.answer,
        matrices=(*matrices, *last),
        asked=config.asked,
        weights_left_out=weights if weights > MOST_NUMBERS else 0,
    )


def _tokens(predictor: Predictor, text: str, layout: Layout) -> tuple[IntArray, tuple[str, ...]]:
    """Return the ids of the tokens and how they are written in the text."""
    ids, spans = predictor.trained.tokenizer.encode_with_offsets(text)
    longest = predictor.trained.config.model.max_seq_len - 1
    if len(ids) > longest:
        raise UsageError(
            f"the text has {len(ids):,} tokens, and a trace shows what the model reads at once, "
            f"at most {longest:,} tokens; give a passage of it"
        )
    return np.array([START_ID, *ids], np.int64), ("(start)", *tokens_written(text, layout, spans))


def _check_length(predictor: Predictor, steps: Sequence[Step], length: int) -> None:
    """Refuse a text whose trace would hold too many numbers, before they are computed."""
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


def _after_the_scores(
    predictor: Predictor, text: str, scores: FloatArray
) -> tuple[dict[str, tuple[str, ...]], list[Matrix]]:
    """Return the names of rows by their axis, and the matrices from the transformer's scores to the answer."""
    config, counting = predictor.trained.config, predictor.trained.counting
    found: list[Matrix] = []
    names: dict[str, tuple[str, ...]] = {}
    by_reader: dict[str, tuple[str, Array]] = {}
    for reader in config.weights:
        if reader == "counting" and counting is not None:
            names[NGRAMS], steps = counting_steps(counting, text, config.inputs)
            found += steps
            by_reader[reader] = found[-1].step.name, found[-1].values
        elif isinstance(ruled := predictor.trained.readers.get(reader), RulesReader):
            names[RULES], steps = _matched(ruled, text)
            found += steps
            by_reader[reader] = found[-1].step.name, found[-1].values
        elif reader == "transformer":
            by_reader[reader] = "logits", scores
        elif isinstance(encoder := predictor.trained.readers[reader], EncoderReader):
            *given, last = _encoded(encoder, text)
            found += [*given, last]
            by_reader[reader] = last.step.name, last.values
        elif isinstance(body := predictor.trained.readers[reader], BodyReader):
            of_body, steps = body_steps(body, text, config.inputs)
            names, found = names | of_body, found + steps
            by_reader[reader] = found[-1].step.name, found[-1].values
        else:
            by_reader[reader] = f"{reader}.scores", predictor.alone(reader, [text])[0]
            found.append(matrix("given", *by_reader[reader]))
    parts = []
    weights = predictor.weights_for(text)
    for reader, weight in weights.items():
        name, values = by_reader[reader]
        if len(by_reader) > 1 or weight != 1:
            parts.append((f"{reader}.weighted", weight * values))
            found.append(matrix("scale", *parts[-1], name, factor=weight))
        else:
            parts.append((name, values))
    name, total = parts[0]
    for number, (other, values) in enumerate(parts[1:], 2):
        joined, total = "sum" if number == len(parts) else f"sum of {number}", total + values
        found.append(matrix("add", joined, total, name, other))
        name = joined
    kind = config.target.part("tracing")
    return names, [*found, *kind.steps(config.target, name, total)]


def _matched(reader: RulesReader, text: str) -> tuple[tuple[str, ...], list[Matrix]]:
    """Return the rules that match, and the matrices from what each adds to the scores."""
    (matched,) = reader.matcher.matches([text])
    values = np.zeros((len(matched), len(reader.saying.outputs)), reader.saying.precision)
    for row, (rule, added) in enumerate(reader.added(matched).items()):
        values[row, reader.rules[rule].label] = added
    return tuple(map(reader.named, matched)), [
        matrix("given", "rules.matched", values, rows=RULES),
        matrix("weight", "rules.bias", reader.bias),
        matrix("column-sum", "rules.scores", values.sum(axis=0) + reader.bias, "rules.matched", "rules.bias"),
    ]


def _encoded(reader: EncoderReader, text: str) -> tuple[Matrix, ...]:
    """Return the vector that an encoder makes of a text, the head, and the scores."""
    (vector,), head = reader.vectors([text]), reader.weights.T
    names = ("encoder.vector", "encoder.weight", "encoder.bias")
    return (
        with_axes((FEATURES,), "given", names[0], vector),
        with_axes((CLASSES, FEATURES), "weight", names[1], head),
        matrix("weight", names[2], reader.bias),
        matrix("linear-with-bias", "encoder.scores", head @ vector + reader.bias, *names),
    )
