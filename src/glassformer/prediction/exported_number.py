"""An exported model that answers with a number, without PyTorch. Its folder has the files that `exported.py` lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from glassformer.counting.reader import CountingReader
from glassformer.data.inputs import Inputs
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.prediction.exported import (
    MODEL_FILE,
    open_session,
    read_config,
    read_tokenizer,
    read_windows,
    score_windows,
)
from glassformer.prediction.number_answering import NumberAnswering, Numbers
from glassformer.prediction.number_readers import HeldOutNumbers, NumberReaders, Scale
from glassformer.prediction.unlike import Seen, UnlikeConfig


class ExportedNumberConfig(BaseModel):
    """`config.json` of an exported model of a number."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format: Literal["glassformer-onnx-number"] = "glassformer-onnx-number"
    format_version: Literal[1] = 1
    vocab_size: int
    tokenizer: TokenizerConfig
    target: str
    scale: Scale
    readers: NumberReaders
    unlike: UnlikeConfig | None = None
    inputs: Inputs | None = Field(default=None, exclude_if=lambda inputs: inputs is None)
    max_seq_len: int = Field(ge=2)
    """The most tokens that the transformer reads at once, with the start token."""
    text_column: str | None = None
    """The column of the training table that the texts came from."""
    held_out: HeldOutNumbers | None = None
    """The answers to held-out rows."""
    parameters: int = 0
    """Of the transformer. 0 if the model answers by counting alone."""
    made_of: dict[str, Any]
    """The model folder that was exported: when it was made, its versions, and its training data."""
    checked: dict[str, Any]
    """How the export was compared with the model."""

    @property
    def answers_by_counting(self) -> bool:
        """Whether the counting reader answers alone."""
        return self.readers.counting_alone


@dataclass(frozen=True, kw_only=True)
class ExportedNumber:
    """An exported model of a number.

    Attributes:
        session: runs the transformer. None if the model answers by counting alone.
    """

    config: ExportedNumberConfig
    tokenizer: TextTokenizer
    session: Any
    counting: CountingReader | None
    seen: Seen | None


class ExportedNumberPredictor(NumberAnswering):
    """Answers texts with an exported model of a number."""

    trained: ExportedNumber

    def __init__(self, exported: ExportedNumber) -> None:
        self.trained = exported

    @classmethod
    def load(cls, folder: Path) -> ExportedNumberPredictor:
        """Read an exported model (raises what `ExportedPredictor.load` raises)."""
        config = read_config(folder / "config.json", ExportedNumberConfig)
        counts = config.readers.counting is not None
        return cls(
            ExportedNumber(
                config=config,
                tokenizer=read_tokenizer(folder, config.vocab_size),
                session=None if config.answers_by_counting else open_session(folder / MODEL_FILE, 1),
                counting=CountingReader.load(folder, n_classes=1, multilabel=False) if counts else None,
                seen=None if config.unlike is None else Seen.load(folder, config.unlike),
            )
        )

    @property
    def max_seq_len(self) -> int:
        return self.trained.config.max_seq_len

    @property
    def text_column(self) -> str | None:
        return self.trained.config.text_column

    @property
    def held_out(self) -> HeldOutNumbers | None:
        return self.trained.config.held_out

    def _transformer(self, texts: Sequence[str], on_progress: Callable[[float], None] | None) -> Numbers:
        found = score_windows(
            partial(read_windows, self.trained.session),
            self.trained.tokenizer.encode(texts),
            max_seq_len=self.max_seq_len,
            n_classes=1,
            on_progress=on_progress,
        )
        return found[:, 0].astype(np.float64)
