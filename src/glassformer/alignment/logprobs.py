"""Log-probabilities of tokens, means over them, and the entropy of a policy.

In this room `loss_mask` is (batch, seq), boolean and **True where a place counts**: tokens of the completion, neither
prompt nor padding. Values at masked places, even NaN or infinite ones, reach no result and no gradient. Every batch
must hold at least one place that counts.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


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
