import math
from dataclasses import replace
from itertools import islice, repeat
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from glassformer.doctor.bench import without_dropout
from glassformer.training.classification import Classification
from glassformer.training.loop import Trainer
from glassformer.training.task import Examples
from tests.doctor.samples import DEEPER, MODEL, N_CLASSES, bench, easy_data


def test_a_check_leaves_the_model_as_it_was() -> None:
    tried = bench()
    before = {name: weight.clone() for name, weight in tried.model.state_dict().items()}
    model = tried.copy_of_model()
    assert len(list(tried.steps(model, [1e-2] * 7, tried.groups()))) == 7
    for name, weight in tried.model.state_dict().items():
        assert torch.equal(weight, before[name])
    assert not torch.equal(model.state_dict()["trunk.embedding.weight"], before["trunk.embedding.weight"])


def test_dropout_is_off_and_norms_stay_in_training_mode() -> None:
    still = bench(MODEL.model_copy(update={"dropout": 0.5, "attention_dropout": 0.5, "norm": "batch"}))
    nn.init.normal_(still.model.get_submodule("head").get_parameter("weight"))
    [batch] = still.sample(1)
    model = still.copy_of_model(dropout=False)
    assert torch.equal(still.logits(model, batch), still.logits(model, batch))
    assert model.training
    noisy = still.copy_of_model()
    assert not torch.equal(still.logits(noisy, batch), still.logits(noisy, batch))


def test_dropout_of_torch_is_turned_off_too() -> None:
    model = nn.Sequential(nn.Linear(5, 7), nn.Dropout(0.9)).train()
    features = torch.randn(11, 5)
    assert torch.equal(without_dropout(model)(features), model[0](features))


@pytest.mark.parametrize("order", ["bucketed", "shuffled", "as-given"])
@pytest.mark.parametrize("resample", ["none", "balanced"])
def test_steps_are_those_of_the_run_itself(monkeypatch: pytest.MonkeyPatch, order: str, resample: str) -> None:
    settings: dict[str, Any] = {
        "order": order,
        "accumulation": 4,
        "batch_size": 13,
        "min_steps_per_epoch": 5,
        "max_steps": 9,
        "seed": 6,
    }
    data = easy_data()
    data = replace(data, train_labels=np.minimum(data.train_labels, 1))  # one class is rarer
    tried = bench(data=data, resample=resample, **settings)
    taken: list[list[list[list[int]]]] = []

    def record(trainer: Trainer[Any], batches: list[Examples]) -> None:
        taken.append([batch.inputs.token_ids.tolist() for batch in batches])
        trainer.state.batch += 1
        trainer.state.step += 1
        trainer.state.sums = dict.fromkeys(("loss", "correct", "count", "weight"), 1.0)

    monkeypatch.setattr(Trainer, "_step", record)
    Trainer(tried.model, Classification(tried.data, tried.config, max_seq_len=tried.max_seq_len), tried.config).run()
    assert [[batch.inputs.token_ids.tolist() for batch in group] for group in islice(tried.groups(), 9)] == taken


def test_a_pass_holds_every_row_once_and_a_step_as_many_batches_as_the_recipe_says() -> None:
    tried = bench(accumulation=2)
    first = list(islice(tried.groups(), tried.steps_per_pass))
    assert tried.steps_per_pass == 3
    assert sorted(row for group in first for batch in group for row in batch.rows) == list(range(90))


def test_what_the_recipe_freezes_stays_as_it_is() -> None:
    tried = bench(DEEPER, freeze=1)
    model = tried.copy_of_model()
    assert len(list(tried.steps(model, [1e-2] * 3, tried.groups()))) == 3
    before, after = tried.model.state_dict(), model.state_dict()
    changed = {name.split(".out")[0] for name in after if not torch.equal(before[name], after[name])}
    assert "head.weight" in changed
    assert not any(name.startswith(("trunk.embedding", "trunk.blocks.0")) for name in changed)
    assert any(name.startswith("trunk.blocks.1") for name in changed)


def test_rows_as_given_stay_in_order() -> None:
    first = next(bench(order="as-given").groups())
    assert [list(batch.rows) for batch in first] == [list(range(15))]
    assert sorted(bench(order="shuffled").sample(6)[0].rows) != list(range(15))


@pytest.mark.parametrize("multilabel", [False, True])
def test_a_step_of_several_batches_has_the_gradient_of_their_mean_loss(multilabel: bool) -> None:
    tried = bench(data=easy_data(multilabel=multilabel, weights=[1.0, 2.5, 0.3]))
    model, batches = tried.copy_of_model(dropout=False), tried.sample(3)
    summed = [tried.losses(tried.logits(model, batch), tried.labels(batch)) for batch in batches]
    mean = sum(total for total, _ in summed) / sum(weight for _, weight in summed)
    assert isinstance(mean, torch.Tensor)
    expected = torch.autograd.grad(mean, model.get_submodule("head").get_parameter("weight"))[0]
    assert tried.gradients(model, batches) == pytest.approx(float(mean.detach()))
    found = model.get_submodule("head").get_parameter("weight").grad
    assert found is not None
    torch.testing.assert_close(found, expected)
    assert tried.mean_loss(model, batches) == pytest.approx(float(mean.detach()))


def test_steps_end_where_the_loss_does_and_where_time_is_up() -> None:
    tried = bench()
    model = tried.copy_of_model()
    model.get_parameter("head.bias").data[:] = math.nan
    assert list(tried.steps(model, repeat(1e-3), tried.groups())) == [math.inf]
    slow = list(tried.steps(tried.copy_of_model(), [1e-3] * 50, tried.groups(), seconds=0.0))
    assert len(slow) == 20


def test_the_first_loss_of_our_classifier_is_that_of_equal_chances() -> None:
    tried = bench()
    assert tried.mean_loss(tried.copy_of_model(), tried.sample(2)) == pytest.approx(math.log(N_CLASSES))
