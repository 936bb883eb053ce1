import numpy as np
import pytest
import torch

from glassformer.errors import UsageError
from glassformer.explanation.attribution import TokenReading
from glassformer.explanation.heads import heads_of
from glassformer.models.published.vinh_mlp import VinhMLPConfig
from tests.explanation.test_attribution import IDS, ours, reading


def without_head(text: TokenReading, layer: int, head: int, head_dim: int) -> float:
    """The margin if the output of a head is not used: its columns of the output projection are 0."""
    weight = text.model.get_parameter(f"trunk.blocks.{layer - 1}.attention.out_projection.weight")
    kept = weight.detach().clone()
    with torch.no_grad():
        weight[:, (head - 1) * head_dim : head * head_dim] = 0
    margin = text.margin
    with torch.no_grad():
        weight.copy_(kept)
    return margin


@pytest.mark.parametrize("max_seq_len", [10, 5])
def test_the_share_of_a_head_is_what_the_margin_loses_without_it(max_seq_len: int) -> None:
    text = reading(ours(max_seq_len=max_seq_len))
    found = heads_of(text, 3)
    assert [(head.layer, head.head) for head in found] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert len({head.share for head in found}) == 4
    for head in found:
        assert head.share == pytest.approx(text.margin - without_head(text, head.layer, head.head, 4), abs=1e-5)


def test_a_head_that_looks_everywhere_looks_at_each_word_alike() -> None:
    text = reading(ours(n_layers=1))
    text.model.get_parameter("trunk.blocks.0.attention.in_projection.weight").data.zero_()
    for head in heads_of(text, 3):
        assert head.attention == pytest.approx([2 / (len(IDS) + 1)] * 3, abs=1e-6)


def test_attention_of_all_words_is_at_most_all_of_it() -> None:
    for head in heads_of(reading(ours(max_seq_len=5)), 3):
        assert 0 < np.sum(head.attention) <= 1


def test_a_model_without_heads_says_so() -> None:
    with pytest.raises(UsageError, match="no attention heads"):
        heads_of(reading(VinhMLPConfig(max_seq_len=10)), 3)
