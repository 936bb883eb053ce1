"""The answers of a model to some texts. Without PyTorch, which exported models do not need."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from glassformer.data.arrays import BoolArray, FloatArray
from glassformer.readers.counting.unlike import Seen

if TYPE_CHECKING:
    import polars as pl

Scores = np.ndarray[Any, Any]

UNLIKE: dict[str, type] = {"unseen_share": float, "unlike_training": bool}
"""The last keys of each answer, in a table and in JSON."""


@dataclass(frozen=True, kw_only=True)
class Answers(ABC):
    """The answers of a model to some texts.

    A text of white space only gets no answer: its prediction is None, and its record holds nulls.

    Attributes:
        empty: (texts,) which texts are white space only.
        readers: what each reader adds to the scores of each text.
        texts: the texts. Needed for `unseen` and `unlike` alone, as is `seen`.
        seen: the words of the training texts. None if the model does not know them.
        find_unknown: computes `unknown`.
    """

    per_text: ClassVar[tuple[str, ...]]
    """The names of the arrays with a row for each text, besides `empty`."""
    keys: ClassVar[tuple[str, ...]]
    """The keys of `_record` after the prediction."""
    text_columns: ClassVar[tuple[str, ...]]
    """The columns that hold words, and not numbers."""

    empty: BoolArray
    readers: Mapping[str, Scores]
    texts: Sequence[str] = ()
    seen: Seen | None = None
    find_unknown: Callable[[], Counter[str]] = Counter

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        first, names = parts[0], ("empty", *cls.per_text)
        arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return replace(
            first,
            texts=[text for part in parts for text in part.texts],
            find_unknown=lambda: sum((part.unknown for part in parts), Counter()),
            readers={name: np.concatenate([part.readers[name] for part in parts]) for name in first.readers},
            **arrays,
        )

    @cached_property
    def unknown(self) -> Counter[str]:
        """The words that are not in the vocabulary, each with the number of texts that it occurs in.

        Empty if the model does not ask its transformer. They are found when they are first asked for.
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

    @property
    def needs_review(self) -> BoolArray | None:
        """Which answers a person should see (texts,). None if nobody asked."""
        return None

    @abstractmethod
    def predictions(self) -> list[Any]:
        """Return the answer to each text, None for an empty one."""

    @abstractmethod
    def counts(self) -> Counter[str]:
        """Return how often each answer was given, if there are only some."""

    @abstractmethod
    def cells(self, row: int, top_k: int | None) -> list[str]:
        """Return what a person is shown of an answer."""

    @property
    def record_keys(self) -> list[str]:
        """The names that a record may hold."""
        review = [] if self.needs_review is None else ["needs_review"]
        return ["prediction", *self.keys, "readers", *UNLIKE, *review]

    @abstractmethod
    def _record(self, row: int, top_k: int | None) -> dict[str, Any]:
        """Return the prediction of a text and what belongs to it."""

    @abstractmethod
    def _added(self) -> dict[str, list[float]]:
        """Return what each reader adds to the prediction of each text: (texts,)."""

    def records(self, top_k: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the JSON of each answer.

        With several readers there is also `readers`: what each adds to the prediction. At the end, `unseen_share` and
        `unlike_training` are those of `unseen` and `unlike`, or null. If asked for, there is `needs_review` too.
        """
        added = self._added() if len(self.readers) > 1 else {}
        unseen, unlike, review = self.unseen, self.unlike, self.needs_review
        for row, empty in enumerate(self.empty.tolist()):
            record = dict.fromkeys(["prediction", *self.keys]) if empty else self._record(row, top_k)
            if added:
                record["readers"] = None if empty else {name: each[row] for name, each in added.items()}
            record["unseen_share"] = None if empty or unseen is None else round(float(unseen[row]), 6)
            record["unlike_training"] = None if empty or unlike is None else bool(unlike[row])
            if review is not None:
                record["needs_review"] = None if empty else bool(review[row])
            yield record

    def lines(self, rows: Iterable[Mapping[str, Any]], top_k: int | None = None) -> Iterator[str]:
        """Yield a line of JSON for each text: the given row, then its record."""
        for row, record in zip(rows, self.records(top_k), strict=True):
            yield json.dumps({**row, **record}, ensure_ascii=False)

    def columns(self) -> pl.DataFrame:
        """Return the answers as columns of a table, with a row for each text. All are null for an empty text.

        The last two say whether the text is unlike the training data. They are null if the model does not know. If
        asked for, there is `needs_review` too.
        """
        import polars as pl  # tables are an extra where PyTorch is missing

        columns = self._columns()
        # In float64, a share of six decimals is written with six digits.
        columns["unseen_share"] = None if self.unseen is None else [round(share, 6) for share in self.unseen.tolist()]
        columns["unlike_training"] = None if self.unlike is None else self.unlike.tolist()
        if (review := self.needs_review) is not None:
            columns["needs_review"] = review.tolist()
        types: dict[str, Any] = {"unlike_training": pl.Boolean, "needs_review": pl.Boolean}
        types |= dict.fromkeys(self.text_columns, pl.String)
        unknown = [None] * len(self.empty)
        added = pl.DataFrame(
            {name: unknown if values is None else values for name, values in columns.items()},
            schema={name: types.get(name, pl.Float64) for name in columns},
        )
        return added.select(pl.when(pl.Series(~self.empty)).then(pl.all()))

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """Return the prediction of each text and what belongs to it, by the names of columns. None means unknown."""
