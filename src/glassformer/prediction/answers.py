"""The answers of a model to some texts. Without PyTorch, which exported models do not need."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from glassformer.data.arrays import BoolArray, FloatArray
from glassformer.prediction.probabilities import THRESHOLD, confidences_of
from glassformer.prediction.unlike import Seen

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
        readers: the logits (texts, n_classes) of each reader, divided by the temperature. `probs` are the probabilities
            of their sum.
        texts: the texts. Needed for `unseen` and `unlike` alone, as is `seen`.
        seen: the words of the training texts. None if the model does not know them: it was made by an older version.
        review_below: an answer of a lower confidence needs review. None: nobody asked.
        find_unknown: computes `unknown`.
    """

    labels: tuple[Any, ...]
    multilabel: bool
    probs: FloatArray
    empty: BoolArray
    readers: Mapping[Reader, FloatArray]
    texts: Sequence[str] = ()
    seen: Seen | None = None
    review_below: float | None = None
    find_unknown: Callable[[], Counter[str]] = Counter

    @cached_property
    def unknown(self) -> Counter[str]:
        """The words that are not in the vocabulary, each with the number of texts that it occurs in.

        Empty if the model answers by counting alone. They are found when they are first asked for.
        """
        return self.find_unknown()

    @cached_property
    def unseen(self) -> FloatArray | None:
        """The share of unseen words and word pairs of each text (see `Seen`): (texts,); None without `seen`.

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
        return confidences_of(self.probs, multilabel=self.multilabel)

    @property
    def needs_review(self) -> BoolArray | None:
        """Which answers have a lower confidence than `review_below` (texts,). None without `review_below`."""
        return None if self.review_below is None else self.confidences() < self.review_below

    def label_sets(self, least: float) -> list[list[Any]]:
        """Return the labels of each text with at least this probability, the most probable one first.

        Args:
            least: see `Thresholds.label_threshold`.
        """
        return [[label for label, prob in self.ranked(row) if prob >= least] for row in range(len(self.probs))]

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
        those of `unseen` and `unlike`, or null. With `review_below` there is `needs_review` too.
        """
        confidences, margins = self.confidences(), self.margins() if len(self.readers) > 1 else {}
        unseen, unlike, review = self.unseen, self.unlike, self.needs_review
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
            if review is not None:
                record["needs_review"] = bool(review[row]) if known else None
            yield record

    def lines(self, rows: Iterable[Mapping[str, Any]], top_k: int | None = None) -> Iterator[str]:
        """Yield a line of JSON for each text: the given row, then its record."""
        for row, record in zip(rows, self.records(top_k), strict=True):
            yield json.dumps({**row, **record}, ensure_ascii=False)
