from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn

from glassformer.models.classifier import Classifier
from glassformer.models.config import ModelConfig
from glassformer.training.config import TrainingConfig
from glassformer.training.optimizers import build_optimizers

SMALL = ModelConfig(
    d_model=16, n_layers=2, n_heads=2, d_ff=24, max_seq_len=24, norm="layer", positions="learned", pooling="attention"
)
KINDS = ["adamw", "muon", "sgd"]


def config(**values: Any) -> TrainingConfig:
    return TrainingConfig.model_validate(values)


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_once(kind: str) -> None:
    model = Classifier(SMALL, 29, 3)
    optimizers = build_optimizers(model, config(optimizer=kind))
    held = [id(p) for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]]
    assert sorted(held) == sorted(id(p) for p in model.parameters())


@pytest.mark.parametrize("kind", KINDS)
def test_decay_is_on_matrices_alone(kind: str) -> None:
    for optimizer in build_optimizers(Classifier(SMALL, 29, 3), config(optimizer=kind, weight_decay=0.25)):
        for group in optimizer.param_groups:
            assert group["params"]
            for parameter in group["params"]:
                assert group["weight_decay"] == (0.25 if parameter.ndim >= 2 else 0.0)


def test_muon_takes_the_matrices_of_the_blocks() -> None:
    model = Classifier(SMALL, 29, 3)
    adamw, muon = build_optimizers(model, config(optimizer="muon"))
    assert isinstance(muon, torch.optim.Muon)
    assert isinstance(adamw, torch.optim.AdamW)
    taken = {id(p) for group in muon.param_groups for p in group["params"]}
    expected = {name for name, p in model.named_parameters() if name.startswith("blocks.") and p.ndim == 2}
    assert {name for name, p in model.named_parameters() if id(p) in taken} == expected
    assert not any(name.startswith(("embedding", "head", "positions", "pooling")) for name in expected)
    assert len(expected) == 2 * (2 + 2)


def test_without_blocks_muon_has_nothing_to_do() -> None:
    model = Classifier(SMALL.model_copy(update={"n_layers": 0}), 29, 3)
    assert len(build_optimizers(model, config(optimizer="muon"))) == 1


def test_what_is_not_trained_is_left_out() -> None:
    model = Classifier(SMALL, 29, 3)
    model.embedding.requires_grad_(False)
    frozen = {id(p) for p in model.embedding.parameters()}
    for optimizer in build_optimizers(model, config()):
        assert frozen.isdisjoint(id(p) for group in optimizer.param_groups for p in group["params"])


@pytest.mark.parametrize("kind", KINDS)
def test_steps_go_down(kind: str) -> None:
    model = nn.ModuleDict({"blocks": nn.Linear(5, 3), "head": nn.Linear(3, 2)})
    target = [torch.randn_like(p) for p in model.parameters()]
    optimizers = build_optimizers(model, config(optimizer=kind, learning_rate=0.02, weight_decay=0.0))
    assert len(optimizers) == (2 if kind == "muon" else 1)
    distances = []
    for _ in range(5):
        model.zero_grad()
        per_parameter = [((p - t) ** 2).sum() for p, t in zip(model.parameters(), target, strict=True)]
        torch.stack(per_parameter).sum().backward()
        distances.append([one.item() for one in per_parameter])
        for optimizer in optimizers:
            optimizer.step()
    assert all(after < before for now, then in pairwise(distances) for before, after in zip(now, then, strict=True))
