from typing import Any

import pytest
import torch

from glassformer.errors import UsageError
from glassformer.models.build import build_model
from glassformer.models.checkpoints_out import as_encoder
from glassformer.models.classifier import Classifier
from glassformer.models.model_config import PRESETS, ModelConfig
from glassformer.models.pretrained import PretrainedConfig, PretrainedEncoder
from glassformer.models.published.vinh import VinhMLPConfig
from tests.support import randomise, right_padded

SMALL = ModelConfig(d_model=12, n_layers=3, n_heads=2, d_ff=7, max_seq_len=9)
LENGTHS = [9, 1, 4]


@pytest.mark.parametrize(
    ("config", "n_classes"),
    [
        (SMALL, 4),
        (SMALL.model_copy(update={"feed_forward": "swiglu", "pooling": "first"}), 6),
        (SMALL.model_copy(update={"feed_forward": "glu", "n_layers": 1}), 1),
        *((preset, 3) for preset in PRESETS.values()),
    ],
    ids=str,
)
def test_the_encoder_says_the_same(config: ModelConfig, n_classes: int) -> None:
    model = randomise(Classifier(config, 11, n_classes), std=0.3).eval()
    shape, weights = as_encoder(config, model.state_dict(), n_classes)
    encoder = PretrainedEncoder(shape, 11, n_classes).eval()
    encoder.load_state_dict(weights)
    token_ids, mask = torch.randint(11, (3, 9)), right_padded(LENGTHS)
    logits = model(token_ids, mask)
    assert logits.std() > 0.1 or n_classes == 1
    torch.testing.assert_close(encoder(token_ids, mask), logits, rtol=1e-5, atol=1e-5)


def test_an_encoder_stays_as_it_is() -> None:
    config = PretrainedConfig(d_model=12, n_layers=1, max_seq_len=9)
    weights = PretrainedEncoder(config, 11, 4).state_dict()
    found, same = as_encoder(config, weights, 4)
    assert found == config
    assert same.keys() == weights.keys()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"norm": "layer"}, ["model.norm is 'layer'", "`model.norm='rms'`"]),
        ({"residual": "post-norm"}, ["model.residual is 'post-norm'"]),
        ({"positions": "learned"}, ["model.positions is 'learned'", "`model.positions='rotary'`"]),
        ({"attention": "causal"}, ["model.attention is 'causal'"]),
        ({"feed_forward": "gelu"}, ["model.feed_forward is 'gelu'", "`model.feed_forward='geglu'`"]),
        ({"pooling": "attention"}, ["model.pooling is 'attention'", "`model.pooling='mean'`"]),
        ({"embedding": "one-hot"}, ["model.embedding is 'one-hot'"]),
        ({}, ["7 labels", "model.d_model = 12", "14 or more"]),
    ],
    ids=str,
)
def test_a_setting_without_an_equivalent_is_named(changes: dict[str, Any], words: list[str]) -> None:
    config = SMALL.model_copy(update=changes)
    with pytest.raises(UsageError) as caught:
        as_encoder(config, build_model(config, 11, 7).state_dict(), 7)
    assert all(word in str(caught.value) for word in words)


def test_a_published_design_is_named() -> None:
    with pytest.raises(UsageError, match="'vinh-mlp' is a published design"):
        as_encoder(VinhMLPConfig(), {}, 2)
