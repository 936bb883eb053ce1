import math

import pytest
import torch
import torch.nn.functional as F

from glassformer.alignment.losses import (
    bradley_terry_loss,
    clipped_policy_loss,
    clipped_value_loss,
    preference_accuracy,
)

MASK = torch.tensor([[False, True, True], [False, False, True]])


def double(*values: list[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_bradley_terry_by_hand() -> None:
    chosen, rejected = torch.tensor([1.0, 2, -3]), torch.tensor([1.0, 2 - math.log(3), -3 + math.log(4)])
    losses = bradley_terry_loss(chosen, rejected)
    torch.testing.assert_close(losses, torch.tensor([math.log(2), math.log(4 / 3), math.log(5)]))


def test_bradley_terry_stays_finite_far_out() -> None:
    chosen, rejected = torch.tensor([-500.0, 500]), torch.tensor([500.0, -500])
    assert bradley_terry_loss(chosen, rejected).tolist() == [1000, 0]


def test_bradley_terry_pulls_both_sides_equally() -> None:
    chosen, rejected = double([0.5, -1, 2]), double([0.1, 1, 2])
    assert torch.autograd.gradcheck(bradley_terry_loss, [chosen[0], rejected[0]])
    pulls = torch.autograd.grad(bradley_terry_loss(chosen[0], rejected[0]).sum(), [chosen, rejected])
    torch.testing.assert_close(pulls[0], -pulls[1])
    assert pulls[0][0, 2] == -0.5


def test_accuracy_by_hand() -> None:
    chosen, rejected = torch.tensor([2.0, 1, 0, 5]), torch.tensor([1.0, 1, 3, 4])
    assert preference_accuracy(chosen, rejected).item() == 2.5 / 4


# Ratios 1.1 (free), 1.5 (beyond the clip) and 0.5 (below it), on good and on bad tokens.
RATIOS = double([9.0, 1.1, 1.5, 0.5, 1.5, 0.5], [1.2, 7.0, 7.0, 7.0, 7.0, 7.0])
ADVANTAGES = torch.tensor([[9.0, 2, 2, 2, -2, -2], [3, 9, 9, 9, 9, 9]], dtype=torch.float64)
PLACES = torch.tensor([[False] + [True] * 5, [True] + [False] * 5])
OLD = torch.tensor([[-1.0, -2, -3, -1, -2, -3], [-2, -1, -1, -1, -1, -1]], dtype=torch.float64)


def test_clipped_policy_loss_by_hand() -> None:
    # First row, the smaller of free and clipped: 2·1.1 + 2·1.25 + 2·0.5 − 2·1.5 − 2·0.75 = 1.2; second row: 3·1.2 = 3.6
    loss, share = clipped_policy_loss(RATIOS.log() + OLD, OLD, ADVANTAGES, PLACES, 0.25)
    assert loss.item() == pytest.approx(-4.8 / 6)
    assert share.item() == pytest.approx(2 / 6)


def test_only_what_is_not_clipped_gives_a_gradient() -> None:
    loss, _ = clipped_policy_loss(RATIOS.log(), torch.zeros_like(OLD), ADVANTAGES, PLACES, 0.25)
    (gradient,) = torch.autograd.grad(loss, RATIOS)  # of −ρ·A/6 where free
    expected = torch.tensor([[0.0, -2, 0, -2, 2, 0], [-3, 0, 0, 0, 0, 0]], dtype=torch.float64) / 6
    torch.testing.assert_close(gradient, expected)


def test_before_the_first_step_the_gradient_is_the_policy_gradient() -> None:
    logprobs = OLD.clone().requires_grad_()
    loss, share = clipped_policy_loss(logprobs, OLD, ADVANTAGES, PLACES, 0.2)
    (gradient,) = torch.autograd.grad(loss, logprobs)
    torch.testing.assert_close(gradient, -ADVANTAGES.where(PLACES, 0) / 6)
    assert share.item() == 0


def test_gradients_of_the_clipped_policy_loss() -> None:
    logprobs = (RATIOS.detach().log() + OLD).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: clipped_policy_loss(x, OLD, ADVANTAGES, PLACES, 0.25)[0], [logprobs])


def test_clipped_value_loss_by_hand() -> None:
    # V, V_old, R: within the clip; beyond it and past the target's side; beyond it, away from the target
    values = double([9.0, 1.5, 4.0], [9.0, 9.0, -1.0])
    old_values = torch.tensor([[0.0, 1, 1], [0, 0, 1]], dtype=torch.float64)
    returns = torch.tensor([[0.0, 3, 5], [0, 0, 2]], dtype=torch.float64)
    # ½·1.5² ; ½·max(1², (2−5)²) with V clipped to 2 ; ½·max(3², (0−2)²) with V clipped to 0
    expected = (1.125 + 4.5 + 4.5) / 3

    loss = clipped_value_loss(values, old_values, returns, MASK, 1.0)

    assert loss.item() == pytest.approx(expected)
    (gradient,) = torch.autograd.grad(loss, values)
    torch.testing.assert_close(gradient, double([0.0, -1.5, 0], [0, 0, -3]).detach() / 3)


def test_gradients_of_the_clipped_value_loss() -> None:
    values = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    old_values, returns = torch.randn(2, 2, 3, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: clipped_value_loss(x, old_values, returns, MASK, 0.3), [values])


def test_an_unclipped_value_loss_is_half_the_squared_error() -> None:
    values, old_values, returns = torch.randn(3, 2, 3)
    loss = clipped_value_loss(values, old_values, returns, MASK, 100.0)
    torch.testing.assert_close(loss, F.mse_loss(values[MASK], returns[MASK]) / 2)
