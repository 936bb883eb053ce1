"""What stands at a masked place, be it infinite or not a number, reaches no result and no gradient."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from glassformer.alignment import advantages, divergence, losses

VOCAB_SIZE = 5
Function = Callable[..., Tensor | tuple[Tensor, ...]]


# Each takes tensors of (batch, seq), then the mask, and gives one tensor or several.
OF_PLACES: dict[str, tuple[int, Function]] = {
    "mean_over_tokens": (1, divergence.mean_over_tokens),
    "log_ratios": (2, divergence.log_ratios),
    "clipped_policy_loss": (3, partial(losses.clipped_policy_loss, clip=0.2)),
    "clipped_value_loss": (3, partial(losses.clipped_value_loss, clip=0.2)),
    "per_token_rewards": (2, lambda x, y, mask: advantages.per_token_rewards(torch.ones(len(x)), x, y, mask, 0.1)),
    "generalised_advantages": (2, partial(advantages.generalised_advantages, gamma=0.9, lam=0.8)),
    "whiten": (1, advantages.whiten),
}
# These take logits (batch, seq, vocab_size) and the mask.
OF_LOGITS: dict[str, tuple[int, Function]] = {
    "entropy": (1, divergence.entropy),
    "categorical_kl": (2, lambda x, y, mask: divergence.categorical_kl(x[mask], y[mask])),
    "token_logprobs": (1, lambda x, mask: divergence.token_logprobs(x[mask], torch.ones(mask.shape).long()[mask])),
}
CONSTANTS = ("per_token_rewards", "generalised_advantages", "whiten")

junk = st.sampled_from([float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 0.0])
masks = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=3)


def results(function: Function, inputs: list[Tensor], mask: Tensor) -> tuple[Tensor, ...]:
    found = function(*inputs, mask)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", [*OF_PLACES, *OF_LOGITS])
@given(spans=masks, extra=st.integers(0, 2), junk=junk)
def test_masked_places_reach_no_result_and_no_gradient(
    name: str, spans: list[tuple[int, int]], extra: int, junk: float
) -> None:
    count, function = (OF_PLACES | OF_LOGITS)[name]
    seq = max(prompt + length for prompt, length in spans) + extra
    mask = torch.tensor([[prompt <= t < prompt + length for t in range(seq)] for prompt, length in spans])
    shape = (*mask.shape, VOCAB_SIZE) if name in OF_LOGITS else tuple(mask.shape)
    kept = mask.reshape(*mask.shape, *(1 for _ in shape[2:]))
    clean = [torch.randn(shape, requires_grad=True) for _ in range(count)]
    soiled = [x.detach().where(kept, junk).requires_grad_() for x in clean]

    expected, found = results(function, clean, mask), results(function, soiled, mask)

    for result, other in zip(expected, found, strict=True):
        assert result.tolist() == other.tolist()
    if name not in CONSTANTS:
        wanted = torch.autograd.grad(expected[0].sum(), clean)
        got = torch.autograd.grad(found[0].sum(), soiled)
        for gradient, other in zip(wanted, got, strict=True):
            assert gradient.tolist() == other.tolist()
            assert not other.masked_select(~kept).any()
