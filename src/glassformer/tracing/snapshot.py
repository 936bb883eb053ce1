"""A snapshot of a transformer in training: where it looks in a few texts, and where its words lie."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.data.arrays import Array, FloatArray, IntArray
from glassformer.data.batches import ModelInputs
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import START_ID
from glassformer.models.listening import listening, taps_of
from glassformer.models.parts import embedding_table
from glassformer.prediction.scoring import logits_of, score

_WEIGHTS = re.compile(r"blocks\.\d+\.attention\.weights")


@dataclass(frozen=True, kw_only=True)
class ShownText:
    """A text that every snapshot looks at.

    Attributes:
        row: its row in the table, from 1.
        labels: its label, or with several labels per text any number of them.
        token_ids: (tokens,) without the start token.
        tokens: how they are written, the start token first.
        cut: whether the text goes on after these tokens.
    """

    row: int
    labels: tuple[str, ...]
    token_ids: IntArray
    tokens: tuple[str, ...]
    cut: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """Rows whose mean loss is measured: their tokens, and their labels (rows,) or (rows, n_classes)."""

    store: TokenStore
    labels: Array


@dataclass(frozen=True, kw_only=True)
class Scored:
    """What the scores of the transformer alone mean.

    Attributes:
        loss: returns the mean loss of scores (rows, width) for labels.
        answers: returns the probabilities of labels, or numbers in their unit (texts, width).
        column: the column of numbers that is learned. None if labels are.
    """

    loss: Callable[[FloatArray, Array], float]
    answers: Callable[[FloatArray], Array]
    unit: str = "in nats"
    column: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """What all snapshots of a run look at.

    Attributes:
        words: word → its token.
        samples: the rows whose loss is measured, by a name for people.
    """

    source: str
    held_out: bool
    texts: tuple[ShownText, ...]
    words: Mapping[str, int]
    samples: Mapping[str, Sample]
    labels: tuple[str, ...]
    multilabel: bool
    max_seq_len: int
    scored: Scored


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """The transformer after some steps.

    Attributes:
        losses: the mean loss of each sample. With several labels per text, it is the mean over labels.
        logits: (texts, n_classes) of the transformer alone.
        attention: for each text (blocks, heads, tokens, tokens). Empty if the design shows no attention weights.
        embeddings: (words, d_model). Without words if the design learns no embeddings.
    """

    step: int
    done: float
    losses: Mapping[str, float]
    logits: FloatArray
    attention: tuple[FloatArray, ...]
    embeddings: FloatArray

    @property
    def finite(self) -> bool:
        """Whether no number is NaN or infinite."""
        return all(np.isfinite(values).all() for values in (self.logits, *self.attention, self.embeddings))


def attention_taps(model: nn.Module) -> list[str]:
    """Return the names of the taps that show attention weights (batch, heads, seq, seq), the first block first."""
    return [name for name in taps_of(model) if _WEIGHTS.fullmatch(name)]


def take(model: nn.Module, subject: Subject, *, step: int, done: float) -> Snapshot:
    """Take a snapshot. The model and the random numbers of training stay as they are."""
    read, names = logits_of(model), attention_taps(model)
    logits, attention = [], []
    for text in subject.texts:
        ids = torch.from_numpy(np.concatenate([[START_ID], text.token_ids]))[None]
        with torch.no_grad(), listening(model, names) as heard:  # without names, it hears all taps
            logits.append(_array(read(ModelInputs(ids, torch.ones_like(ids, dtype=torch.bool)))[0]))
        if names:
            attention.append(np.stack([_array(heard[name][0]) for name in names]))
    losses = {
        name: subject.scored.loss(
            score(model, sample.store, max_seq_len=subject.max_seq_len, n_classes=len(subject.labels)), sample.labels
        )
        for name, sample in subject.samples.items()
    }
    table = embedding_table(model)
    return Snapshot(
        step=step,
        done=done,
        losses=losses,
        logits=np.stack(logits),
        attention=tuple(attention),
        embeddings=np.zeros((0, 0), np.float32) if table is None else _array(table[list(subject.words.values())]),
    )


def cross_entropy(logits: FloatArray, labels: Array) -> float:
    found, truth = torch.from_numpy(logits), torch.from_numpy(labels.copy())
    if truth.ndim == 2:
        return float(F.binary_cross_entropy_with_logits(found, truth.float()))
    return float(F.cross_entropy(found, truth.long()))


def _array(tensor: Tensor) -> FloatArray:
    return tensor.detach().float().cpu().numpy().copy()
