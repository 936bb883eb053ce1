import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from glassformer.alignment.divergence import AdaptiveBeta, categorical_kl, log_ratios
from tests.alignment.optimum import optimal_policy

OUTCOMES = 6
EVERYWHERE = torch.ones(1, OUTCOMES, dtype=torch.bool)


def random_logits(*shape: int, scale: float = 1) -> Tensor:
    return (torch.randn(*shape, dtype=torch.float64) * scale).requires_grad_()


def two_policies(scale: float = 1) -> tuple[Tensor, Tensor]:
    """Log-probabilities (1, outcomes) of a policy and of its reference; each place of the row is one outcome."""
    policy, reference = random_logits(2, 1, OUTCOMES, scale=scale).log_softmax(-1)
    return policy, reference


def test_k1_by_hand() -> None:
    policy, reference = torch.tensor([[0.5, 0.2, 0.7]]).log(), torch.tensor([[0.25, 0.4, 0.1]]).log()
    mask, log2 = torch.tensor([[True, True, False]]), math.log(2)
    torch.testing.assert_close(log_ratios(policy, reference, mask), torch.tensor([[log2, -log2, 0]]))


@given(scale=st.floats(0.01, 3))
def test_k1_is_unbiased(scale: float) -> None:
    policy, reference = two_policies(scale)
    expected = (policy.exp() * log_ratios(policy, reference, EVERYWHERE)).sum()
    torch.testing.assert_close(expected, categorical_kl(policy, reference)[0])


def test_the_other_direction_is_another_number() -> None:
    policy, reference = two_policies()
    there, back = categorical_kl(policy, reference)[0], categorical_kl(reference, policy)[0]
    assert abs(there - back) > 0.05


def test_the_expected_gradient_of_k1_is_zero() -> None:
    """Over samples of the policy that are held fixed, as a training step holds them."""
    logits, reference_logits = random_logits(1, OUTCOMES), random_logits(1, OUTCOMES).detach()
    policy = logits.log_softmax(-1)
    estimates = log_ratios(policy, reference_logits.log_softmax(-1), EVERYWHERE)
    (gradient,) = torch.autograd.grad((policy.exp().detach() * estimates).sum(), logits)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient))


def test_gradients_of_k1() -> None:
    mask = torch.tensor([[False, True, True], [True, False, False]])
    assert torch.autograd.gradcheck(lambda p, q: log_ratios(p, q, mask), [random_logits(2, 3), random_logits(2, 3)])


def test_exact_kl_by_hand() -> None:
    policy = torch.tensor([[0.5, 0.25, 0.25], [1, 0, 0]]).log()
    reference = torch.tensor([[0.25, 0.5, 0.25], [0.2, 0.8, 0]]).log()
    torch.testing.assert_close(categorical_kl(policy, reference), torch.tensor([math.log(2) / 4, math.log(5)]))


def test_exact_kl_is_torchs() -> None:
    policy, reference = random_logits(2, 3, OUTCOMES), random_logits(2, 3, OUTCOMES)
    expected = torch.distributions.kl_divergence(
        torch.distributions.Categorical(logits=policy), torch.distributions.Categorical(logits=reference)
    )
    torch.testing.assert_close(categorical_kl(policy, reference), expected)


def test_gradients_of_exact_kl() -> None:
    assert torch.autograd.gradcheck(categorical_kl, [random_logits(2, 3, OUTCOMES), random_logits(2, 3, OUTCOMES)])


def test_tokens_banned_in_both_change_nothing() -> None:
    policy, reference = random_logits(2, OUTCOMES), random_logits(2, OUTCOMES)
    banned = torch.full((2, 1), -math.inf, dtype=torch.float64)
    found = categorical_kl(torch.cat([policy, banned], dim=1), torch.cat([reference, banned], dim=1))
    exact = categorical_kl(policy, reference)
    torch.testing.assert_close(found, exact)
    for gradient, other in zip(
        torch.autograd.grad(found.sum(), [policy, reference]),
        torch.autograd.grad(exact.sum(), [policy, reference]),
        strict=True,
    ):
        torch.testing.assert_close(gradient, other)


def test_tokens_banned_in_the_policy_alone_are_finite_and_in_the_reference_alone_are_not() -> None:
    free, banned = torch.tensor([[0.0, 0]]), torch.tensor([[0.0, -math.inf]])
    logits = banned.clone().requires_grad_()
    kl = categorical_kl(logits, free)
    assert kl.item() == pytest.approx(math.log(2))
    assert torch.autograd.grad(kl.sum(), logits)[0].isfinite().all()
    assert categorical_kl(free, banned).item() == math.inf


def test_kl_of_half_precision_is_summed_in_float32() -> None:
    policy, reference = random_logits(2, 2, 3, OUTCOMES).bfloat16()
    found = categorical_kl(policy, reference)
    assert found.dtype == torch.float32
    exact = categorical_kl(policy.double(), reference.double())
    torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-6)


def test_adaptive_beta_by_hand() -> None:
    beta = AdaptiveBeta(beta=0.5, target_kl=6.0, horizon=1000)
    beta.update(6.6, 100)  # error 0.1
    assert beta.beta == pytest.approx(0.5 * 1.01)
    beta.update(60.0, 250)  # error 9, clipped to 0.2
    assert beta.beta == pytest.approx(0.505 * 1.05)
    beta.update(0.0, 500)  # error −1, clipped to −0.2
    assert beta.beta == pytest.approx(0.53025 * 0.9)


def test_without_a_target_beta_stays() -> None:
    beta = AdaptiveBeta(beta=0.5, target_kl=None, horizon=1000)
    beta.update(60.0, 100)
    assert beta.beta == 0.5


def test_adaptive_beta_rests_at_its_target_and_shows_a_kl_that_is_no_number() -> None:
    beta = AdaptiveBeta(beta=0.5, target_kl=6.0, horizon=1000)
    beta.update(6.0, 100)
    assert beta.beta == 0.5
    beta.update(math.nan, 100)
    assert math.isnan(beta.beta)


def test_adaptive_beta_brings_the_best_policy_to_the_target() -> None:
    reference, rewards = two_policies()[1].detach()[0], torch.randn(OUTCOMES, dtype=torch.float64)
    beta = AdaptiveBeta(beta=5.0, target_kl=0.2, horizon=100)
    for _ in range(500):
        policy = optimal_policy(reference, rewards, beta.beta)
        beta.update(categorical_kl(policy, reference).item(), 10)
    assert categorical_kl(policy, reference).item() == pytest.approx(0.2, rel=1e-3)
