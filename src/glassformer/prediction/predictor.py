"""The predictor: it answers texts with a trained classifier."""

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
    """The answers of a model to some texts.

    A text of white space only gets no answer: its prediction is None, and its record holds nulls. Its row of `probs` is
    the model's answer to a text without words.

    Attributes:
        probs: (texts, n_classes) calibrated probabilities. Rows sum to 1; with `multilabel`, each label has a
            probability of its own.
        empty: (texts,) which texts are white space only.
        unknown: see `Predictor.unknown_words`.
    """

    labels: tuple[Any, ...]
    multilabel: bool
    probs: FloatArray
    empty: BoolArray
    unknown: Counter[str]

    def read(self) -> list[Any]:
        """Return the label of each text, also of texts without a word.

        With `multilabel`, return a list of the labels with a probability of at least a half.
        """
        if self.multilabel:
            return [[self.labels[i] for i in np.flatnonzero(row >= THRESHOLD)] for row in self.probs]
        return [self.labels[i] for i in self.probs.argmax(axis=1)]

    def predictions(self) -> list[Any]:
        """Return the same as `read`, but None for an empty text."""
        return [None if empty else label for label, empty in zip(self.read(), self.empty, strict=True)]

    def confidences(self) -> FloatArray:
        """Return the probability of each predicted label; with `multilabel`, that of the least certain decision."""
        if self.multilabel:
            least: FloatArray = np.maximum(self.probs, 1 - self.probs).min(axis=1)
            return least
        top: FloatArray = self.probs.max(axis=1)
        return top

    def ranked(self, row: int, top_k: int | None = None) -> list[tuple[Any, float]]:
        """Return (label, probability) for a text, the most probable label first."""
        order = np.argsort(-self.probs[row], kind="stable")[:top_k]
        return [(self.labels[i], float(self.probs[row, i])) for i in order]

    def records(self, top_k: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the JSON of each answer: `prediction`, `confidence` and `probabilities`, most probable label first."""
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
    """Answers texts with a trained model. Logits are computed in float32."""

    def __init__(self, trained: TrainedModel, *, device: str = "cpu") -> None:
        self.trained = trained
        trained.model.to(device).eval()

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> Predictor:
        """Read a model folder (raises what `load_model` raises)."""
        return cls(load_model(folder, CLASSIFIER), device=device)

    def logits(self, texts: Sequence[str]) -> FloatArray:
        """Return the logits (texts, n_classes), not divided by the temperature."""
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
        """Return the words that are not in the vocabulary, each with the number of texts that it occurs in."""
        return Counter(word for text in texts for word in self.trained.tokenizer.unknown_words(text))

    def answer(self, texts: Sequence[str], *, on_progress: Callable[[float], None] | None = None) -> Answers:
        """Return calibrated probabilities and the unknown words.

        `on_progress` is called with the share of tokens that are done.
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
            # Finding unknown words tokenizes a text a second time, so only texts with unknown tokens are searched.
            unknown=self.unknown_words([text for text, row in zip(texts, rows, strict=True) if UNKNOWN_ID in row]),
        )
