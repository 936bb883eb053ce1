import math

import pytest
import torch

from glassformer.models.classifier import Classifier
from glassformer.models.model_config import ModelConfig
from glassformer.training.not_a_number import explain_not_a_number
from tests.support import randomise, right_padded

SMALL = ModelConfig(d_model=16, n_layers=2, n_heads=2, d_ff=24, max_seq_len=24)


def explain(model: Classifier) -> str:
    def run() -> None:
        model(torch.randint(3, 29, (2, 7)), right_padded([7, 4]))
        model(torch.randint(3, 29, (3, 5)), right_padded([5, 5, 1]))

    return explain_not_a_number(model, run)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_weight_that_is_not_finite_is_named(value: float) -> None:
    model = randomise(Classifier(SMALL, 29, 3))
    name, parameter = list(model.named_parameters())[4]
    with torch.no_grad():
        parameter.view(-1)[1] = value
    assert explain(model).startswith(f"The weights {name} already contain")


def test_the_first_layer_that_overflows_is_named() -> None:
    model = randomise(Classifier(SMALL, 29, 3))
    leaves = [(name, module) for name, module in model.trunk.blocks[1].named_modules() if hasattr(module, "weight")]
    name, layer = next((name, module) for name, module in leaves if isinstance(module, torch.nn.Linear))
    with torch.no_grad():
        layer.weight.fill_(3e38)
    assert f"The first layer with NaN or infinite output is trunk.blocks.1.{name}." == explain(model)
    assert not any(module._forward_hooks for module in model.modules())


def test_a_healthy_model_leaves_the_loss_to_blame() -> None:
    assert "the loss or a gradient" in explain(randomise(Classifier(SMALL, 29, 3)))
