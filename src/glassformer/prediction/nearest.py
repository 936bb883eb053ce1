"""The vectors that a transformer makes of whole texts, and by them, or by counting, the training texts nearest to one.

All texts that the model folder keeps are compared.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl
import torch
from torch import Tensor, nn

from glassformer.data.arrays import FloatArray, unit
from glassformer.data.batches import ModelInputs
from glassformer.data.inputs import shown
from glassformer.data.store import TokenStore
from glassformer.data.table import text_keys
from glassformer.data.wording import label_text
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.listening import listening, taps_of
from glassformer.prediction.kept_texts import HalfArray, KeptTexts
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.scoring import logits_of, mean_outputs

POOLED = "pooled"
Cosines = Callable[[str], FloatArray]


@dataclass(frozen=True, kw_only=True)
class NearText:
    """A training text, with the number of its row and its label; with several labels per text, a list of them.

    A row of several inputs is one text.

    Attributes:
        similarity: the cosine of its vector with that of the given text.
    """

    row: int
    label: Any
    text: str
    similarity: float


@dataclass(frozen=True, kw_only=True)
class NearestTexts:
    """The training texts nearest to a text.

    Attributes:
        texts: the nearest first, without the text itself. Copies with the same label are listed once.
        itself: the rows that hold the text itself, one for each of its labels. Empty if it is not a training text.
    """

    by: Literal["transformer", "counting"]
    texts: tuple[NearText, ...]
    itself: tuple[NearText, ...]

    @property
    def compared(self) -> str:
        """A phrase that says what the similarities are."""
        return (
            "cosine of the transformer's vectors" if self.by == "transformer" else "cosine of the TF-IDF of the n-grams"
        )

    @property
    def remark(self) -> str:
        """A sentence if the text itself is a training text, or if nothing is near; otherwise empty."""
        if self.itself:
            rows = " and ".join(f"row {near.row:,}, label {label_text(near.label)}" for near in self.itself)
            return f"This text is a training text: {rows}."
        return "" if self.texts else "No training text has an n-gram of this text that the model knows."


class NearestSearch:
    """Searches the training texts of a model.

    If the transformer takes part in the answers, texts are compared by the cosine of its pooled vectors, from which its
    head computes the logits. Otherwise they are compared by the TF-IDF vectors of the counting reader, from which it
    computes them (see `CountingReader.vectors`). Either way, all training texts are compared.
    """

    def __init__(self, trained: TrainedModel) -> None:
        """Read the training texts.

        Raises:
            UsageError: the model was trained without keeping them, or has no vector of a text.
            GlassformerError: a file is missing or damaged.
        """
        if trained.kept is None:
            check_has_vectors(trained.model)
            raise UsageError(
                "the model does not keep its training texts, so none can be shown; train it again with "
                "`keep_texts=True`"
            )
        self._target, self._kept = trained.config.target, trained.kept()
        self._keys = text_keys(pl.Series(self._kept.texts, dtype=pl.String)).to_list()
        by_transformer = self._kept.vectors is not None
        self._by: Literal["transformer", "counting"] = "transformer" if by_transformer else "counting"
        self._cosines = (_by_pooled if by_transformer else _by_ngrams)(trained, self._kept)

    def nearest(self, text: str, *, count: int) -> NearestTexts:
        """Return this many training texts, or as many as there are."""
        cosines, own = self._cosines(text), text_keys(pl.Series([text])).item()
        found: dict[tuple[str, str], NearText] = {}
        for number in np.argsort(-cosines, kind="stable").tolist():
            if len(found) == count or not cosines[number]:  # the others have nothing in common with the text
                break
            if self._keys[number] != own:
                near = self._near(number, cosines)
                found.setdefault((self._keys[number], label_text(near.label)), near)
        itself = [self._near(number, cosines) for number, key in enumerate(self._keys) if key == own]
        return NearestTexts(
            by=self._by,
            texts=tuple(found.values()),
            itself=tuple({label_text(near.label): near for near in reversed(itself)}.values())[::-1],
        )

    def _near(self, number: int, cosines: FloatArray) -> NearText:
        kept = self._kept
        return NearText(
            row=kept.rows[number],
            label=self._target.named(kept.labels[number]),
            text=shown(kept.texts[number]),
            similarity=float(cosines[number]),
        )


def check_has_vectors(model: nn.Module) -> None:
    """Raise `UsageError` if the model makes no vector of a text, by which texts could be compared."""
    if POOLED not in taps_of(model):  # the published designs have none
        raise UsageError(
            f"the design {type(model).__name__} makes no vector of a text, so no nearest training texts can be found"
        )


def pooled_vectors(trained: TrainedModel, texts: Sequence[str]) -> FloatArray:
    """Return the pooled vector of each text, in float32: (texts, width). A text of several windows gets their mean.

    Raises:
        ValueError: the model has no such vectors.
    """
    read = logits_of(trained.model)

    def pooled(inputs: ModelInputs) -> Tensor:
        with listening(trained.model, [POOLED]) as heard:
            read(inputs)
        return heard[POOLED]

    with torch.inference_mode():
        width = pooled(ModelInputs(torch.zeros(1, 1, dtype=torch.long), torch.ones(1, 1, dtype=torch.bool))).shape[1]
    store = TokenStore.in_memory(trained.tokenizer.encode(texts))
    return mean_outputs(pooled, store, max_seq_len=trained.config.model.max_seq_len, width=width)


def unit_vectors(trained: TrainedModel, texts: Sequence[str]) -> HalfArray | None:
    """Return the pooled vector of each text, divided by its length: (texts, width). A vector of zeros stays as it is.

    None if the transformer takes no part in the answers.

    Raises:
        ValueError: the model has no such vectors.
    """
    if trained.config.transformer_is_silent:
        return None
    return unit(pooled_vectors(trained, texts)).astype(np.float16)


def _by_pooled(trained: TrainedModel, kept: KeptTexts) -> Cosines:
    """Return a function that compares a text with all training texts by pooled vectors: (texts,)."""
    assert kept.vectors is not None
    return partial(_pooled_cosines, trained, kept.vectors.astype(np.float32))  # numpy multiplies float16 slowly


def _pooled_cosines(trained: TrainedModel, vectors: FloatArray, text: str) -> FloatArray:
    own = unit_vectors(trained, [text])
    assert own is not None
    if own.shape[1] != vectors.shape[1]:
        raise GlassformerError(
            f"the vectors of the training texts have {vectors.shape[1]:,} numbers, and the model makes "
            f"{own.shape[1]:,}; the files of the folder come from different models"
        )
    return vectors @ own[0].astype(np.float32)


def _by_ngrams(trained: TrainedModel, kept: KeptTexts) -> Cosines:
    """Return a function that compares a text with all training texts by n-grams: (texts,)."""
    from glassformer.readers.counting.matrices import tfidf_vectors  # it needs SciPy, which answers do without

    if trained.counting is None:
        raise UsageError(
            "nearest training texts are found by the transformer or by counting, and the model answers by "
            f"{trained.config.asked_in_words} alone"
        )
    vectors_of = partial(tfidf_vectors, trained.counting)
    return partial(_ngram_cosines, vectors_of, vectors_of(kept.texts))


def _ngram_cosines(vectors_of: Callable[[Sequence[str]], Any], vectors: Any, text: str) -> FloatArray:
    return (vectors @ vectors_of([text]).T).toarray()[:, 0]
