import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from glassformer.alignment.divergence import categorical_kl
from tests.alignment.optimum import objective, optimal_policy

OUTCOMES = 6


def random_reference() -> Tensor:
    return torch.randn(OUTCOMES, dtype=torch.float64).log_softmax(-1)


def test_optimal_policy_by_hand() -> None:
    reference, rewards = torch.tensor([0.5, 0.25, 0.25]).log(), torch.tensor([0.0, 2 * math.log(2), 2 * math.log(6)])
    policy = optimal_policy(reference, rewards, 2.0)  # ∝ 0.5·1, 0.25·2, 0.25·6
    torch.testing.assert_close(policy.exp(), torch.tensor([0.2, 0.2, 0.6]))
    assert objective(policy, reference, rewards, 2.0).item() == pytest.approx(2 * math.log(2.5))
    assert objective(reference, reference, rewards, 2.0).item() == pytest.approx(math.log(2) / 2 + math.log(6) / 2)


@given(beta=st.floats(0.05, 5), step=st.floats(0.01, 3))
def test_the_optimal_policy_beats_whatever_differs_from_it(beta: float, step: float) -> None:
    reference, rewards = random_reference(), torch.randn(OUTCOMES, dtype=torch.float64)
    best = optimal_policy(reference, rewards, beta)
    highest = objective(best, reference, rewards, beta)
    torch.testing.assert_close(highest, beta * (reference + rewards / beta).logsumexp(0))
    for _ in range(5):
        other = (best + step * torch.randn(OUTCOMES, dtype=torch.float64)).log_softmax(-1)
        # The gap is β·KL(other ‖ best): that to the best policy is all that is lost.
        lost = highest - objective(other, reference, rewards, beta)
        assert lost > 0
        torch.testing.assert_close(lost, beta * categorical_kl(other, best))


def test_the_objective_is_flat_at_the_optimal_policy() -> None:
    reference, rewards = random_reference(), torch.randn(OUTCOMES, dtype=torch.float64)
    logits = optimal_policy(reference, rewards, 0.3).requires_grad_()
    (slope,) = torch.autograd.grad(objective(logits.log_softmax(-1), reference, rewards, 0.3), logits)
    torch.testing.assert_close(slope, torch.zeros_like(slope))
    assert torch.autograd.gradcheck(lambda x: objective(x.log_softmax(-1), reference, rewards, 0.3), [logits])


def test_what_the_reference_never_does_stays_out() -> None:
    reference = torch.tensor([0.5, 0, 0.5]).log()
    policy = optimal_policy(reference, torch.tensor([0.0, 50, 0]), 0.1)
    assert policy.exp().tolist() == [0.5, 0, 0.5]
    assert objective(policy, reference, torch.tensor([1.0, 50, 3]), 0.1).item() == pytest.approx(2)
