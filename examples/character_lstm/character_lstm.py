"""A reader of the bytes of a text, one after the other: long short-term memory (Hochreiter & Schmidhuber 1997).

It sees inside words that are in no vocabulary, such as misspelled words, codes and names.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

from glassformer.data.arrays import FloatArray
from glassformer.errors import GlassformerError
from glassformer.readers.reader import InstalledReader, Rows

BYTES, WIDTH, EPOCHS, BATCH, LONGEST = 256, 48, 12, 16, 400
FILE = "lstm.safetensors"


class _Lstm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(BYTES, WIDTH), nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, width)

    def forward(self, texts: Sequence[str]) -> Tensor:
        """Return the scores (texts, width). An empty text is read as a space."""
        read = [torch.tensor(list((text or " ").encode()[:LONGEST])) for text in texts]
        _, (last, _) = self.lstm(pack_sequence([self.embedding(each) for each in read], enforce_sorted=False))
        scores: Tensor = self.head(last[0])
        return scores


class CharacterLstm(InstalledReader):
    def __init__(self, network: _Lstm) -> None:
        self.network = network.eval()

    @classmethod
    def fit(cls, rows: Rows) -> Self:
        network, draw = _Lstm(rows.width).train(), np.random.default_rng(rows.seed)
        optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
        truth, weights = torch.from_numpy(rows.truth), torch.from_numpy(rows.weights)
        for _ in range(EPOCHS):
            for chosen in _batches(draw.permutation(len(rows.texts))):
                scores = network([rows.texts[row] for row in chosen])
                loss = (rows.loss(scores, truth[chosen]) * weights[chosen]).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return cls(network)

    @torch.no_grad()
    def scores(self, texts: Sequence[str]) -> FloatArray:
        parts = [self.network([texts[row] for row in some]) for some in _batches(np.arange(len(texts)))]
        return torch.cat(parts).numpy() if parts else np.zeros((0, self.network.head.out_features), np.float32)

    def save(self, folder: Path) -> None:
        save_file(self.network.state_dict(), folder / FILE)

    @classmethod
    def load(cls, folder: Path) -> Self:
        try:
            weights = load_file(folder / FILE)
            network = _Lstm(len(weights["head.bias"]))
            network.load_state_dict(weights)
        except (OSError, SafetensorError, KeyError, RuntimeError) as error:
            raise GlassformerError(f"{folder / FILE} is missing or damaged; copy the model folder again") from error
        return cls(network)


def _batches(rows: np.ndarray) -> Iterator[np.ndarray]:
    yield from (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))
