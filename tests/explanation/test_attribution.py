import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from glassformer.errors import UsageError
from glassformer.explanation import gradients, occluding
from glassformer.explanation.by_reader import METHODS
from glassformer.explanation.gradients import gradient_x_input, integrated_gradients, rollout
from glassformer.explanation.occluding import leave_one_out, occlusion, shapley
from glassformer.explanation.reading import TokenReading
from glassformer.models.build import AnyModelConfig, build_model
from glassformer.models.model_config import ModelConfig
from glassformer.models.pretrained import PretrainedConfig
from glassformer.models.published.notes_decoder import NotesDecoderConfig
from glassformer.models.published.sentiment140 import Sentiment140Config
from glassformer.models.published.vinh import VinhAttentionConfig, VinhMLPConfig
from glassformer.models.published.vinh_recurrent import VinhRecurrentConfig
from glassformer.prediction.scoring import array_logits_of
from tests.support import randomise

VOCAB, CLASSES = 13, 3
IDS = np.array([3, 7, 12, 7, 5, 4])


def ours(**settings: Any) -> ModelConfig:
    return ModelConfig(**{"d_model": 8, "n_layers": 2, "n_heads": 2, "d_ff": 12, "max_seq_len": 10} | settings)


def reading(config: AnyModelConfig, *, ids: np.ndarray[Any, Any] = IDS, std: float = 0.3) -> TokenReading:
    torch.manual_seed(3)
    model = randomise(build_model(config, VOCAB, CLASSES), std=std).eval()
    return TokenReading(
        read=array_logits_of(model),
        model=model,
        ids=ids,
        groups=np.arange(len(ids)) // 2,
        direction=np.array([1.0, 0.0, -1.0]),
        max_seq_len=config.max_seq_len,
    )


DESIGNS: dict[str, AnyModelConfig] = {
    "ours": ours(),
    "first token": ours(pooling="first", positions="learned", norm="layer"),
    "causal": ours(attention="causal", pooling="last", positions="sinusoidal", residual="post-norm"),
    "one-hot": ours(embedding="one-hot", d_model=14, positions="rotary-on-embeddings", feed_forward="relu"),
    "attention pooling": ours(pooling="attention", n_layers=1),
    "no blocks": ours(n_layers=0),
    "pretrained": PretrainedConfig(d_model=8, n_layers=1, n_heads=2, d_ff=12, max_seq_len=10),
    "notes-decoder": NotesDecoderConfig(max_seq_len=10),
    "sentiment140": Sentiment140Config(d_model=8, n_layers=1, n_heads=2, d_ff=12, max_seq_len=10),
    "vinh-attention": VinhAttentionConfig(max_seq_len=10, flattens="attention"),
    "vinh-mlp": VinhMLPConfig(max_seq_len=10),
    "vinh-recurrent": VinhRecurrentConfig(max_seq_len=10),
}
"""Of vinh-transformer an answer depends on the other texts of its batch, and so does each gradient."""


@pytest.mark.parametrize("design", DESIGNS)
def test_integrated_gradients_add_up_to_what_the_words_change(design: str) -> None:
    """Completeness (Sundararajan et al. 2017, proposition 1)."""
    text = reading(DESIGNS[design])
    change = text.margin - text.margin_of_nothing
    assert abs(change) > 1e-3
    assert integrated_gradients(text).sum() == pytest.approx(change, abs=5e-3 * max(1.0, abs(change)))


def test_the_integral_takes_more_points_where_it_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    text = reading(ours())
    with torch.no_grad():
        text.model.get_parameter("head.weight").mul_(100)
    change = text.margin - text.margin_of_nothing
    monkeypatch.setattr(gradients, "_NODES", 1)
    assert integrated_gradients(text).sum() == pytest.approx(change, abs=0.02 * max(1.0, abs(change)))
    monkeypatch.setattr(gradients, "_TOKENS_ON_PATH", 0)
    assert integrated_gradients(text).sum() != pytest.approx(change, abs=0.02 * max(1.0, abs(change)))


@pytest.mark.parametrize("method", [integrated_gradients, gradient_x_input])
def test_the_gradient_of_a_linear_model_is_its_weights(method: Callable[[TokenReading], Any]) -> None:
    """Without blocks, norm and positions, the margin is a mean over tokens of embedding · weights."""
    text = reading(ours(n_layers=0, norm="none", positions="none"))
    weights = text.model.get_parameter("head.weight")
    worth = (text.model.get_parameter("trunk.embedding.weight") @ (weights[0] - weights[2])).detach().numpy()
    seen = worth[IDS] - (worth[1] if method is integrated_gradients else 0)
    assert method(text) == pytest.approx(seen / (len(IDS) + 1), abs=1e-5)


