from typing import get_args

import pytest
import torch
from pydantic import TypeAdapter

from glassformer.models.build import DESIGNS, AnyModelConfig, build_model, parameter_count
from glassformer.models.model_config import DesignConfig, ModelConfig, SeveralTextsConfig

CONFIGS: TypeAdapter[AnyModelConfig] = TypeAdapter(AnyModelConfig)


def test_every_config_has_a_module_and_no_other() -> None:
    of_recipes = set(DESIGNS.values())
    assert set(get_args(get_args(AnyModelConfig)[0])) == of_recipes | {SeveralTextsConfig}


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_is_built_from_its_name_alone(design: str) -> None:
    config = CONFIGS.validate_python({"design": design})
    assert isinstance(config, DesignConfig)
    model = build_model(config, vocab_size=23, n_classes=2).eval()
    token_ids = torch.tensor([[2, 5, 6, 7], [2, 8, 0, 0]])
    logits = model(token_ids, token_ids > 0)
    assert logits.shape == (2, 2)
    assert logits.isfinite().all()
    assert parameter_count(config, 23, 2) == sum(parameter.numel() for parameter in model.parameters())
    assert config.in_words()


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_survives_json(design: str) -> None:
    config = CONFIGS.validate_python({"design": design})
    assert CONFIGS.validate_json(config.model_dump_json()) == config


def test_a_config_without_a_name_is_of_our_classifier() -> None:
    assert CONFIGS.validate_python({"d_model": 32}) == ModelConfig(d_model=32)


def test_counting_takes_no_memory() -> None:
    assert parameter_count(ModelConfig(d_model=4096, n_layers=200, d_ff=16_384), 1_000_000, 2) > 5e10
