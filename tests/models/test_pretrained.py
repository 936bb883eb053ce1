from typing import Any

import pytest
import torch
from pydantic import ValidationError

from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.block import Block
from glassformer.layers.masks import FullPattern, LocalPattern
from glassformer.layers.norms import NoNorm
from glassformer.layers.positions import Rotary
from glassformer.models.pretrained import PretrainedConfig, PretrainedEncoder
from tests.support import randomise, right_padded

POST = PretrainedConfig(d_model=12, n_layers=3, n_heads=2, d_ff=7, max_seq_len=9)
PRE = PretrainedConfig(
    d_model=12, n_layers=3, n_heads=2, d_ff=7, max_seq_len=9, residual="pre-norm", positions="rotary",
    rotary_base=500.0, local_rotary_base=70.0, local_blocks=(1,), local_reach=2, feed_forward="gated",
    head_norm="layer",
)  # fmt: skip


def blocks(model: PretrainedEncoder) -> list[Block]:
    return [block for block in model.blocks if isinstance(block, Block)]


@pytest.mark.parametrize("config", [POST, PRE], ids=["post-norm", "pre-norm"])
def test_padding_changes_nothing(config: PretrainedConfig) -> None:
    model = randomise(PretrainedEncoder(config, 11, 4), std=0.3).eval()
    token_ids = torch.randint(11, (3, 8))
    logits = model(token_ids, right_padded([8, 5, 2]))
    assert logits.std() > 0.01
    for row, length in enumerate([8, 5, 2]):
        alone = model(token_ids[row : row + 1, :length], right_padded([length]))
        torch.testing.assert_close(logits[row], alone[0], rtol=1e-4, atol=1e-5)


def test_blocks_look_and_turn_as_the_config_says() -> None:
    model = PretrainedEncoder(PRE, 11, 4)
    for number, block in enumerate(blocks(model)):
        attention = block.attention
        assert isinstance(attention, MultiHeadAttention)
        assert isinstance(attention.pattern, LocalPattern if number == 1 else FullPattern)
        expected = Rotary(9, 6, base=70.0 if number == 1 else 500.0)
        assert isinstance(attention.rotation, Rotary)
        assert torch.equal(attention.rotation.cos, expected.cos)
        assert isinstance(block.attention_pre_norm, NoNorm) == (number == 0)  # the embeddings are normed already
        assert not isinstance(block.feed_forward_pre_norm, NoNorm)


def test_a_local_block_does_not_see_what_is_far() -> None:
    config = PRE.model_copy(update={"n_layers": 1, "local_blocks": (0,), "pooling": "first"})
    model = randomise(PretrainedEncoder(config, 11, 4), std=0.5).eval()
    token_ids = torch.randint(11, (1, 8))
    near, far = token_ids.clone(), token_ids.clone()
    near[0, 2], far[0, 3:] = (near[0, 2] + 1) % 11, (far[0, 3:] + 1) % 11
    mask = right_padded([8])
    assert not torch.allclose(model(token_ids, mask), model(near, mask))
    torch.testing.assert_close(model(token_ids, mask), model(far, mask))


def test_a_new_head_says_of_every_class_the_same() -> None:
    logits = PretrainedEncoder(POST, 11, 4)(torch.randint(11, (2, 5)), right_padded([5, 3]))
    assert torch.equal(logits, torch.zeros(2, 4))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"d_model": 10, "n_heads": 3}, ["d_model=10", "n_heads=3"]),
        ({"d_model": 6, "n_heads": 2, "positions": "rotary"}, ["even width", "d_model=6"]),
        ({"n_layers": 2, "local_blocks": (2,)}, ["local_blocks", "n_layers=2"]),
        ({"activation": "mish"}, ["activation"]),
    ],
)
def test_settings_that_do_not_agree_are_refused(values: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        PretrainedConfig.model_validate(values)
    assert all(word in str(caught.value) for word in words)
