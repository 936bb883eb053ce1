import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from glassformer.layers.embeddings import OneHotEmbedding, TokenEmbedding, embed_by_product


@given(vocab_size=st.integers(1, 6), spare=st.integers(0, 3))
def test_one_hot_rows_are_unit_vectors(vocab_size: int, spare: int) -> None:
    d_model = vocab_size + spare
    token_ids = torch.arange(vocab_size)[None].flip(1)

    vectors = OneHotEmbedding(vocab_size, d_model)(token_ids)

    assert torch.equal(vectors, torch.eye(d_model)[token_ids])
    assert torch.equal(vectors, embed_by_product(token_ids, torch.eye(vocab_size, d_model)))


def test_one_hot_in_too_few_dimensions_is_refused() -> None:
    with pytest.raises(ValueError, match="d_model=4, vocab_size=5"):
        OneHotEmbedding(5, 4)


def test_vectors_start_at_the_spread_asked_for() -> None:
    assert TokenEmbedding(400, 50, std=0.3).weight.std().item() == pytest.approx(0.3, rel=0.02)
