import itertools
from typing import Literal, get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from glassformer.models.classifier import Classifier
from glassformer.models.config import PRESETS, ModelConfig, parameter_count


def choices(field: str) -> tuple[str, ...]:
    return get_args(ModelConfig.model_fields[field].annotation)


def built_count(config: ModelConfig, vocab_size: int, n_classes: int) -> int:
    with torch.device("meta"):
        model = Classifier(config, vocab_size, n_classes)
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("norm", choices("norm"))
@pytest.mark.parametrize("residual", choices("residual"))
def test_parameter_count_is_that_of_the_built_model(norm: str, residual: str) -> None:
    fields = ["embedding", "positions", "feed_forward", "pooling"]
    for values in itertools.product(*map(choices, fields)):
        parts = dict(zip(fields, values, strict=True))
        config = ModelConfig.model_validate(
            {"d_model": 8, "n_layers": 1, "n_heads": 2, "d_ff": 5, "max_seq_len": 7, "norm": norm, "residual": residual}
            | parts
        )
        assert parameter_count(config, 6, 3) == built_count(config, 6, 3), config


@given(
    attention=st.sampled_from(choices("attention")),
    n_layers=st.integers(0, 3),
    n_heads=st.integers(1, 3),
    head_dim=st.integers(1, 3).map(lambda half: 2 * half),
    d_ff=st.integers(1, 9),
    max_seq_len=st.integers(2, 9),
    vocab_size=st.integers(1, 12),
    n_classes=st.integers(1, 5),
)
def test_parameter_count_at_any_size(
    attention: Literal["full", "causal"],
    n_layers: int,
    n_heads: int,
    head_dim: int,
    d_ff: int,
    max_seq_len: int,
    vocab_size: int,
    n_classes: int,
) -> None:
    config = ModelConfig(
        d_model=n_heads * head_dim,
        n_layers=n_layers,
        n_heads=n_heads,
        d_ff=d_ff,
        max_seq_len=max_seq_len,
        attention=attention,
        positions="learned",
        pooling="flatten",
    )
    assert parameter_count(config, vocab_size, n_classes) == built_count(config, vocab_size, n_classes)


@pytest.mark.parametrize(("preset", "expected"), [("tiny", 681_282), ("small", 1_608_578), ("base", 5_184_258)])
def test_size_of_the_presets(preset: str, expected: int) -> None:
    assert parameter_count(PRESETS[preset], 10_000, 2) == expected
    assert built_count(PRESETS[preset], 10_000, 2) == expected


def test_every_preset_has_its_size_tested() -> None:
    assert set(PRESETS) == {"tiny", "small", "base"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"d_model": 10, "n_heads": 4}, "d_model=10, n_heads=4"),
        ({"d_model": 6, "n_heads": 2, "positions": "rotary"}, "positions='rotary'.* d_model=6, n_heads=2"),
        ({"d_model": 5, "n_heads": 5, "positions": "rotary-on-embeddings"}, "'rotary-on-embeddings'.* d_model=5"),
    ],
)
def test_fields_that_disagree_are_named_with_their_values(settings: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ModelConfig.model_validate(settings)


def test_one_hot_embeddings_need_room_for_the_vocabulary() -> None:
    with pytest.raises(ValueError, match="d_model=8, vocab_size=9"):
        Classifier(ModelConfig(d_model=8, n_heads=2, embedding="one-hot"), vocab_size=9, n_classes=2)


@pytest.mark.parametrize(
    "settings",
    [
        {"d_model": 0},
        {"n_layers": -1},
        {"n_heads": 0},
        {"d_ff": 0},
        {"max_seq_len": 1},
        {"dropout": 1},
        {"attention_dropout": -0.1},
        {"pooling": "median"},
        {"width": 64},
    ],
)
def test_values_out_of_range_and_unknown_fields_are_refused_by_name(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(settings))):
        ModelConfig.model_validate(settings)


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        PRESETS["tiny"].d_model = 32
