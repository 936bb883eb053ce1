"""Answer texts with a number by a model folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from glassformer.data.store import TokenStore
from glassformer.prediction.model_folder import NUMBER, TrainedNumber, load_model
from glassformer.prediction.number_answering import NumberAnswering, Numbers
from glassformer.prediction.number_config import held_out_of
from glassformer.prediction.number_readers import HeldOutNumbers
from glassformer.prediction.scoring import BATCH_TOKENS, TOKENS_ON_CPU, logits_of, score


class NumberPredictor(NumberAnswering):
    """Answers texts with a trained model."""

    trained: TrainedNumber

    def __init__(self, trained: TrainedNumber, *, device: str = "cpu") -> None:
        self.trained = trained
        trained.model.to(device).eval()

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> NumberPredictor:
        """Read a model folder (raises what `load_model` raises)."""
        return cls(load_model(folder, NUMBER), device=device)

    @property
    def max_seq_len(self) -> int:
        """The most tokens that the transformer reads at once, with the start token."""
        return self.trained.config.model.max_seq_len

    @property
    def text_column(self) -> str | None:
        """The column of the training table that the texts came from. None if they came from memory."""
        remembered = self.trained.config.remembered
        return None if remembered.read_as is None else remembered.data.text_column

    @property
    def held_out(self) -> HeldOutNumbers | None:
        return held_out_of(self.trained.metrics)

    def _transformer(self, texts: Sequence[str], on_progress: Callable[[float], None] | None) -> Numbers:
        on_cpu = next(self.trained.model.parameters()).device.type == "cpu"
        answers = score(
            logits_of(self.trained.model),
            TokenStore.in_memory(self.trained.tokenizer.encode(texts)),
            max_seq_len=self.max_seq_len,
            n_classes=1,
            batch_tokens=TOKENS_ON_CPU if on_cpu else BATCH_TOKENS,
            on_progress=on_progress,
        )
        return answers[:, 0].astype(np.float64)
