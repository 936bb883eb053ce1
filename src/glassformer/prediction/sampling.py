"""From the logits of the next token to a token."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from glassformer.data.tokenizers import PAD_ID, UNKNOWN_ID

BANNED = (PAD_ID, UNKNOWN_ID)
"""Tokens that are no part of any text."""


class SamplingConfig(BaseModel):
    """How a text is continued."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_tokens: int = Field(default=100, ge=1)
    """The most tokens written; a text that ends sooner ends there."""
    temperature: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """What logits are divided by: below 1 the likely becomes likelier; 0 always takes the likeliest."""
    top_k: int | None = Field(default=None, ge=1)
    """Choose among so many of the likeliest tokens, and those as likely as the last of them (Fan et al. 2018, §5.1)."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Choose among the fewest tokens that are this probable together (Holtzman et al. 2020, §3.1)."""
    repetition_penalty: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """What the logits of tokens in view are divided by, or multiplied by below 0 (Keskar et al. 2019, §4.1)."""
    stop: tuple[str, ...] = ()
    """Strings that end the text; they are not part of it."""
    seed: int = Field(default=0, ge=0)
    """Decides every choice. Each prompt has choices of its own, whatever stands beside it."""


def without_banned(logits: Float[Tensor, "*places vocab"]) -> Float[Tensor, "*places vocab"]:
    """The logits, −∞ where a token is never written.

    For whatever writes, and whatever reads back how likely that was: ratios of the two are silently wrong where they
    ban different tokens.
    """
    banned = torch.zeros(logits.shape[-1], dtype=torch.bool, device=logits.device)
    banned[list(BANNED)] = True
    return logits.masked_fill(banned, -torch.inf)


def next_token_probs(
    logits: Float[Tensor, "batch vocab"], seen: Bool[Tensor, "batch vocab"], config: SamplingConfig
) -> Float[Tensor, "batch vocab"]:
    """The distribution that the next token is drawn from; rows sum to 1.

    Args:
        seen: the tokens in view.
    """
    if config.repetition_penalty != 1:
        penalised = torch.where(logits > 0, logits / config.repetition_penalty, logits * config.repetition_penalty)
        logits = torch.where(seen, penalised, logits)
    if config.temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(dim=-1), logits.shape[-1]).to(logits.dtype)
    logits = logits - logits.max(dim=-1, keepdim=True).values  # so that nothing grows beyond all numbers
    logits = logits / max(config.temperature, torch.finfo(logits.dtype).tiny)
    if config.top_k is not None and config.top_k < logits.shape[-1]:
        fewest = logits.topk(config.top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < fewest, -torch.inf)
    probs = logits.softmax(dim=-1)
    if config.top_p < 1:
        ranked, order = probs.sort(dim=-1, descending=True, stable=True)
        enough_before = ranked.cumsum(dim=-1) - ranked >= config.top_p
        probs = probs.masked_fill(enough_before.gather(1, order.argsort(dim=-1)), 0.0)
    return probs / probs.sum(dim=-1, keepdim=True)


def draw(probs: Float[Tensor, "batch vocab"], chance: Float[Tensor, " batch"]) -> Int[Tensor, " batch"]:
    """The token whose stretch of [0, 1) the chance falls into, so that equal chances give equal tokens."""
    ends = probs.double().cumsum(dim=-1)
    ends = ends / ends[:, -1:]  # sums of rounded numbers fall short of 1
    return torch.searchsorted(ends, chance.double()[:, None], right=True)[:, 0]
