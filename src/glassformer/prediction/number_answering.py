"""Answer texts with a number and an interval. Subclasses say how the transformer computes.

Without PyTorch, which exported models do not need.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from glassformer.counting.reader import CountingReader
from glassformer.data.arrays import BoolArray
from glassformer.data.inputs import Inputs
from glassformer.data.tokenizers import UNKNOWN_ID, TextTokenizer
from glassformer.data.wording import counted
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.answers import Reader
from glassformer.prediction.number_readers import HeldOutNumbers, NumberReaders, Scale
from glassformer.prediction.review import percent_of
from glassformer.prediction.unlike import Seen

if TYPE_CHECKING:
    import polars as pl

Numbers = np.ndarray[Any, np.dtype[np.float64]]

COVERAGE = 0.9
"""The share of right numbers that the intervals of answers should hold."""
COLUMNS = ["prediction", "interval_low", "interval_high", "unseen_share", "unlike_training"]
"""The keys of an answer in a table or in JSON."""


@dataclass(frozen=True, kw_only=True)
class NumberAnswers:
    """The answers to some texts. A text of white space only gets no answer.

    Attributes:
        values: (texts,)
        distance: half of the width of the interval around each value. None if the model does not know it.
        readers: what each reader adds to the value of each text. The rest is the same for all texts.
    """

    values: Numbers
    distance: float | None
    readers: Mapping[Reader, Numbers]
    empty: BoolArray
    texts: Sequence[str]
    seen: Seen | None
    find_unknown: Callable[[], Counter[str]] = Counter

    @cached_property
    def unknown(self) -> Counter[str]:
        """The words that are not in the vocabulary, each with the number of texts that it occurs in."""
        return self.find_unknown()

    @cached_property
    def _unseen(self) -> np.ndarray[Any, Any] | None:
        return None if self.seen is None else self.seen.unseen_shares(self.texts)

    @property
    def unlike(self) -> BoolArray | None:
        """Which texts are unlike the training data. None if the model does not know."""
        if self.seen is None or self._unseen is None:
            return None
        return self.seen.is_unlike(self._unseen) & ~self.empty

    def columns(self) -> pl.DataFrame:
        """Return the columns `COLUMNS`, with a row for each text. They are null for an empty text."""
        import polars as pl  # tables are an extra where PyTorch is missing

        rows = [[record[name] for name in COLUMNS] for record in self.records()]
        types = {name: pl.Boolean if name == "unlike_training" else pl.Float64 for name in COLUMNS}
        return pl.DataFrame(rows, schema=types, orient="row")

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the JSON of each answer: `COLUMNS`, and with two readers `readers`."""
        unlike = self.unlike
        for row, value in enumerate(self.values.tolist()):
            if self.empty[row]:
                yield dict.fromkeys(COLUMNS) | ({"readers": None} if len(self.readers) > 1 else {})
                continue
            away = self.distance
            record: dict[str, Any] = {
                "prediction": significant(value),
                "interval_low": None if away is None else significant(value - away),
                "interval_high": None if away is None else significant(value + away),
                "unseen_share": None if self._unseen is None else round(float(self._unseen[row]), 6),
                "unlike_training": None if unlike is None else bool(unlike[row]),
            }
            if len(self.readers) > 1:
                record["readers"] = {name: significant(float(added[row])) for name, added in self.readers.items()}
            yield record

    def lines(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        """Yield a line of JSON for each text: the given row, then its record."""
        for row, record in zip(rows, self.records(), strict=True):
            yield json.dumps({**row, **record}, ensure_ascii=False)


class NumberConfig(Protocol):
    """What the answers of a model of a number depend on."""

    @property
    def target(self) -> str: ...
    @property
    def scale(self) -> Scale: ...
    @property
    def readers(self) -> NumberReaders: ...
    @property
    def inputs(self) -> Inputs | None: ...
    @property
    def answers_by_counting(self) -> bool: ...


class AnswerableNumber(Protocol):
    """A model of a number without its transformer."""

    @property
    def config(self) -> NumberConfig: ...
    @property
    def tokenizer(self) -> TextTokenizer: ...
    @property
    def counting(self) -> CountingReader | None: ...
    @property
    def seen(self) -> Seen | None: ...


class NumberAnswering(ABC):
    """Answers texts with a number."""

    trained: AnswerableNumber

    @property
    @abstractmethod
    def max_seq_len(self) -> int:
        """The most tokens that the transformer reads at once, with the start token."""

    @property
    @abstractmethod
    def text_column(self) -> str | None:
        """The column of the training table that the texts came from. None if they came from memory."""

    @property
    @abstractmethod
    def held_out(self) -> HeldOutNumbers | None:
        """The answers to held-out rows. None if no rows were held out."""

    @abstractmethod
    def _transformer(self, texts: Sequence[str], on_progress: Callable[[float], None] | None) -> Numbers:
        """Return the answers of the transformer on the scale of training: (texts,)."""

    def distance(self, coverage: float = COVERAGE) -> float | None:
        """Return the distance from an answer within which the right number should lie. None if it is not known.

        Args:
            coverage: the share of the right numbers, from 0.01 to 0.99 in whole percents.

        Raises:
            UsageError: it is not such a share.
        """
        place = percent_of(coverage, "coverage") - 1
        if place > 98:
            raise UsageError("`coverage=1`: no interval holds every number; give at most 0.99")
        return None if self.held_out is None else self.held_out.distances[place]

    def why_no_interval(self, coverage: float = COVERAGE) -> str | None:
        """Return why there are no intervals of a coverage, or None if there are."""
        if self.distance(coverage) is not None:
            return None
        if self.held_out is None:
            return "no rows were held out in training"
        rows = counted(self.held_out.rows, "row was", "rows were")
        return f"{rows} held out in training, and intervals of {coverage:.0%} need at least {rows_needed(coverage)}"

    def read(self, texts: Sequence[str], on_progress: Callable[[float], None] | None = None) -> dict[Reader, Numbers]:
        """Return the answers of each reader on the scale of training: (texts,).

        Beside another reader, one of weight 0 is not asked.
        """
        counting, found, weights = self.trained.counting, dict[Reader, Numbers](), self.trained.config.readers
        if counting is not None and (weights.counting or not weights.transformer):  # one reader is always asked
            found["counting"] = counting.logits(texts)[:, 0].astype(np.float64)
        if weights.transformer or counting is None:
            found["transformer"] = self._transformer(texts, on_progress)
        return found

    def added(self, by_reader: Mapping[Reader, Numbers]) -> dict[Reader, Numbers]:
        """Return what each reader of `read` adds to the answer, in the unit of the number: (texts,)."""
        config = self.trained.config
        weights = {"counting": config.readers.counting or 0.0, "transformer": config.readers.transformer}
        return {name: weights[name] * values * config.scale.deviation for name, values in by_reader.items()}

    @property
    def base(self) -> float:
        """The answer to which the readers add: the mean of the training rows and the bias."""
        scale = self.trained.config.scale
        return scale.mean + self.trained.config.readers.bias * scale.deviation

    def alone(self, reader: Reader, values: Numbers) -> Numbers | None:
        """Return the answers of a reader of `read` if it answered alone. None if no rows were held out."""
        scale = self.trained.config.scale
        found = None if self.held_out is None else getattr(self.held_out, reader)
        return None if found is None else scale.mean + scale.deviation * (found.bias + found.weight * values)

    def total(self, by_reader: Mapping[Reader, Numbers]) -> Numbers:
        """Return the answers of the model from those of its readers: (texts,).

        Raises:
            GlassformerError: an answer is NaN or infinite.
        """
        values: Numbers = self.base + np.sum(list(self.added(by_reader).values()), axis=0)
        if not np.isfinite(values).all():
            raise GlassformerError("the model gives NaN or infinite numbers: its weights are damaged")
        return values

    def answer(
        self,
        texts: Sequence[str],
        *,
        coverage: float = COVERAGE,
        on_progress: Callable[[float], None] | None = None,
    ) -> NumberAnswers:
        """Return a number for each text, with an interval that should hold the right number of this share of texts."""
        by_reader = self.read(texts, on_progress)
        return NumberAnswers(
            values=self.total(by_reader),
            distance=self.distance(coverage),
            readers=self.added(by_reader),
            empty=np.array([not text.strip() for text in texts], dtype=np.bool_),
            texts=texts,
            seen=self.trained.seen,
            find_unknown=partial(self._unknown_words, texts),
        )

    def _unknown_words(self, texts: Sequence[str]) -> Counter[str]:
        if self.trained.config.answers_by_counting:
            return Counter()
        tokenizer = self.trained.tokenizer
        return Counter(
            word
            for text, row in zip(texts, tokenizer.encode(texts), strict=True)
            if UNKNOWN_ID in row
            for word in tokenizer.unknown_words(text)
        )


def rows_needed(coverage: float) -> int:
    """Return how many held-out rows intervals of a coverage need: the smallest n with ⌈(n + 1) · coverage⌉ ≤ n."""
    percent = percent_of(coverage, "coverage")
    return -(-percent // (100 - percent))


def significant(value: float) -> float:
    """Round to six significant digits."""
    return float(f"{value:.6g}")
