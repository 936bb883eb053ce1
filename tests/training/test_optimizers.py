import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn

from glassformer.errors import UsageError
from glassformer.models.classifier import Classifier
from glassformer.models.model_config import ModelConfig
from glassformer.models.parts import Parts
from glassformer.models.pretrained import PretrainedConfig, PretrainedEncoder
from glassformer.training import optimizers
from glassformer.training.optimizers import Muon, build_optimizers, freeze, orthogonal, set_learning_rate
from glassformer.training.training_config import TrainingConfig
from tests.training.samples import config as samples_config
from tests.training.samples import trainer

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
    expected = {name for name, p in model.named_parameters() if name.startswith("trunk.blocks.") and p.ndim == 2}
    assert {name for name, p in model.named_parameters() if id(p) in taken} == expected
    assert not any(name.startswith(("trunk.embedding", "trunk.positions", "head", "pooling")) for name in expected)
    assert len(expected) == 2 * (2 + 2)


@pytest.mark.parametrize(("precision", "together"), [("float32", 2**20), ("float32", 1), ("bfloat16", 2**20)])
def test_muon_takes_the_steps_of_torch(precision: str, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of torch rounds to bfloat16, and so steps differ by its precision."""
    monkeypatch.setattr(optimizers, "_TOGETHER", together)
    ours, theirs = Classifier(SMALL, 29, 3), Classifier(SMALL, 29, 3)
    theirs.load_state_dict(ours.state_dict())
    before = {name: parameter.clone() for name, parameter in ours.named_parameters()}
    values = {"optimizer": "muon", "precision": precision, "learning_rate": 0.01, "weight_decay": 0.1}
    _, muon = build_optimizers(ours, config(**values))
    assert isinstance(muon, Muon)
    assert muon.param_groups[0]["dtype"] == (torch.bfloat16 if precision == "bfloat16" else None)
    taken = {id(p) for group in muon.param_groups for p in group["params"]}
    of_torch = torch.optim.Muon(
        [other for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True) if id(mine) in taken],
        lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw",
    )  # fmt: skip
    for _ in range(3):
        for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            mine.grad = torch.randn_like(mine)
            other.grad = mine.grad.clone()
        muon.step()
        of_torch.step()
    moved = 0
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        step = (mine - before[name]).norm()
        moved += bool(step > 0)
        assert (mine - other).norm() <= 0.02 * step
    assert moved == 2 * (2 + 2)
    states = [each.state_dict()["state"] for each in (muon, of_torch)]
    assert [set(state) for state in states[0].values()] == [set(state) for state in states[1].values()]


def test_a_step_of_muon_is_that_of_its_formula() -> None:
    """Decoupled weight decay, then Nesterov's momentum of .95, scaled as AdamW (Liu et al. 2025, equation 4)."""
    matrix = torch.nn.Parameter(torch.randn(3, 5))
    muon = Muon([matrix], lr=0.1, weight_decay=0.2)
    momentum = torch.zeros(3, 5)
    for _ in range(3):
        before, matrix.grad = matrix.detach().clone(), torch.randn(3, 5)
        momentum = 0.95 * momentum + 0.05 * matrix.grad
        (update,) = orthogonal((0.05 * matrix.grad + 0.95 * momentum)[None], muon.param_groups[0])
        muon.step()
        assert torch.allclose(matrix, before * (1 - 0.1 * 0.2) - 0.1 * 0.2 * math.sqrt(5) * update, atol=1e-6)


def test_muon_makes_all_singular_values_alike() -> None:
    (group,) = Muon([torch.empty(3, 5)]).param_groups
    for shape in ((2, 3, 5), (2, 5, 3)):
        matrices = torch.randn(shape, dtype=torch.float64)
        for matrix, made in zip(matrices, orthogonal(matrices, group), strict=True):
            u, _, v = torch.linalg.svd(matrix, full_matrices=False)
            values = torch.diagonal(u.T @ made @ v.T)
            assert torch.allclose(u @ torch.diag(values) @ v, made)
            assert all(0.6 < value < 1.3 for value in values)


def test_without_blocks_muon_has_nothing_to_do() -> None:
    model = Classifier(SMALL.model_copy(update={"n_layers": 0}), 29, 3)
    assert len(build_optimizers(model, config(optimizer="muon"))) == 1


def test_what_is_not_trained_is_left_out() -> None:
    model = Classifier(SMALL, 29, 3)
    model.trunk.embedding.requires_grad_(False)
    frozen = {id(p) for p in model.trunk.embedding.parameters()}
    for optimizer in build_optimizers(model, config()):
        assert frozen.isdisjoint(id(p) for group in optimizer.param_groups for p in group["params"])


class TwoLayers(nn.Module):
    """A block and a head, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.lower, self.upper = nn.Linear(5, 3), nn.Linear(3, 2)

    def parts(self) -> Parts:
        return Parts(blocks=(self.lower,), head=(self.upper,))


@pytest.mark.parametrize("kind", KINDS)
def test_steps_go_down(kind: str) -> None:
    model = TwoLayers()
    target = [torch.randn_like(p) for p in model.parameters()]
    optimizers = build_optimizers(model, config(optimizer=kind, learning_rate=0.02, weight_decay=0.0))
    assert len(optimizers) == (2 if kind == "muon" else 1)
    distances = []
    for _ in range(5):
        model.zero_grad()
        per_parameter = [((p - t) ** 2).sum() for p, t in zip(model.parameters(), target, strict=True)]
        torch.stack(per_parameter).sum().backward()
        distances.append([distance.item() for distance in per_parameter])
        for optimizer in optimizers:
            optimizer.step()
    assert all(after < before for now, then in pairwise(distances) for before, after in zip(now, then, strict=True))


def rates(model: nn.Module, **values: Any) -> dict[str, float]:
    """The learning rate of each parameter by name, when the full one is 1; those that are not trained are left out."""
    training = config(**values)
    freeze(model, training.freeze)
    optimizers = build_optimizers(model, training)
    set_learning_rate(optimizers, 1.0)
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    by_id = {id(p): group["lr"] for group in groups for p in group["params"]}
    return {name: by_id[id(p)] for name, p in model.named_parameters() if id(p) in by_id}


@pytest.mark.parametrize("kind", ["adamw", "muon", "sgd"])
def test_layer_decay_slows_what_is_deeper(kind: str) -> None:
    found = rates(Classifier(SMALL, 29, 3), optimizer=kind, layer_decay=0.5)
    expected = {"trunk.embedding": 0.125, "trunk.positions": 0.125, "trunk.blocks.0": 0.25, "trunk.blocks.1": 0.5,
                "trunk.norm": 1, "pooling": 1, "head": 1}  # fmt: skip
    assert {name.split(".weight")[0] for name in found} >= {"trunk.embedding", "trunk.positions", "head"}
    for name, rate in found.items():
        assert rate == next(share for part, share in expected.items() if name.startswith(part)), name


def test_without_layer_decay_all_learn_alike() -> None:
    assert set(rates(Classifier(SMALL, 29, 3), optimizer="adamw").values()) == {1.0}


@pytest.mark.parametrize(
    ("lowest", "trained"),
    [
        (1, {"trunk.blocks.1", "trunk.norm", "pooling", "head"}),
        (2, {"trunk.norm", "pooling", "head"}),
        ("all", {"head"}),
    ],
)
def test_frozen_blocks_are_left_out(lowest: int | str, trained: set[str]) -> None:
    found = rates(Classifier(SMALL, 29, 3), freeze=lowest)
    assert all(name.startswith(tuple(trained)) for name in found)
    assert all(any(name.startswith(part) for name in found) for part in trained)


def test_the_encoder_of_a_checkpoint_has_its_parts_in_order() -> None:
    small = PretrainedConfig(d_model=12, n_layers=3, n_heads=2, d_ff=7, residual="pre-norm")
    found = rates(PretrainedEncoder(small, 11, 2), optimizer="adamw", layer_decay=0.1)
    for part, rate in (("embedding.", 1e-4), ("positions.", 1e-4), ("embedding_norm.", 1e-4), ("blocks.0.", 1e-3),
                       ("blocks.2.", 0.1), ("norm.", 1.0), ("head.", 1.0)):  # fmt: skip
        assert {round(value, 9) for name, value in found.items() if name.startswith(part)} == {rate}, part


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"freeze": 3}, ["freeze = 3", "2 blocks"]),
        ({"freeze": 1}, ["freeze = 1", "this model has none"]),
        ({"freeze": "all"}, ["freeze = 'all'", "head"]),
        ({"layer_decay": 0.9}, ["layer_decay = 0.9", "this model has none"]),
    ],
)
def test_what_a_model_has_not_cannot_be_frozen_or_slowed(values: dict[str, Any], words: list[str]) -> None:
    model = Classifier(SMALL, 29, 3) if values == {"freeze": 3} else nn.Sequential(nn.Linear(2, 2))
    with pytest.raises(UsageError) as caught:
        rates(model, **values)
    assert all(word in str(caught.value) for word in words)


def test_a_frozen_part_stays_as_it_is_in_training() -> None:
    run = trainer(samples_config(epochs=1, freeze=1), randomised=True)
    before = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
    run.run()
    moved = {name for name, tensor in run.model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert moved == {"trunk.norm.weight", "head.weight", "head.bias"}
