import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from pydantic import TypeAdapter
from torch import Tensor, nn

from glassformer.doctor.findings import LayerFigures
from glassformer.doctor.signals import watched
from glassformer.layers.attention import MultiHeadAttention, plain_attention
from glassformer.layers.feedforward import FeedForward
from glassformer.models.build import DESIGNS, AnyModelConfig, build_model
from glassformer.models.model_config import ModelConfig
from tests.doctor.samples import DEEPER, N_CLASSES, VOCAB_SIZE, bench, scaled
from tests.support import randomise


def figures(config: ModelConfig = DEEPER, model: nn.Module | None = None) -> dict[str, LayerFigures]:
    tried = bench(config, model=model)
    return {found.name: found for found in watched(tried, tried.copy_of_model(dropout=False), tried.sample(4))}


def test_the_output_of_a_layer_is_measured_without_padding() -> None:
    tried = bench(DEEPER)
    randomise(tried.model)
    model, batches = tried.copy_of_model(dropout=False), tried.sample(3)
    assert any((~batch.inputs.attention_mask).any() for batch in batches)
    tokens = torch.cat(
        [model.get_submodule("trunk.embedding")(b.inputs.token_ids)[b.inputs.attention_mask] for b in batches]
    ).detach()
    found = {place.name: place for place in watched(tried, model, batches)}
    assert found["trunk.embedding"].mean == pytest.approx(float(tokens.mean()), abs=1e-6)
    assert found["trunk.embedding"].std == pytest.approx(float(tokens.std()), rel=1e-3)
    logits = torch.cat([tried.logits(model, batch) for batch in batches]).detach()
    assert found["head"].mean == pytest.approx(float(logits.mean()), rel=1e-4)


def test_places_come_in_the_order_of_the_computation() -> None:
    places = [(place.name, place.kind) for place in figures().values()]
    assert places[:2] == [("trunk.embedding", "layer"), ("trunk.blocks.0.attention_pre_norm", "layer")]
    assert places.index(("trunk.blocks.0.attention (weights)", "attention")) < places.index(("trunk.blocks.0", "block"))
    assert ("trunk.blocks.1.feed_forward (gelu)", "activation") in places
    assert places[-1] == ("head", "layer")


def test_zero_projections_are_seen_as_zeros() -> None:
    found = figures()
    assert found["trunk.blocks.1.feed_forward.out_projection"].zeros == 1
    assert found["trunk.blocks.0.attention.in_projection"].zeros == 0


def test_fused_and_plain_attention_are_measured_alike() -> None:
    def all_of(kernel: Any) -> list[LayerFigures]:
        tried = bench(DEEPER.model_copy(update={"attention": "causal"}))
        randomise(tried.model)
        for module in tried.model.modules():
            if isinstance(module, MultiHeadAttention) and kernel is not None:
                module.kernel = kernel
        return list(watched(tried, tried.copy_of_model(dropout=False), tried.sample(2)))

    for fused, plain in zip(all_of(None), all_of(plain_attention), strict=True):
        assert fused.name == plain.name
        assert fused.saturated == pytest.approx(plain.saturated, abs=0.01)
        assert fused.std == pytest.approx(plain.std, rel=1e-3)


class Attends(nn.Module):
    """Two attentions whose rows are known: all on one token, and the same on each; and a softmax over classes."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(1, N_CLASSES)

    def forward(self, token_ids: Tensor, attention_mask: Tensor) -> Tensor:
        seq = token_ids.shape[1]
        even = torch.zeros(len(token_ids), seq, seq).masked_fill(~attention_mask[:, None], -math.inf).softmax(-1)
        sharp = F.softmax(torch.eye(seq).expand(len(token_ids), seq, seq) * 1e4, dim=-1)
        return self.head((even @ sharp).mean(dim=(1, 2))[:, None]).softmax(-1)


def test_attention_rows_that_are_known() -> None:
    found = figures(model=Attends())["model (weights)"]
    assert found.kind == "attention"
    assert found.saturated == pytest.approx(0.5, abs=0.01)  # of each text, as many rows of one kind as of the other
    assert found.uniform == pytest.approx(0.5, abs=0.01)
    assert "head (weights)" not in figures(model=Attends())


def test_units_that_are_never_active_are_counted() -> None:
    tried = bench(DEEPER.model_copy(update={"feed_forward": "relu"}))
    feed_forward = FeedForward(16, 24, F.relu, bias=True)
    nn.init.zeros_(feed_forward.in_projection.bias)
    with torch.no_grad():
        feed_forward.in_projection.bias[:9] = -1e3
    tried.model.get_submodule("trunk.blocks")[1].feed_forward = feed_forward  # type: ignore[index]
    found = figures(model=tried.model)
    assert found["trunk.blocks.1.feed_forward (relu)"].dead == 9 / 24
    assert found["trunk.blocks.0.feed_forward (relu)"].dead == 0


def test_gates_near_their_ends_are_counted() -> None:
    gated = DEEPER.model_copy(update={"feed_forward": "glu"})
    usual = figures(gated)["trunk.blocks.0.feed_forward (sigmoid)"].saturated
    model = scaled(bench(gated).model, 30)
    pushed = figures(gated, model)["trunk.blocks.0.feed_forward (sigmoid)"].saturated
    assert usual is not None
    assert pushed is not None
    assert usual < 0.01
    assert pushed > 0.8


class Recurrent(nn.Module):
    """A design whose modules give tuples, and whose weights belong to no leaf."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCAB_SIZE, 6)
        self.cells = nn.LSTM(6, 5, batch_first=True)
        self.out = nn.Parameter(torch.randn(5, N_CLASSES))

    def forward(self, token_ids: Tensor, _attention_mask: Tensor) -> Tensor:
        return self.cells(self.words(token_ids))[0][:, -1].tanh() @ self.out


def test_odd_designs_are_watched_too() -> None:
    found = figures(model=Recurrent())
    assert [(place.name, place.kind) for place in found.values()] == [
        ("words", "layer"),
        ("cells", "layer"),
        ("model (tanh)", "activation"),
    ]


@pytest.mark.parametrize("design", ["classifier", "notes-decoder", "sentiment140", "pretrained"])
def test_blocks_are_what_a_design_repeats_and_nothing_smaller(design: str) -> None:
    repeated = "trunk.blocks" if design == "classifier" else "blocks"
    config = TypeAdapter[AnyModelConfig](AnyModelConfig).validate_python({"design": design, "n_layers": 3})
    found = figures(model=build_model(config, VOCAB_SIZE, N_CLASSES))
    assert [place.name for place in found.values() if place.kind == "block"] == [
        f"{repeated}.{number}" for number in range(3)
    ]


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_can_be_watched(design: str) -> None:
    config = TypeAdapter[AnyModelConfig](AnyModelConfig).validate_python({"design": design})
    model = build_model(config, VOCAB_SIZE, N_CLASSES)
    found = figures(model=model)
    assert found
    assert all(math.isfinite(place.std) for place in found.values())
