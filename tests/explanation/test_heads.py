import numpy as np
import pytest
import torch

from glassformer.errors import UsageError
from glassformer.explanation.heads import attention_from_word, heads_of
from glassformer.explanation.reading import TokenReading
from glassformer.models.listening import listening
from glassformer.models.published.vinh import VinhMLPConfig
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


@pytest.mark.parametrize("layers", [1, 2])
def test_a_word_attends_with_the_attention_of_its_tokens(layers: int) -> None:
    text = reading(ours(n_layers=layers))
    (window,), _ = text.windows
    with torch.inference_mode(), listening(text.model) as heard:
        text.margins(window[None])
    for head in attention_from_word(text, 1, 3):
        weights = heard[f"blocks.{head.layer - 1}.attention.weights"][0, head.head - 1]
        from_word = weights[3:5].mean(dim=0)  # tokens 2 and 3, after the start token
        expected = [float(from_word[1 + 2 * word : 3 + 2 * word].sum()) for word in range(3)]
        assert head.attention == pytest.approx(expected, abs=1e-5)


def test_the_attention_of_all_tokens_is_that_of_the_head_but_for_the_start() -> None:
    """In a text of several windows, a word of two of them attends with the mean of both."""
    text = reading(ours(max_seq_len=5))
    windows, starts = text.windows
    assert len(windows) == 2
    expected = np.zeros((2, len(IDS)))
    times = 0
    for window, start in zip(windows, starts.tolist(), strict=True):
        with torch.inference_mode(), listening(text.model) as heard:
            text.margins(window[None])
        for place in range(start, start + 4):
            if text.groups[place] == 1:
                expected[:, start : start + 4] += heard["blocks.0.attention.weights"][
                    0, :, place - start + 1, 1:
                ].numpy()
                times += 1
    assert times == 4
    found = [head.attention for head in attention_from_word(text, 1, 3) if head.layer == 1]
    assert np.array(found) == pytest.approx(expected.reshape(2, 3, 2).sum(-1) / times, abs=1e-5)


def test_a_word_that_is_not_read_has_no_attention() -> None:
    with pytest.raises(UsageError, match="the transformer does not read this word"):
        attention_from_word(reading(ours()), 3, 4)  # the text is cut after three words
    with pytest.raises(UsageError, match="`word=4`: the text has 4 words"):
        attention_from_word(reading(ours()), 4, 4)


def test_a_model_without_heads_says_so() -> None:
    with pytest.raises(UsageError, match="no attention heads"):
        heads_of(reading(VinhMLPConfig(max_seq_len=10)), 3)
