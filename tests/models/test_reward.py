from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from glassformer.models.language_model import LanguageModel
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.parts import parts_of
from glassformer.models.reward import RewardEnsemble, RewardModel
from tests.support import double_precision, randomise, right_padded

VOCAB_SIZE, WINDOW = 13, 9


def shape(**values: Any) -> LanguageModelConfig:
    sizes: dict[str, Any] = {"d_model": 12, "n_layers": 2, "n_heads": 3, "d_ff": 10, "max_seq_len": WINDOW}
    return LanguageModelConfig.model_validate(sizes | values)


def reward_model(**values: Any) -> RewardModel:
    """In float64, with no weight at its starting value."""
    with double_precision():
        return randomise(RewardModel(shape(**values), VOCAB_SIZE), std=0.4).eval()


def test_a_reward_is_what_the_head_makes_of_the_last_token() -> None:
    model, token_ids, mask = reward_model(), torch.randint(VOCAB_SIZE, (3, 5)), right_padded([5, 2, 4])
    hidden = model.trunk.read(token_ids, mask)
    last = torch.stack([hidden[0, 4], hidden[1, 1], hidden[2, 3]])
    torch.testing.assert_close(model(token_ids, mask), last @ model.head.weight[0] + model.head.bias)


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "rotary", "rotary-on-embeddings"])
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4), extra=st.integers(0, 3))
def test_neither_padding_nor_neighbours_change_a_reward(positions: str, lengths: list[int], extra: int) -> None:
    """Padding holds arbitrary tokens, so that one that were read would show."""
    model, mask = reward_model(positions=positions), right_padded(lengths, seq=max(lengths) + extra)
    token_ids = torch.randint(VOCAB_SIZE, mask.shape)
    found = model(token_ids, mask)
    for row, length in enumerate(lengths):
        alone = model(token_ids[row : row + 1, :length], torch.ones(1, length, dtype=torch.bool))
        torch.testing.assert_close(found[row : row + 1], alone)


def test_every_token_of_the_text_counts() -> None:
    model, token_ids = reward_model(), torch.randint(VOCAB_SIZE, (1, 6))
    mask, before = torch.ones(1, 6, dtype=torch.bool), model(token_ids, torch.ones(1, 6, dtype=torch.bool))
    for place in range(6):
        other = token_ids.clone()
        other[0, place] = (other[0, place] + 1) % VOCAB_SIZE
        assert abs(model(other, mask) - before).item() > 1e-4


def test_it_has_the_weights_of_a_language_model_and_a_head() -> None:
    reward, language = RewardModel(shape(), VOCAB_SIZE), LanguageModel(shape(), VOCAB_SIZE)
    mine, theirs = ({name: tensor.shape for name, tensor in model.state_dict().items()} for model in (reward, language))
    assert mine == theirs | {"head.weight": (1, 12), "head.bias": (1,)}


def test_an_ensemble_is_its_members_side_by_side() -> None:
    with double_precision():
        ensemble = randomise(RewardEnsemble(shape(), VOCAB_SIZE, members=3), std=0.4).eval()
    token_ids, mask = torch.randint(VOCAB_SIZE, (4, 6)), right_padded([6, 3, 1, 6])
    found = ensemble(token_ids, mask)
    assert found.shape == (4, 3)
    for number, member in enumerate(ensemble.members):
        torch.testing.assert_close(found[:, number], member(token_ids, mask))


def test_new_members_differ() -> None:
    first, second = RewardEnsemble(shape(), VOCAB_SIZE, members=2).members
    assert not torch.equal(first.get_parameter("head.weight"), second.get_parameter("head.weight"))


def test_blocks_of_the_same_depth_are_one_block_of_an_ensemble() -> None:
    """So that `layer_decay`, `freeze` and Muon treat it as they treat one model."""
    ensemble = RewardEnsemble(shape(), VOCAB_SIZE, members=3)
    blocks = parts_of(ensemble).blocks
    assert len(blocks) == 2
    for depth, block in enumerate(blocks):
        of_members = [parts_of(member).blocks[depth] for member in ensemble.members]
        assert {*block.parameters()} == {parameter for one in of_members for parameter in one.parameters()}
