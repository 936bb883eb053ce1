"""Log-probabilities of tokens, the KL divergence of a policy from its reference, and the adaptive KL penalty β.

In this room `loss_mask` is (batch, seq), boolean and **True where a place counts**: tokens of the completion, neither
prompt nor padding. Values at masked places, even NaN or infinite ones, reach no result and no gradient. Every batch
must hold at least one place that counts.

Every divergence here is KL(policy ‖ reference) = E_policy[log policy − log reference], in nats. Samples of the policy
can estimate this direction. Statements about the expectation of an estimate hold for one place, given the tokens before
it. Both algorithms here use k₁, in the reward.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

LARGEST_ERROR = 0.2  # Ziegler et al. 2019, §2.2


def at_least_float32(values: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """As float32 where the precision is lower: two to three digits are too few for a sum over a vocabulary."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def token_logprobs(
    logits: Float[Tensor, "*places vocab_size"], token_ids: Int[Tensor, "*places"]
) -> Float[Tensor, "*places"]:
    """log softmax(logits)_token at each place, in nats, at least in float32.

    `logits[:, t]` must predict `token_ids[:, t]`: a causal model predicts token t + 1 at place t, so the caller shifts
    one of them. Computed as logit − logsumexp, it keeps no second tensor of the size of the logits for the backward
    pass, except a copy of logits in half precision.

    There is no mask here. If logits may be NaN at places that do not count, select first (`logits[loss_mask]`), because
    a gradient of 0 times NaN is NaN. A banned token (logit −∞) does no harm.
    """
    logits = at_least_float32(logits)
    return logits.gather(-1, token_ids[..., None]).squeeze(-1) - logits.logsumexp(-1)


def mean_over_tokens(values: Float[Tensor, "batch seq"], loss_mask: Bool[Tensor, "batch seq"]) -> Float[Tensor, ""]:
    """The mean over all places of the batch that count, so a long completion weighs more than a short one."""
    return values.where(loss_mask, 0).sum() / loss_mask.sum()


def entropy(logits: Float[Tensor, "batch seq vocab_size"], loss_mask: Bool[Tensor, "batch seq"]) -> Float[Tensor, ""]:
    """−Σ p log p over the vocabulary, in nats, averaged over all places of the batch that count.

    A banned token (logit −∞) contributes 0, the limit of p log p, and gets a gradient of 0.
    """
    logprobs = at_least_float32(logits[loss_mask]).log_softmax(-1)  # (places, vocab_size)
    probs = logprobs.exp()
    return -(probs * logprobs.masked_fill(probs == 0, 0)).sum(-1).mean()


def log_ratios(
    logprobs: Float[Tensor, "batch seq"],
    other_logprobs: Float[Tensor, "batch seq"],
    loss_mask: Bool[Tensor, "batch seq"],
) -> Float[Tensor, "batch seq"]:
    """logprobs − other_logprobs, 0 at masked places.

    The mask is applied here, before any exp or square. Applied after them, a NaN at a masked place would still reach
    the gradient (0 · NaN = NaN).

    With those of the reference in second place, of tokens that the policy drew, it is k₁ (Schulman 2020, "Approximating
    KL divergence"): unbiased, but negative for about half of the samples. Use it in the reward, not as a loss: the
    expectation of its *gradient* is 0.
    """
    return (logprobs - other_logprobs).where(loss_mask, 0)


def kl_of_logprobs(
    logprobs: Float[Tensor, "*places outcomes"], reference_logprobs: Float[Tensor, "*places outcomes"]
) -> Float[Tensor, "*places"]:
    """Σ p (log p − log q) over the last axis; an outcome of p = 0 contributes 0, also where q = 0, and no gradient.

    Infinite where the policy can draw something that the reference cannot.
    """
    probs = logprobs.exp()
    impossible = probs == 0
    ratios = logprobs.masked_fill(impossible, 0) - reference_logprobs.masked_fill(impossible, 0)
    return (probs * ratios).sum(-1)


def categorical_kl(
    policy_logits: Float[Tensor, "*places vocab_size"], reference_logits: Float[Tensor, "*places vocab_size"]
) -> Float[Tensor, "*places"]:
    """KL(policy ‖ reference) at each place, exactly, by a sum over the vocabulary; at least in float32.

    Select the places that count before the call (`logits[loss_mask]`).
    """
    return kl_of_logprobs(
        at_least_float32(policy_logits).log_softmax(-1), at_least_float32(reference_logits).log_softmax(-1)
    )


@dataclass(kw_only=True)
class AdaptiveBeta:
    """β, the penalty per nat of KL. It rises while the KL is above its target, and falls while the KL is below it.

    β ← β · (1 + clip(kl/target − 1, ±0.2) · n_samples/horizon). Ziegler et al. 2019, §2.2. Their K_β is
    n_samples/horizon here. It therefore hardly matters how samples are split into updates.
    """

    beta: float
    """The current value, in units of reward per nat."""
    target_kl: float | None
    """Above 0, in nats; of a token or of a completion, as `kl` in `update` is. With None, β does not change."""
    horizon: int
    """Samples after which β can be a fifth larger or smaller; well above the `n_samples` of an update."""

    def update(self, kl: float, n_samples: int) -> None:
        """Adapt β to the mean `kl` of `n_samples` completions. If `kl` is NaN, β becomes NaN."""
        if self.target_kl is None:
            return
        error = min(max(kl / self.target_kl - 1, -LARGEST_ERROR), LARGEST_ERROR)
        self.beta *= 1 + error * n_samples / self.horizon
