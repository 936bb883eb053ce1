"""The notes' decoder as an encoder that classifies."""

import pytest
import torch
from pydantic import ValidationError

from glassformer.models.build import parameter_count
from glassformer.models.published.notes_decoder import NotesDecoder, NotesDecoderConfig
from tests.models.published.samples import batch
from tests.support import randomise

SMALL = NotesDecoderConfig(max_seq_len=7, emb_dim=12, n_layers=2, num_heads=3, dropout=0)


@pytest.mark.parametrize("is_decoder", [True, False])
def test_a_decoder_does_not_look_ahead_and_an_encoder_does(is_decoder: bool) -> None:
    model = randomise(NotesDecoder(SMALL.model_copy(update={"is_decoder": is_decoder}), 17, 4))
    seen: list[torch.Tensor] = []
    model.final_layernorm.register_forward_hook(lambda _module, _inputs, output: seen.append(output))
    model(*batch([3, 4, 5, 6, 7, 8]))
    model(*batch([3, 4, 5, 9, 7, 8]))
    moved = (seen[0] - seen[1]).abs().amax(dim=(0, 2)) > 1e-6
    assert moved.tolist() == ([False] * 3 + [True] * 3 if is_decoder else [True] * 6)


def test_the_loop_over_heads_is_fused_attention() -> None:
    model = randomise(NotesDecoder(SMALL.model_copy(update={"n_layers": 1}), 17, 4))
    block = model.blocks[0]
    reference = torch.nn.MultiheadAttention(12, 3, batch_first=True)
    stacked = [
        torch.cat([block.get_parameter(f"heads.{head}.{name}.weight") for head in range(3)])
        for name in ("query", "key", "value")
    ]
    reference.load_state_dict(
        {
            "in_proj_weight": torch.cat(stacked),
            "in_proj_bias": torch.zeros(36),
            "out_proj.weight": block.get_parameter("projection.0.weight"),
            "out_proj.bias": block.get_parameter("projection.0.bias"),
        }
    )
    hidden = torch.randn(2, 6, 12)
    normed = block.get_submodule("layernorm1")(hidden)
    attended = hidden + reference(normed, normed, normed)[0]
    expected = attended + block.get_submodule("feedforward")(block.get_submodule("layernorm2")(attended))
    torch.testing.assert_close(block(hidden), expected, atol=1e-5, rtol=1e-4)


def test_size_by_hand() -> None:
    blocks = 2 * (3 * 144 + (144 + 12) + (12 * 48 + 48) + (48 * 12 + 12) + 2 * 24)
    assert parameter_count(SMALL, 17, 4) == 17 * 12 + blocks + 24 + (48 + 4)


def test_heads_must_fit() -> None:
    with pytest.raises(ValidationError, match="emb_dim=12, num_heads=5"):
        NotesDecoderConfig(emb_dim=12, num_heads=5)
