import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from glassformer.layers.embeddings import OneHotEmbedding, TextsEmbedding, TokenEmbedding
from tests.support import embed_by_product


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


def test_tokens_know_their_text_and_whether_another_text_has_them() -> None:
    vocab_size, separator = 9, 8
    layer = TextsEmbedding(vocab_size, 5, 2)
    token_ids = torch.tensor([[2, 4, 1, 5, separator, 5, 1, 6], [2, 4, 4, 0, 0, 0, 0, 0]])

    own = layer(token_ids) - F.embedding(token_ids, layer.weight)

    text = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1], [0] * 8])
    match = torch.tensor([[0, 0, 0, 1, 0, 1, 0, 0], [0] * 8])  # unknown tokens do not match
    torch.testing.assert_close(own, layer.text[text] + match[..., None] * layer.match)


def test_more_separators_than_texts_are_read_as_the_last_text() -> None:
    layer = TextsEmbedding(9, 5, 2)
    assert layer(torch.tensor([[3, 8, 4, 8, 5]])).shape == (1, 5, 5)
