from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from glassformer.models.language_model import LanguageModel
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.parts import parts_of
from glassformer.models.reward import RewardModel
from glassformer.training.optimizers import freeze
from tests.support import double_precision, randomise, right_padded

VOCAB_SIZE, WINDOW = 13, 9


def reward_model(members: int = 2, **values: Any) -> RewardModel:
    """In float64, with no weight at its starting value."""
    sizes: dict[str, Any] = {"d_model": 12, "n_layers": 2, "n_heads": 3, "d_ff": 10, "max_seq_len": WINDOW}
    with double_precision():
        language = LanguageModel(LanguageModelConfig.model_validate(sizes | values), VOCAB_SIZE)
        return randomise(RewardModel(language, members), std=0.4).eval()


def answers(lengths: list[int], *, begins: int = 1, seq: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Random tokens, in padding too, so that one of it that were read would show."""
    mask = right_padded(lengths, seq=seq or max(lengths))
    return torch.randint(VOCAB_SIZE, mask.shape), mask, mask[:, 1:] & (torch.arange(1, mask.shape[1]) >= begins)


def log_likelihood(model: nn.Module, ids: Tensor, begins: int) -> Tensor:
    """Of one row, token by token."""
    logprobs = model(ids[None], torch.ones(1, len(ids), dtype=torch.bool))[0].log_softmax(-1)
    return torch.stack([logprobs[t - 1, ids[t]] for t in range(begins, len(ids))]).sum()


def test_a_reward_is_how_much_likelier_each_member_finds_the_answer() -> None:
    model, lengths, begins = reward_model(3), [5, 3, 7], 2
    token_ids, mask, loss_mask = answers(lengths, begins=begins)
    found = model(token_ids, mask, loss_mask)
    for row, length in enumerate(lengths):
        ids = token_ids[row, :length]
        before = log_likelihood(model.reference, ids, begins)
        for number, member in enumerate(model.members):
            expected = log_likelihood(member, ids, begins) - before
            torch.testing.assert_close(found[row, number].double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "rotary", "rotary-on-embeddings"])
@settings(max_examples=6)
@given(lengths=st.lists(st.integers(2, 6), min_size=1, max_size=4), extra=st.integers(0, 3))
def test_neither_padding_nor_neighbours_change_a_reward(positions: str, lengths: list[int], extra: int) -> None:
    model = reward_model(positions=positions)
    token_ids, mask, loss_mask = answers(lengths, seq=max(lengths) + extra)
    found = model(token_ids, mask, loss_mask)
    for row, length in enumerate(lengths):
        only = slice(row, row + 1)
        alone = model(token_ids[only, :length], mask[only, :length], loss_mask[only, : length - 1])
        torch.testing.assert_close(found[only], alone, rtol=1e-5, atol=1e-5)


def test_every_token_of_the_answer_counts_and_the_prompt_is_read() -> None:
    model = reward_model()
    token_ids, mask, loss_mask = answers([6], begins=3)
    before = model(token_ids, mask, loss_mask)
    for place in range(6):
        other = token_ids.clone()
        other[0, place] = (other[0, place] + 1) % VOCAB_SIZE
        assert (model(other, mask, loss_mask) - before).abs().min().item() > 1e-4


def test_new_members_find_every_answer_as_likely_as_before() -> None:
    language = randomise(LanguageModel(LanguageModelConfig(d_model=12, n_heads=2, n_layers=1), VOCAB_SIZE), std=0.4)
    rewards = RewardModel(language, members=2)(*answers([6, 4]))
    torch.testing.assert_close(rewards, torch.zeros_like(rewards))  # only what learns has attention of its own


def test_the_reference_does_not_learn_and_has_no_dropout() -> None:
    model = reward_model(dropout=0.5).train()
    assert not model.reference.training
    assert all(member.training for member in model.members)
    model(*answers([6, 4])).sum().backward()
    assert all(parameter.grad is None for parameter in model.reference.parameters())
    assert all(parameter.grad is not None for parameter in model.members.parameters())


def test_freezing_the_members_does_not_thaw_the_reference() -> None:
    model = reward_model()
    freeze(model, 1)
    learns = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert learns
    assert not {name for name in learns if name.startswith("reference.")}


def test_blocks_of_the_same_depth_are_one_block() -> None:
    """So that `layer_decay`, `freeze` and Muon treat several members as they treat one model."""
    model = reward_model(3)
    blocks = parts_of(model).blocks
    assert len(blocks) == 2
    for depth, block in enumerate(blocks):
        of_members = [parts_of(member).blocks[depth] for member in model.members]
        assert {*block.parameters()} == {parameter for one in of_members for parameter in one.parameters()}
