import pytest
from pydantic import ValidationError

from glassformer.models.build import parameter_count
from glassformer.models.classifier import Classifier
from glassformer.models.model_config import PRESETS, DesignConfig, ModelConfig
from glassformer.models.pretrained import PretrainedConfig
from glassformer.models.published.bui_dang import BuiDangColumnsConfig, BuiDangRowsConfig
from glassformer.models.published.notes_decoder import NotesDecoderConfig
from glassformer.models.published.sentiment140 import Sentiment140Config
from glassformer.models.published.vinh import VinhTransformerConfig


@pytest.mark.parametrize(("preset", "expected"), [("tiny", 681_282), ("small", 1_608_578), ("base", 5_184_258)])
def test_size_of_the_presets(preset: str, expected: int) -> None:
    assert parameter_count(PRESETS[preset], 10_000, 2) == expected


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


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (ModelConfig(d_model=8, n_layers=1, n_heads=1), "1 block of width 8, 1 head"),
        (ModelConfig(d_model=8, n_layers=0, n_heads=2), "0 blocks of width 8, 2 heads"),
        (VinhTransformerConfig(num_heads=1), "1 head"),
        (BuiDangRowsConfig(n_heads=1), "1 head"),
        (BuiDangColumnsConfig(n_heads=2), "2 heads"),
        (NotesDecoderConfig(n_layers=1, num_heads=1), "decoder as an encoder, 1 block of width 64, 1 head"),
        (Sentiment140Config(n_layers=1, n_heads=1), "1 block of width 256, 1 head"),
        (PretrainedConfig(d_model=8, n_layers=1, n_heads=1), "1 block of width 8, 1 head"),
    ],
)
def test_one_is_singular_in_words(config: DesignConfig, told: str) -> None:
    assert config.in_words().endswith(told)
