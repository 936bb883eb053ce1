"""Answers to texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.data.store import IntArray, TokenStore
from glassformer.data.tokenizers import UNKNOWN_ID
from glassformer.prediction.calibration import THRESHOLD, probabilities
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.prediction.scoring import FloatArray, logits_of, score

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What a model says of some texts.

    A text of white space alone gets no answer: its prediction is None, and its record holds nulls. Its row of `probs`
    is what the model says of no word at all.

    Attributes:
        probs: (texts, n_classes) calibrated; rows sum to 1, or with `multilabel` each value stands for itself.
        empty: (texts,) which texts are white space alone.
        unknown: see `Predictor.unknown_words`.
    """

    labels: tuple[Any, ...]
    multilabel: bool
    probs: FloatArray
    empty: BoolArray
    unknown: Counter[str]

    def read(self) -> list[Any]:
        """What the model says of each text, also of one without a word: its label, or with `multilabel` the list of
        those at or above a half."""
        if self.multilabel:
            return [[self.labels[i] for i in np.flatnonzero(row >= THRESHOLD)] for row in self.probs]
        return [self.labels[i] for i in self.probs.argmax(axis=1)]

    def predictions(self) -> list[Any]:
        """What the model says of each text; None for an empty one."""
        return [None if empty else label for label, empty in zip(self.read(), self.empty, strict=True)]

    def confidences(self) -> FloatArray:
        """Probability of the answer: of the label given, or with `multilabel` of the least certain decision."""
        if self.multilabel:
            least: FloatArray = np.maximum(self.probs, 1 - self.probs).min(axis=1)
            return least
        top: FloatArray = self.probs.max(axis=1)
        return top

    def ranked(self, row: int, top_k: int | None = None) -> list[tuple[Any, float]]:
        """(label, probability) of one text, the likeliest first."""
        order = np.argsort(-self.probs[row], kind="stable")[:top_k]
        return [(self.labels[i], float(self.probs[row, i])) for i in order]

    def records(self, top_k: int | None = None) -> Iterator[dict[str, Any]]:
        """The JSON of each answer: `prediction`, `confidence` and `probabilities`, the likeliest label first."""
        confidences = self.confidences()
        for row, prediction in enumerate(self.predictions()):
            if self.empty[row]:
                yield {"prediction": None, "confidence": None, "probabilities": None}
            else:
                yield {
                    "prediction": prediction,
                    "confidence": round(float(confidences[row]), 6),
                    "probabilities": {str(label): round(prob, 6) for label, prob in self.ranked(row, top_k)},
                }


class Predictor:
    """A trained model that answers. Scores are computed in float32."""

    def __init__(self, trained: TrainedModel, *, device: str = "cpu") -> None:
        self.trained = trained
        trained.model.to(device).eval()

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> Predictor:
        """Read a model folder (raises what `load_model` raises)."""
        return cls(load_model(folder, CLASSIFIER), device=device)

    def logits(self, texts: Sequence[str]) -> FloatArray:
        """Raw scores (texts, n_classes), before the temperature."""
        return self._score(self.trained.tokenizer.encode(texts))

    def _score(self, rows: list[IntArray], on_progress: Callable[[float], None] | None = None) -> FloatArray:
        return score(
            logits_of(self.trained.model),
            TokenStore.in_memory(rows),
            max_seq_len=self.trained.config.model.max_seq_len,
            n_classes=self.trained.config.n_classes,
            on_progress=on_progress,
        )

    def unknown_words(self, texts: Sequence[str]) -> Counter[str]:
        """Words that the vocabulary lacks, with the number of texts that they occur in."""
        return Counter(word for text in texts for word in self.trained.tokenizer.unknown_words(text))

    def answer(self, texts: Sequence[str], *, on_progress: Callable[[float], None] | None = None) -> Answers:
        """Calibrated probabilities and the words that were unknown.

        `on_progress` hears the share of the tokens that are read.
        """
        config = self.trained.config
        rows = self.trained.tokenizer.encode(texts)
        logits = self._score(rows, on_progress)
        probs = probabilities(logits, temperature=config.temperature, multilabel=config.multilabel)
        return Answers(
            labels=config.labels,
            multilabel=config.multilabel,
            probs=probs.astype(np.float32),
            empty=np.array([not text.strip() for text in texts], dtype=np.bool_),
            # Texts are cut a second time for the places of their words, so only those that need it.
            unknown=self.unknown_words([text for text, row in zip(texts, rows, strict=True) if UNKNOWN_ID in row]),
        )
