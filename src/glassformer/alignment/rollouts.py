"""Let a policy write completions, and hold them as the tensors that its losses need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from glassformer.alignment.divergence import token_logprobs
from glassformer.data.tokenizers import PAD_ID, START_ID, TextTokenizer
from glassformer.layers.masks import lengths_to_mask
from glassformer.models.language_model import TokenPredictor
from glassformer.prediction.generation import begin_views, spellers, write_tokens
from glassformer.prediction.sampling import SamplingConfig, without_banned

_TOGETHER = 256  # completions that are written at once; the keys and values of each are in memory


@dataclass(frozen=True, kw_only=True)
class Rollouts:
    """Prompts joined with their completions and padded on the right.

    Attributes:
        loss_mask: True at place t if `token_ids[:, t + 1]` is a token of the completion, its end token included. It has
            one place less than `token_ids`.
        completion_ids: the completions as token ids, each with its end token if it has one.
        ended: whether each completion ended by itself, rather than being cut off at `max_tokens`.
    """

    token_ids: Int[Tensor, "batch seq"]
    attention_mask: Bool[Tensor, "batch seq"]
    loss_mask: Bool[Tensor, "batch places"]
    prompts: list[str]
    completions: list[str]
    completion_ids: list[list[int]]
    ended: list[bool]

    @property
    def texts(self) -> list[str]:
        """Each prompt joined with its completion."""
        return [prompt + completion for prompt, completion in zip(self.prompts, self.completions, strict=True)]

    @property
    def ids_without_end(self) -> list[list[int]]:
        """The completions as token ids without end tokens."""
        return [ids[:-1] if ended else ids for ids, ended in zip(self.completion_ids, self.ended, strict=True)]

    def rows(self, chosen: Int[Tensor, " rows"]) -> Rollouts:
        numbers = chosen.tolist()
        return Rollouts(
            token_ids=self.token_ids[chosen],
            attention_mask=self.attention_mask[chosen],
            loss_mask=self.loss_mask[chosen],
            prompts=[self.prompts[i] for i in numbers],
            completions=[self.completions[i] for i in numbers],
            completion_ids=[self.completion_ids[i] for i in numbers],
            ended=[self.ended[i] for i in numbers],
        )


def roll_out(
    policy: TokenPredictor,
    tokenizer: TextTokenizer,
    prompts: Sequence[str],
    sampling: SamplingConfig,
    *,
    max_seq_len: int,
) -> Rollouts:
    """Let the policy complete every prompt once.

    Each prompt and `sampling.max_tokens` must fit into the window together.

    Raises:
        GlassformerError: the policy gives NaN or infinite logits.
    """
    policy.eval()
    encoded = [ids.tolist() for ids in tokenizer.encode(prompts)]
    views = begin_views(encoded, max_seq_len, seed=sampling.seed)
    written: list[list[int]] = [[] for _ in prompts]
    for first in range(0, len(views), _TOGETHER):
        for tokens in write_tokens(policy, views[first : first + _TOGETHER], sampling):
            for row, token in zip(written[first:], tokens, strict=False):
                if token is not None:
                    row.append(token)
    lengths = torch.tensor([1 + len(ids) + len(row) for ids, row in zip(encoded, written, strict=True)])
    token_ids = torch.full((len(prompts), int(lengths.max())), PAD_ID)
    for number, (ids, row) in enumerate(zip(encoded, written, strict=True)):
        token_ids[number, : lengths[number]] = torch.tensor([START_ID, *ids, *row])
    seq = token_ids.shape[1]
    begins = torch.tensor([1 + len(ids) for ids in encoded])
    device = next(policy.parameters()).device
    mask = lengths_to_mask(lengths, seq)
    counts = mask & ~lengths_to_mask(begins, seq)
    return Rollouts(
        token_ids=token_ids.to(device),
        attention_mask=mask.to(device),
        loss_mask=counts[:, 1:].to(device),
        prompts=list(prompts),
        completions=[spell(row) for spell, row in zip(spellers(tokenizer, prompts), written, strict=True)],
        completion_ids=written,
        ended=[bool(row) and row[-1] == START_ID for row in written],
    )


def read_rollouts(
    model: TokenPredictor, rollouts: Rollouts
) -> tuple[Float[Tensor, "batch places vocab"], Float[Tensor, "batch places"], Float[Tensor, "batch places d_model"]]:
    """Read completions with a model.

    Tokens that are never generated (banned tokens) have the probability 0 here too.

    Returns:
        For each place, the logits of the next token, the log-probability of the token that follows, and the hidden
        state. At places that do not count, the log-probability is that of the start token and has no meaning.
    """
    hidden = model.read(rollouts.token_ids[:, :-1], rollouts.attention_mask[:, :-1])
    logits = without_banned(model.logits(hidden).float())
    # At places that do not count, the next token may be padding, which is banned: its log-probability is −∞.
    followed = rollouts.token_ids[:, 1:].where(rollouts.loss_mask, START_ID)
    return logits, token_logprobs(logits, followed), hidden


def distinct_n(sequences: Sequence[Sequence[int]], n: int) -> float:
    """Distinct n-grams of token ids as a share of all n-grams of all sequences; 0 if no sequence has n tokens.

    Li et al. 2016 divide by the number of tokens; then even n-grams that never repeat do not reach 1. The share falls
    with the amount of text, so compare equal amounts.
    """
    ngrams = [tuple(ids[start : start + n]) for ids in sequences for start in range(len(ids) - n + 1)]
    return len(set(ngrams)) / len(ngrams) if ngrams else 0.0
