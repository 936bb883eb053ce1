"""The predictor: it answers texts with a trained model."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from glassformer.data.arrays import BoolArray, FloatArray, IntArray
from glassformer.data.store import TokenStore
from glassformer.models.memory import keep_large_buffers
from glassformer.prediction.answering import Answering, Given
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.prediction.nearest import NearestSearch
from glassformer.prediction.scoring import array_logits_of, score

_BUFFERS = 2**25  # bytes: enough for a batch, and what a server was sent is still returned


class Predictor(Answering[Given]):
    """Answers texts with a trained model. Scores are computed in float32."""

    trained: TrainedModel

    def __init__(self, trained: TrainedModel, *, device: str = "cpu") -> None:
        keep_large_buffers(_BUFFERS)
        self.trained = trained
        trained.model.to(device).eval()
        for reader in trained.readers.values():
            reader.to(device)

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> Predictor:
        """Read a model folder (raises what `load_model` raises)."""
        return cls(load_model(folder, CLASSIFIER), device=device)

    @property
    def max_seq_len(self) -> int:
        return self.trained.config.model.max_seq_len

    @property
    def text_column(self) -> str | None:
        remembered = self.trained.config.remembered
        return None if remembered.read_as is None else remembered.data.text_column

    @cached_property
    def held_out(self) -> Any:
        return self.trained.config.target.held_out(self.trained.metrics)

    def score(self, rows: list[IntArray], on_progress: Callable[[float], None] | None = None) -> FloatArray:
        return score(
            self.trained.model,
            TokenStore.in_memory(rows),
            max_seq_len=self.max_seq_len,
            n_classes=self.trained.config.n_classes,
            on_progress=on_progress,
        )

    def read(self, token_ids: IntArray, attention_mask: BoolArray) -> FloatArray:
        return array_logits_of(self.trained.model)(token_ids, attention_mask)

    @cached_property
    def search(self) -> NearestSearch:
        """The search among the training texts, which are read when it is first asked for."""
        return NearestSearch(self.trained)
