"""The predictor: it answers texts with a trained classifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from glassformer.data.store import IntArray, TokenStore
from glassformer.data.tokenizers import UNKNOWN_ID
from glassformer.prediction.calibration import THRESHOLD, probabilities
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.prediction.nearest import NearestSearch
from glassformer.prediction.scoring import BATCH_TOKENS, TOKENS_ON_CPU, FloatArray, logits_of, score
from glassformer.prediction.unlike import Seen

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
Reader = Literal["counting", "transformer"]


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers of a model to some texts.

    A text of white space only gets no answer: its prediction is None, and its record holds nulls. Its row of `probs` is
    the model's answer to a text without words.

    Attributes:
        probs: (texts, n_classes) calibrated probabilities. Rows sum to 1; with `multilabel`, each label has a
            probability of its own.
        empty: (texts,) which texts are white space only.
        unknown: see `Predictor.unknown_words`. Empty if the model answers by counting alone.
        readers: the logits (texts, n_classes) of each reader, divided by the temperature. `probs` are the probabilities
            of their sum.
        texts: the texts. Needed for `unseen` and `unlike` alone, as is `seen`.
        seen: the words of the training texts. None if the model does not know them: it was made by an older version.
    """

    labels: tuple[Any, ...]
    multilabel: bool
    probs: FloatArray
    empty: BoolArray
    unknown: Counter[str]
    readers: Mapping[Reader, FloatArray]
    texts: Sequence[str] = ()
    seen: Seen | None = None

    @cached_property
    def unseen(self) -> FloatArray | None:
        """The share of the words and word pairs of each text that no training text has: (texts,); None without `seen`.

        It is computed when it is first asked for.
        """
        return None if self.seen is None else self.seen.unseen_shares(self.texts)

    @property
    def unlike(self) -> BoolArray | None:
        """Which texts are unlike the training data: (texts,). Empty texts are not. None without `seen`."""
        if self.seen is None or self.unseen is None:
            return None
        return self.seen.is_unlike(self.unseen) & ~self.empty

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

    def margins(self) -> dict[Reader, FloatArray]:
        """Return what each reader adds to the margin of each prediction, in logits: (texts,).

        The margin is the logit of the predicted label minus that of the second most probable one, which is the
        logarithm of the ratio of their probabilities. With `multilabel` it is the logit of the least certain label,
        positive if it speaks for the decision. A reader below 0 speaks for another answer.
        """
        rows = np.arange(len(self.probs))
        if self.multilabel:
            least = np.abs(self.probs - THRESHOLD).argmin(axis=1)
            sign = np.where(self.probs[rows, least] >= THRESHOLD, 1, -1)
            return {name: sign * logits[rows, least] for name, logits in self.readers.items()}
        if self.probs.shape[1] == 1:
            return {name: logits[:, 0] for name, logits in self.readers.items()}
        first, second = np.argsort(-self.probs, axis=1, kind="stable")[:, :2].T
        return {name: logits[rows, first] - logits[rows, second] for name, logits in self.readers.items()}

    def ranked(self, row: int, top_k: int | None = None) -> list[tuple[Any, float]]:
        """Return (label, probability) for a text, the most probable label first."""
        order = np.argsort(-self.probs[row], kind="stable")[:top_k]
        return [(self.labels[i], float(self.probs[row, i])) for i in order]

    def records(self, top_k: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the JSON of each answer: `prediction`, `confidence` and `probabilities`, most probable label first.

        With two readers there is also `readers`, their `margins`. At the end, `unseen_share` and `unlike_training` are
        those of `unseen` and `unlike`, or null.
        """
        confidences, margins = self.confidences(), self.margins() if len(self.readers) > 1 else {}
        unseen, unlike = self.unseen, self.unlike
        for row, prediction in enumerate(self.predictions()):
            record: dict[str, Any] = {"prediction": None, "confidence": None, "probabilities": None}
            if not self.empty[row]:
                record = {
                    "prediction": prediction,
                    "confidence": round(float(confidences[row]), 6),
                    "probabilities": {str(label): round(prob, 6) for label, prob in self.ranked(row, top_k)},
                }
            if margins:
                shares = {name: round(float(margin[row]), 6) + 0.0 for name, margin in margins.items()}  # no −0.0
                record["readers"] = None if self.empty[row] else shares
            known = not self.empty[row]
            record["unseen_share"] = round(float(unseen[row]), 6) if known and unseen is not None else None
            record["unlike_training"] = bool(unlike[row]) if known and unlike is not None else None
            yield record


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
        return _total(self.reader_logits(texts))

    def reader_logits(
        self, texts: Sequence[str], *, on_progress: Callable[[float], None] | None = None
    ) -> dict[Reader, FloatArray]:
        """Return the weighted logits (texts, n_classes) of each reader. They add up to `logits`.

        A reader of weight 0 is not asked: its logits are 0. `on_progress` is called with the share of tokens that the
        transformer has read.
        """
        return self._read(texts, self.trained.tokenizer.encode(texts), on_progress)

    def _read(
        self, texts: Sequence[str], rows: list[IntArray], on_progress: Callable[[float], None] | None
    ) -> dict[Reader, FloatArray]:
        readers, counting = self.trained.config.readers, self.trained.counting
        if readers is None or counting is None:
            return {"transformer": self._score(rows, on_progress)}
        counted = readers.counting.weight * counting.logits(texts)
        weight = readers.transformer.weight
        return {
            "counting": counted,
            "transformer": weight * self._score(rows, on_progress) if weight else np.zeros_like(counted),
        }

    def transformer_logits(self, texts: Sequence[str]) -> FloatArray:
        """Return the logits (texts, n_classes) of the transformer alone, also of one with the weight 0."""
        return self._score(self.trained.tokenizer.encode(texts))

    def _score(self, rows: list[IntArray], on_progress: Callable[[float], None] | None = None) -> FloatArray:
        on_cpu = next(self.trained.model.parameters()).device.type == "cpu"
        return score(
            logits_of(self.trained.model),
            TokenStore.in_memory(rows),
            max_seq_len=self.trained.config.model.max_seq_len,
            n_classes=self.trained.config.n_classes,
            batch_tokens=TOKENS_ON_CPU if on_cpu else BATCH_TOKENS,
            on_progress=on_progress,
        )

    @cached_property
    def search(self) -> NearestSearch:
        """The search among the training texts, which are read when it is first asked for.

        Raises:
            UsageError: see `NearestSearch`.
        """
        return NearestSearch(self.trained)

    def unknown_words(self, texts: Sequence[str]) -> Counter[str]:
        """Return the words that are not in the vocabulary, each with the number of texts that it occurs in."""
        return Counter(word for text in texts for word in self.trained.tokenizer.unknown_words(text))

    def answer(self, texts: Sequence[str], *, on_progress: Callable[[float], None] | None = None) -> Answers:
        """Return calibrated probabilities and the unknown words.

        `on_progress` is called with the share of tokens that are done.
        """
        config = self.trained.config
        rows = self.trained.tokenizer.encode(texts)
        by_reader = self._read(texts, rows, on_progress)
        probs = probabilities(_total(by_reader), temperature=config.temperature, multilabel=config.multilabel)
        return Answers(
            labels=config.labels,
            multilabel=config.multilabel,
            probs=probs.astype(np.float32),
            readers={name: logits / config.temperature for name, logits in by_reader.items()},
            empty=np.array([not text.strip() for text in texts], dtype=np.bool_),
            texts=texts,
            seen=self.trained.seen,
            # Words are unknown to the transformer alone. Finding them tokenizes a text a second time, so only texts
            # with unknown tokens are searched.
            unknown=Counter()
            if config.answers_by_counting
            else self.unknown_words([text for text, row in zip(texts, rows, strict=True) if UNKNOWN_ID in row]),
        )


def _total(by_reader: Mapping[Reader, FloatArray]) -> FloatArray:
    """Add up the logits of the readers."""
    total: FloatArray = np.sum(list(by_reader.values()), axis=0)
    return total
