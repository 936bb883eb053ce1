import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from glassformer.alignment.advantages import (
    generalised_advantages,
    group_relative_advantages,
    per_token_rewards,
    whiten,
)

Spans = list[tuple[int, int, int]]  # places of the prompt, of the completion, of padding


def completions(spans: Spans) -> Tensor:
    """The loss mask of rows that hold a prompt, a completion and padding of these lengths, padded to the longest."""
    seq = max(sum(span) for span in spans)
    return torch.tensor([[prompt <= t < prompt + length for t in range(seq)] for prompt, length, _ in spans])


spans = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5), st.integers(0, 2)), min_size=1, max_size=4)
share = st.floats(0, 1)


def plain_advantages(rewards: list[float], values: list[float], gamma: float, lam: float) -> list[float]:
    """The reference path: eq. 16 as a sum of discounted one-step errors, for one completion."""
    after = [*values[1:], 0.0]
    errors = [rewards[t] + gamma * after[t] - values[t] for t in range(len(rewards))]
    return [
        sum((gamma * lam) ** (later - t) * errors[later] for later in range(t, len(rewards)))
        for t in range(len(rewards))
    ]


def test_advantages_by_hand() -> None:
    # Errors: 1 + ½·4 − 2 = 1; 0 + ½·6 − 4 = −1; 8 + 0 − 6 = 2. With γλ = ¼: 2; −1 + ½ = −½; 1 − ⅛ = ⅞.
    rewards, values = torch.tensor([[9.0, 1, 0, 8, 9]]), torch.tensor([[9.0, 2, 4, 6, 9]])
    mask = torch.tensor([[False, True, True, True, False]])
    advantages, returns = generalised_advantages(rewards, values, mask, 0.5, 0.5)
    assert advantages.tolist() == [[0, 0.875, -0.5, 2, 0]]
    assert returns.tolist() == [[0, 2.875, 3.5, 8, 0]]


@given(spans=spans, gamma=share, lam=share)
def test_advantages_are_those_of_the_plain_sum(spans: Spans, gamma: float, lam: float) -> None:
    mask = completions(spans)
    rewards, values = torch.randn(2, *mask.shape, dtype=torch.float64)
    advantages, returns = generalised_advantages(rewards, values, mask, gamma, lam)
    for row, kept in enumerate(mask):
        expected = plain_advantages(rewards[row, kept].tolist(), values[row, kept].tolist(), gamma, lam)
        torch.testing.assert_close(advantages[row, kept], torch.tensor(expected, dtype=torch.float64))
    torch.testing.assert_close(returns, (advantages + values).where(mask, 0))
    assert not advantages[~mask].any()


@given(spans=spans, gamma=share)
def test_with_lambda_one_they_are_what_followed_less_the_value(spans: Spans, gamma: float) -> None:
    mask = completions(spans)
    rewards, values = torch.randn(2, *mask.shape, dtype=torch.float64)
    advantages, returns = generalised_advantages(rewards, values, mask, gamma, 1.0)
    for row, kept in enumerate(mask):
        followed: list[float] = []
        total = 0.0
        for reward in reversed(rewards[row, kept].tolist()):
            total = reward + gamma * total
            followed.insert(0, total)
        torch.testing.assert_close(returns[row, kept], torch.tensor(followed, dtype=torch.float64))
        torch.testing.assert_close(advantages[row, kept], returns[row, kept] - values[row, kept])


@given(spans=spans, gamma=share)
def test_with_lambda_zero_they_are_one_step_errors(spans: Spans, gamma: float) -> None:
    mask = completions(spans)
    rewards, values = torch.randn(2, *mask.shape, dtype=torch.float64)
    advantages, _ = generalised_advantages(rewards, values, mask, gamma, 0.0)
    for row, kept in enumerate(mask):
        after = torch.cat([values[row, kept][1:], torch.zeros(1, dtype=torch.float64)])
        torch.testing.assert_close(advantages[row, kept], rewards[row, kept] + gamma * after - values[row, kept])


@given(spans=spans, gamma=share, lam=share)
def test_a_completion_alone_has_the_advantages_that_it_has_among_others(spans: Spans, gamma: float, lam: float) -> None:
    mask = completions(spans)
    rewards, values = torch.randn(2, *mask.shape)
    together = generalised_advantages(rewards, values, mask, gamma, lam)
    for row, kept in enumerate(mask):
        alone = generalised_advantages(
            rewards[row, kept][None], values[row, kept][None], torch.ones(1, int(kept.sum())).bool(), gamma, lam
        )
        for advantages, other in zip(alone, together, strict=True):
            assert advantages[0].tolist() == other[row, kept].tolist()


def test_right_values_leave_no_advantage() -> None:
    rewards, mask = torch.tensor([[0.0, 1, 2, 4]]), torch.tensor([[False, True, True, True]])
    values = torch.tensor([[5.0, 3, 4, 4]])  # 1 + ½·2 + ¼·4, 2 + ½·4, 4
    advantages, _ = generalised_advantages(rewards, values, mask, 0.5, 0.9)
    assert advantages.tolist() == [[0, 0, 0, 0]]


