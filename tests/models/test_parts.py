import pytest
import torch
from pydantic import TypeAdapter
from torch import nn

from glassformer.models.build import (
    DESIGNS,
    LANGUAGE_DESIGNS,
    AnyLanguageModelConfig,
    AnyModelConfig,
    build_language_model,
    build_model,
)
from glassformer.models.parts import Parts, names_of, parts_of

WITHOUT_MODULES = {"bui-dang-rows", "bui-dang-columns"}
"""Their weights are parameters of the model itself."""


def built(design: str) -> nn.Module:
    with torch.device("meta"):
        if design in LANGUAGE_DESIGNS:
            language = TypeAdapter[AnyLanguageModelConfig](AnyLanguageModelConfig).validate_python({"design": design})
            return build_language_model(language, 29)
        config = TypeAdapter[AnyModelConfig](AnyModelConfig).validate_python({"design": design})
        return build_model(config, 29, 3)


def in_order(parts: Parts) -> list[nn.Module]:
    return [*parts.embedding, *parts.blocks, *parts.norm, *parts.pooling, *parts.head]


@pytest.mark.parametrize("design", [*DESIGNS, *LANGUAGE_DESIGNS])
def test_no_weight_is_in_two_parts(design: str) -> None:
    model = built(design)
    held = [id(parameter) for part in in_order(parts_of(model)) for parameter in part.parameters()]
    assert len(held) == len(set(held))
    if design not in WITHOUT_MODULES:
        assert parts_of(model).embedding


@pytest.mark.parametrize("design", ["classifier", "pretrained", "sentiment140", *LANGUAGE_DESIGNS])
def test_the_parts_of_a_design_with_blocks_hold_every_weight_in_the_order_of_the_model(design: str) -> None:
    model = built(design)
    assert len(parts_of(model).blocks) > 1
    held = [id(parameter) for part in in_order(parts_of(model)) for parameter in part.parameters()]
    assert held == [id(parameter) for parameter in model.parameters()]


def test_names_are_those_of_the_model() -> None:
    model = built("classifier")
    assert names_of(model, parts_of(model).blocks) == ["trunk.blocks.0", "trunk.blocks.1"]
    assert names_of(model, parts_of(model).head) == ["head"]


def test_a_module_that_names_no_parts_has_none() -> None:
    assert parts_of(nn.Linear(2, 3)) == Parts()
