"""Answers: one text, many, or a file of any size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from glassformer.data.store import TokenStore
from glassformer.errors import UsageError
from glassformer.prediction.calibration import THRESHOLD, probabilities
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.prediction.scoring import FloatArray, score


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What a model says of some texts.

    Attributes:
        probs: (texts, n_classes) calibrated; rows sum to 1, or with `multilabel` each value stands for itself.
        unknown: see `Predictor.unknown_words`.
    """

    labels: tuple[Any, ...]
    multilabel: bool
    probs: FloatArray
    unknown: Counter[str]

    def predictions(self) -> list[Any]:
        """The label of each text; with `multilabel` the list of those at or above a half."""
        if self.multilabel:
            return [[self.labels[i] for i in np.flatnonzero(row >= THRESHOLD)] for row in self.probs]
        return [self.labels[i] for i in self.probs.argmax(axis=1)]

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
        store = TokenStore.in_memory(self.trained.tokenizer.encode(texts))
        return score(
            self.trained.model,
            store,
            max_seq_len=self.trained.config.model.max_seq_len,
            n_classes=self.trained.config.n_classes,
        )

    def unknown_words(self, texts: Sequence[str]) -> Counter[str]:
        """Words that the vocabulary lacks, with the number of texts that they occur in."""
        return Counter(word for text in texts for word in self.trained.tokenizer.unknown_words(text))

    def answer(self, texts: Sequence[str]) -> Answers:
        """Calibrated probabilities and the words that were unknown."""
        config = self.trained.config
        probs = probabilities(self.logits(texts), temperature=config.temperature, multilabel=config.multilabel)
        return Answers(
            labels=config.labels,
            multilabel=config.multilabel,
            probs=probs.astype(np.float32),
            unknown=self.unknown_words(texts),
        )


def answer_frames(
    predictor: Predictor, frames: Iterator[pl.DataFrame], *, text_column: str, source: str
) -> Iterator[tuple[pl.DataFrame, Answers]]:
    """Each frame with `prediction`, `confidence` and a probability per label added; rows without a text stay blank.

    Raises:
        UsageError: a column of the table has the name of one that would be added.
    """
    labels = [str(label) for label in predictor.trained.config.labels]
    added = ["prediction", "confidence", *(f"probability_{label}" for label in labels)]
    for frame in frames:
        if taken := [name for name in added if name in frame.columns]:
            raise UsageError(f"{source} already has a column {taken[0]!r}, which the answers would add; rename it")
        texts = frame[text_column].cast(pl.String)
        filled = texts.is_not_null() & (texts.str.strip_chars() != "")
        answers = predictor.answer(texts.filter(filled).to_list())
        columns: dict[str, list[Any]] = {
            "prediction": [
                "|".join(map(str, one)) if answers.multilabel else str(one) for one in answers.predictions()
            ],
            "confidence": _rounded(answers.confidences()),
        }
        columns |= {f"probability_{label}": _rounded(answers.probs[:, i]) for i, label in enumerate(labels)}
        answered = pl.DataFrame(
            columns, schema={name: pl.String if name == "prediction" else pl.Float64 for name in added}
        )
        place = pl.select(pl.when(filled).then(filled.cum_sum() - 1)).to_series()  # null where there is no text
        yield pl.concat([frame, answered.select(pl.all().gather(place))], how="horizontal"), answers


def _rounded(probs: FloatArray) -> list[float]:
    """Six decimals, in float64, where 0.123457 is written as such."""
    return [round(value, 6) for value in probs.tolist()]