def test_rewards_by_hand() -> None:
    logprobs = torch.tensor([[-7.0, -1, -2, -7], [-7, -7, -4, -7]])
    reference = torch.tensor([[-9.0, -2, -1, -9], [-9, -9, -3.5, -9]])
    mask = torch.tensor([[False, True, True, False], [False, False, True, False]])
    rewards = per_token_rewards(torch.tensor([3.0, -5]), logprobs, reference, mask, 0.5)
    assert rewards.tolist() == [[0, -0.5, 3.5, 0], [0, 0, -4.75, 0]]


@given(spans=spans, beta=st.floats(0, 2))
def test_rewards_per_token_add_up_to_the_reward_less_the_completions_divergence(spans: Spans, beta: float) -> None:
    mask = completions(spans)
    whole = torch.randn(len(spans), dtype=torch.float64)
    logprobs, reference = torch.randn(2, *mask.shape, dtype=torch.float64)
    rewards = per_token_rewards(whole, logprobs, reference, mask, beta)
    ratio = (logprobs - reference).where(mask, 0).sum(1)
    torch.testing.assert_close(rewards.sum(1), whole - beta * ratio)


def test_a_row_without_a_completion_gets_no_reward() -> None:
    zeros = torch.zeros(1, 3)
    assert per_token_rewards(torch.tensor([4.0]), zeros, zeros, zeros.bool(), 0.1).tolist() == [[0, 0, 0]]


def test_whitening_by_hand() -> None:
    advantages = torch.tensor([[100.0, 1, 3], [5, 7, 100]])
    mask = torch.tensor([[False, True, True], [True, True, False]])
    found = whiten(advantages, mask)  # mean 4, variance 5
    torch.testing.assert_close(found, torch.tensor([[0.0, -3, -1], [1, 3, 0]]) / 5**0.5)


@given(spans=spans, scale=st.floats(1e-3, 1e3), shift=st.floats(-10, 10))
def test_whitened_advantages_have_mean_0_and_deviation_1(spans: Spans, scale: float, shift: float) -> None:
    mask = completions([*spans, (1, 2, 0)])
    found = whiten(torch.randn(mask.shape, dtype=torch.float64) * scale + shift, mask)
    torch.testing.assert_close(found[mask].mean().item(), 0.0, atol=1e-9, rtol=0)
    torch.testing.assert_close(found[mask].std(correction=0).item(), 1.0)


def test_group_advantages_by_hand() -> None:
    rewards = torch.tensor([[1.0, 0, 0, 1], [6, 2, 2, 2], [3, 3, 3, 3]])
    centred = torch.tensor([[0.5, -0.5, -0.5, 0.5], [3, -1, -1, -1], [0, 0, 0, 0]])  # squares: 1 + 12 + 0, of twelve
    torch.testing.assert_close(group_relative_advantages(rewards), centred / (13 / 12) ** 0.5)


def test_a_nat_costs_the_same_in_every_group() -> None:
    """Of the one prompt some completions are right; of the other all are, and only their KL differs."""
    beta, kl = 0.1, torch.tensor([[2.0, 2, 5, 5], [2, 2, 5, 5]])
    rewards = torch.tensor([[0.0, 1, 0, 1], [1, 1, 1, 1]])
    mixed, saturated = group_relative_advantages(rewards - beta * kl).tolist()
    assert mixed[0] - mixed[2] == pytest.approx(saturated[0] - saturated[2])
    worth_of_one = mixed[1] - mixed[0]
    assert (saturated[0] - saturated[2]) / 3 == pytest.approx(beta * worth_of_one)


@given(scale=st.floats(0.1, 10))
def test_group_advantages_have_mean_0_in_each_group_and_deviation_1_over_all(scale: float) -> None:
    found = group_relative_advantages(torch.randn(3, 4, dtype=torch.float64) * torch.tensor([[scale], [1], [2]]))
    torch.testing.assert_close(found.mean(1), torch.zeros(3, dtype=torch.float64))
    torch.testing.assert_close(found.std(correction=0).item(), 1.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@given(reward=st.floats(-1e3, 1e3, width=32), group=st.integers(1, 7))
def test_equal_rewards_are_no_better_than_each_other(dtype: torch.dtype, reward: float, group: int) -> None:
    rewards = torch.full((2, group), reward, dtype=dtype)
    assert not group_relative_advantages(rewards).any()
    assert not whiten(rewards, torch.ones_like(rewards).bool()).any()


@given(scale=st.floats(0.01, 100), shift=st.floats(-10, 10))
def test_group_advantages_do_not_depend_on_the_scale_of_rewards(scale: float, shift: float) -> None:
    rewards = torch.randn(3, 4, dtype=torch.float64)
    found = group_relative_advantages(rewards * scale + shift)
    torch.testing.assert_close(found, group_relative_advantages(rewards))


def test_a_reward_that_is_no_number_is_not_hidden() -> None:
    rewards = torch.tensor([[1.0, float("nan")], [2, 0]])
    assert group_relative_advantages(rewards).isnan().all()


def test_what_the_losses_hold_constant_carries_no_gradient() -> None:
    x, mask = torch.randn(2, 3, requires_grad=True), torch.ones(2, 3).bool()
    for found in (
        per_token_rewards(x[:, 0], x, x, mask, 0.1),
        *generalised_advantages(x, x, mask, 1.0, 0.9),
        whiten(x, mask),
        group_relative_advantages(x),
    ):
        assert not found.requires_grad
