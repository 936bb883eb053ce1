import math

import numpy as np
import pytest
import torch

from benchmarks.language_model import document_bits
from benchmarks.paired import ratio
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import START_ID
from glassformer.prediction.model_folder import TrainedLanguageModel
from tests.prediction.language import SMALL, trained_language_model


def test_bits_per_byte_are_all_bits_over_all_bytes() -> None:
    """Two texts of 10 bits in 5 bytes and 30 bits in 10: 40 / 15, between the one alone, 2, and the other, 3."""
    found = ratio(np.array([10.0, 30.0]), np.array([5, 10]))
    assert found.value == pytest.approx(40 / 15)
    assert (found.low, found.high) == (2.0, 3.0)


def test_differences_are_paired_by_text() -> None:
    """Texts that differ much, and a model that needs an eighth of a bit more for every byte of each."""
    n_bytes = np.arange(1, 31)
    ours = np.random.default_rng(2).uniform(1, 9, size=30) * n_bytes
    found = ratio((ours + n_bytes / 8) - ours, n_bytes)
    assert (found.value, found.low, found.high) == pytest.approx((1 / 8, 1 / 8, 1 / 8))


@torch.inference_mode()
def one_by_one(trained: TrainedLanguageModel, document: list[int]) -> float:
    """Each token and the end, after all that is before it; or, beyond the first window, half a window and more."""
    window, bits = SMALL.max_seq_len, 0.0
    step = window // 2
    tokens = [START_ID, *document, START_ID]
    for place in range(1, len(tokens)):
        first = 0 if place <= window else ((place - 1) // step - 1) * step
        read = torch.tensor([tokens[first:place]])
        logits = trained.model(read, torch.ones_like(read, dtype=torch.bool))[0, -1].double()
        bits -= float(logits.log_softmax(dim=0)[tokens[place]]) / math.log(2)
    return bits


def test_bits_of_documents_are_those_of_their_tokens_and_their_end() -> None:
    """Shorter than a window, empty, just as long with its end, and longer than two."""
    trained = trained_language_model()
    rng = np.random.default_rng(4)
    rows = [rng.integers(START_ID + 1, trained.config.vocab_size, size=size) for size in (5, 0, 23, 61)]
    found = document_bits(trained, TokenStore.in_memory(rows))
    assert found == pytest.approx([one_by_one(trained, row.tolist()) for row in rows], rel=1e-5)