def test_occlusion_is_the_change_without_a_word() -> None:
    text = reading(ours())
    for word in range(3):
        ids = np.where(text.groups == word, 1, IDS)
        change = text.margin - reading(ours(), ids=ids).margin
        assert occlusion(text)[text.groups == word] == pytest.approx([change / 2] * 2, abs=1e-5)


def test_leave_one_out_is_the_change_of_the_shorter_text() -> None:
    text = reading(ours())
    for word in range(3):
        change = text.margin - reading(ours(), ids=IDS[text.groups != word]).margin
        assert leave_one_out(text)[text.groups == word] == pytest.approx([change / 2] * 2, abs=1e-5)


@pytest.mark.parametrize("design", DESIGNS)
def test_shapley_values_add_up_after_a_single_order(monkeypatch: pytest.MonkeyPatch, design: str) -> None:
    monkeypatch.setattr(occluding, "_ORDERS", 1)
    text = reading(DESIGNS[design])
    change = text.margin - text.margin_of_nothing
    assert abs(change) > 1e-3
    assert shapley(text).sum() == pytest.approx(change, abs=1e-5)


def test_shapley_values_are_the_mean_gain_over_all_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapley (1953): here over the six orders of three words, of which many are drawn."""
    monkeypatch.setattr(occluding, "_ORDERS", 2_000)
    text = reading(ours(), std=1.0)

    def shown(words: tuple[int, ...]) -> float:
        return reading(ours(), ids=np.where(np.isin(text.groups, words), IDS, 1), std=1.0).margin

    gains = np.zeros(3)
    for order in itertools.permutations(range(3)):
        for place, word in enumerate(order):
            gains[word] += (shown(order[: place + 1]) - shown(order[:place])) / 6
    found, single = (
        [shares[text.groups == word].sum() for word in range(3)] for shares in (shapley(text), occlusion(text))
    )
    assert found == pytest.approx(gains, abs=0.02 * np.abs(gains).max())
    assert np.abs(gains - single).max() > 0.1


def test_shapley_refuses_a_text_that_would_take_long() -> None:
    with pytest.raises(UsageError, match="33 words, more than 32; choose another method"):
        shapley(TokenReading(**{**vars(reading(ours(), ids=np.arange(33) % VOCAB)), "groups": np.arange(33)}))


@pytest.mark.parametrize("method", ["integrated-gradients", "gradient-x-input", "occlusion", "leave-one-out"])
def test_a_long_text_is_explained_in_its_windows(method: Any) -> None:
    """A text of two windows without a common token would be the mean of both; here they share some."""
    long = reading(ours(max_seq_len=5))
    starts = long.windows[1].tolist()
    assert len(starts) == 2
    total = np.zeros(len(IDS))
    for start in starts:
        part = reading(ours(max_seq_len=5), ids=IDS[start : start + 4])
        groups = long.groups[start : start + 4]
        total[start : start + 4] += METHODS[method](TokenReading(**{**vars(part), "groups": groups})) / 2
    assert METHODS[method](long) == pytest.approx(total, abs=1e-5)


def test_rollout_of_a_model_that_looks_everywhere_is_even() -> None:
    text = reading(ours(n_layers=1))
    text.model.get_parameter("trunk.blocks.0.attention.in_projection.weight").data.zero_()
    assert rollout(text) == pytest.approx([1 / (len(IDS) + 1)] * len(IDS))


def test_rollout_needs_attention() -> None:
    with pytest.raises(UsageError, match="no attention"):
        rollout(reading(VinhMLPConfig(max_seq_len=10)))


def test_a_model_without_an_embedding_can_be_explained_by_occlusion() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, token_ids: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
            count = (token_ids == 7).sum(dim=1, keepdim=True) * self.weight
            return torch.cat([count, count * 0, -count], dim=1)

    model = Counting()
    text = TokenReading(
        read=array_logits_of(model),
        model=model,
        ids=IDS,
        groups=np.arange(6),
        direction=np.array([1.0, 0.0, -1.0]),
        max_seq_len=10,
    )
    assert occlusion(text).tolist() == [0, 2, 0, 2, 0, 0]
    with pytest.raises(UsageError, match="occlusion"):
        integrated_gradients(text)


def test_nothing_of_it_stays_in_the_model() -> None:
    text = reading(ours())
    before = text.margin
    for method in METHODS.values():
        method(text)
    assert text.margin == before
    assert all(parameter.grad is None for parameter in text.model.parameters())
