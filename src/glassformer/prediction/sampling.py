"""Sampling: from the logits of the next token to a token."""

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel, Field
from torch import Tensor

from glassformer.data.tokenizers import PAD_ID, UNKNOWN_ID

BANNED = (PAD_ID, UNKNOWN_ID)
"""Tokens that never occur in a text."""


class SamplingConfig(BaseModel, frozen=True, extra="forbid"):
    """The settings of sampling."""

    max_tokens: int = Field(default=100, ge=1)
    """The largest number of new tokens. A text may end earlier."""
    temperature: float = Field(default=1.0, ge=0, le=1e6)
    """Logits are divided by this. Below 1, probable tokens become more probable; 0 always takes the most probable."""
    top_k: int | None = Field(default=None, ge=1)
    """Choose among this many most probable tokens, and those that tie with the last (Fan et al. 2018, §5.1)."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Choose among the fewest tokens that together have this probability (Holtzman et al. 2020, §3.1)."""
    repetition_penalty: float = Field(default=1.0, ge=1e-6, le=1e6)
    """Positive logits of tokens in the window are divided by this, negative ones multiplied (Keskar et al. 2019, §4.1).
    """
    stop: tuple[str, ...] = ()
    """Strings that end the text. They are not part of it."""
    seed: int = Field(default=0, ge=0)
    """The seed of all random choices. The other prompts do not change the choices of a prompt."""


def without_banned(logits: Float[Tensor, "*places vocab"]) -> Float[Tensor, "*places vocab"]:
    """Set the logits of tokens that are never written to −∞.

    Both writing a text and computing its probability afterwards must use this function. If they banned different
    tokens, ratios of the probabilities would be wrong without an error.
    """
    banned = torch.zeros(logits.shape[-1], dtype=torch.bool, device=logits.device)
    banned[list(BANNED)] = True
    return logits.masked_fill(banned, -torch.inf)


def next_token_probs(
    logits: Float[Tensor, "batch vocab"], seen: Bool[Tensor, "batch vocab"], config: SamplingConfig
) -> Float[Tensor, "batch vocab"]:
    """Return the probabilities from which the next token is drawn. Rows sum to 1."""
    if config.repetition_penalty != 1:
        penalised = torch.where(logits > 0, logits / config.repetition_penalty, logits * config.repetition_penalty)
        logits = torch.where(seen, penalised, logits)
    if config.temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(dim=-1), logits.shape[-1]).to(logits.dtype)
    logits = logits - logits.max(dim=-1, keepdim=True).values  # avoids infinite values
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
    """Return the token whose part of [0, 1) contains `chance`. Equal chances give equal tokens."""
    ends = probs.double().cumsum(dim=-1)
    ends = ends / ends[:, -1:]  # sums of rounded numbers may be less than 1
    return torch.searchsorted(ends, chance.double()[:, None], right=True)[:, 0]
