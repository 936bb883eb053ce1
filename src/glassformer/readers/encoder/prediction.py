"""The encoder reader: the vector that a frozen encoder makes of a text, and a linear head. `training.py` fits it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_tensors

from glassformer.data.arrays import FloatArray, IntArray, as_weights, check_is_file, read_arrays
from glassformer.data.inputs import SEPARATOR, without_columns
from glassformer.data.json_files import as_record, read_json
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import TextTokenizer
from glassformer.errors import GlassformerError
from glassformer.models.pretrained import PretrainedEncoder
from glassformer.models.text_encoder import TextEncoderConfig, build_text_encoder
from glassformer.prediction.scoring import score
from glassformer.prediction.weights_file import Described, read_weights
from glassformer.readers.reader import Reader, Rows

ENCODER_FILE, TOKENIZER_FILE, WEIGHTS_FILE, HEAD_FILE = (
    "encoder.json", "tokenizer.json", "model.safetensors", "head.safetensors"
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class TextEncoder:
    """Turns texts into vectors.

    Attributes:
        model: its weights are numbers of 16 bits, as the file has them.
        own: whether glassformer trained it. It may have learned rows that are held out.
    """

    config: TextEncoderConfig
    tokenizer: TextTokenizer
    model: PretrainedEncoder
    own: bool = False

    def encode(self, texts: Sequence[str]) -> list[IntArray]:
        """Return the token ids of each text, without the start token."""
        shown = [self.config.prompt + text for text in texts]
        return self.tokenizer.encode([text.lower() for text in shown] if self.config.lowercase else shown)

    def vectors(self, texts: Sequence[str]) -> FloatArray:
        """Return the vector of each text, (texts, dims). A text of several windows gets the mean of theirs."""
        store = TokenStore.in_memory(self.encode(texts))
        return score(self.model, store, max_seq_len=self.config.trunk.max_seq_len, n_classes=self.config.dims)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 (hex) of all that vectors depend on."""
        digest = hashlib.sha256(f"{self.config.model_dump_json()}\n{self.tokenizer.to_json()}\n".encode())
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().numpy().tobytes())
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        """Write its files. Raises `OSError` or `SafetensorError` if they cannot be written."""
        (folder / ENCODER_FILE).write_text(self.config.model_dump_json(indent=1) + "\n", encoding="utf-8")
        (folder / TOKENIZER_FILE).write_text(self.tokenizer.to_json(), encoding="utf-8")
        weights = self.model.state_dict()
        save_tensors(
            {name: tensor.cpu().half().contiguous() for name, tensor in weights.items()}, folder / WEIGHTS_FILE
        )

    @classmethod
    def load(cls, folder: Path) -> TextEncoder:
        """Read what `save` wrote.

        Raises:
            UsageError: the tokenizer has a part that is not known to be harmless.
            GlassformerError: a file is missing or damaged, or the files do not match each other.
        """
        for name in (ENCODER_FILE, TOKENIZER_FILE, WEIGHTS_FILE):
            check_is_file(folder / name)
        config = as_record(TextEncoderConfig, read_json(folder / ENCODER_FILE), folder / ENCODER_FILE)
        tokenizer = TextTokenizer.load(folder / TOKENIZER_FILE)
        if tokenizer.vocab_size != config.vocab_size:
            raise GlassformerError(f"{folder / TOKENIZER_FILE} does not match {ENCODER_FILE}; copy the folder again")
        described = Described(
            build=lambda: build_text_encoder(config).requires_grad_(False), depth=config.trunk.n_layers
        )
        return cls(config=config, tokenizer=tokenizer, model=read_weights(folder / WEIGHTS_FILE, described).eval())


@dataclass(frozen=True, kw_only=True, eq=False)
class EncoderReader(Reader):
    """A fitted encoder reader. Of several texts, each has a vector of its own, side by side. Columns are not read.

    Attributes:
        texts: how many texts a row has.
        weights: (texts · dims, width) of the head.
        bias: (width,)
    """

    encoder: TextEncoder
    weights: FloatArray
    bias: FloatArray

    @property
    def texts(self) -> int:
        return len(self.weights) // self.encoder.config.dims

    def scores(self, texts: Sequence[str]) -> FloatArray:
        return self.vectors(texts) @ self.weights + self.bias

    def shifted(self, by: FloatArray) -> EncoderReader:
        return replace(self, bias=self.bias + by)

    def to(self, device: str) -> None:
        self.encoder.model.to(device)

    def vectors(self, texts: Sequence[str]) -> FloatArray:
        """Return what the head reads, (texts, texts of a row · dims)."""
        return vectors_of_rows(texts, self.texts, self.encoder.config.dims, self.encoder.vectors)

    def save(self, folder: Path) -> None:
        self.encoder.save(folder)
        save_file({"weights": self.weights, "bias": self.bias}, folder / HEAD_FILE)

    @classmethod
    def load(cls, folder: Path) -> EncoderReader:
        """Read what `save` wrote. It raises what `TextEncoder.load` does."""
        encoder, head = TextEncoder.load(folder), read_arrays(folder / HEAD_FILE)
        weights, bias = (head.get(name, np.zeros(())) for name in ("weights", "bias"))
        fits = weights.ndim == 2 and len(weights) and not len(weights) % encoder.config.dims
        if not fits or bias.shape != weights.shape[1:]:
            raise GlassformerError(f"{folder / HEAD_FILE} does not match {ENCODER_FILE}; copy the folder again")
        return cls(encoder=encoder, **as_weights({"weights": weights, "bias": bias}, folder / HEAD_FILE))


def texts_of(rows: Rows) -> int:
    return 1 if rows.inputs is None else len(rows.inputs.texts)


def vectors_of_rows(
    rows: Sequence[str], texts: int, dims: int, vectors: Callable[[Sequence[str]], FloatArray]
) -> FloatArray:
    """Return the vectors of the texts of each row side by side, (rows, texts · dims).

    Args:
        vectors: returns the vector of each text. It is given each text once.
    """
    if not rows:
        return np.zeros((0, texts * dims), np.float32)
    different, places = numbered_texts(rows, texts)
    return vectors(different)[places].reshape(len(rows), -1)


def numbered_texts(rows: Sequence[str], texts: int) -> tuple[list[str], IntArray]:
    """Return the different texts of all rows, and for each row the numbers of its texts among them, (rows, texts)."""
    flat = [text for row in rows for text in _texts_of(row, texts)]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(flat))}
    return list(numbers), np.array([numbers[text] for text in flat], np.int64).reshape(len(rows), texts)


def _texts_of(row: str, count: int) -> list[str]:
    found = without_columns(row).split(SEPARATOR)[:count]
    return found + [""] * (count - len(found))
