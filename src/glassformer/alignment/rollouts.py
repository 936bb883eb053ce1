"""What a policy writes, in the tensors that its losses need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from glassformer.alignment.logprobs import token_logprobs
from glassformer.data.tokenizers import PAD_ID, START_ID, TextTokenizer
from glassformer.layers.masks import lengths_to_mask
from glassformer.models.language_model import LanguageModel
from glassformer.prediction.generation import begin_views, write_tokens
from glassformer.prediction.sampling import SamplingConfig, without_banned
from glassformer.prediction.spelling import spellers


@dataclass(frozen=True, kw_only=True)
class Rollouts:
    """Prompts and their completions, read as one text each and padded on the right.

    Attributes:
        token_ids: with the start token, the prompt, and the completion.
        loss_mask: True where `token_ids[:, t + 1]` is of the completion, its end token included: one place less.
        completions: as texts.
        ended: whether a completion came to its end before it was cut off.
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
        """Prompts with their completions."""
        return [prompt + completion for prompt, completion in zip(self.prompts, self.completions, strict=True)]

    @property
    def without_end(self) -> tuple[Int[Tensor, "batch seq"], Bool[Tensor, "batch seq"]]:
        """`token_ids` and `attention_mask` without the end tokens of those that came to their end."""
        last = self.attention_mask.sum(dim=1) - torch.tensor(self.ended, device=self.attention_mask.device).int()
        mask = lengths_to_mask(last, self.token_ids.shape[1])
        return self.token_ids.masked_fill(~mask, PAD_ID), mask

    def rows(self, chosen: Int[Tensor, " rows"]) -> Rollouts:
        """Some of them."""
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
    policy: LanguageModel,
    tokenizer: TextTokenizer,
    prompts: Sequence[str],
    sampling: SamplingConfig,
    *,
    max_seq_len: int,
) -> Rollouts:
    """Let the policy complete every prompt once; prompt and `sampling.max_tokens` fit into the window together.

    Raises:
        GlassformerError: the policy answers with what is no number.
    """
    policy.eval()
    encoded = [ids.tolist() for ids in tokenizer.encode(prompts)]
    views = begin_views(encoded, max_seq_len, seed=sampling.seed)
    written: list[list[int]] = [[] for _ in prompts]
    for tokens in write_tokens(policy, views, sampling):
        for row, token in zip(written, tokens, strict=True):
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
    model: LanguageModel, rollouts: Rollouts
) -> tuple[Float[Tensor, "batch places vocab"], Float[Tensor, "batch places"], Float[Tensor, "batch places d_model"]]:
    """Of each place: the logits of the next token, the log-probability of the one that follows, and the hidden state.

    What is never written has no probability here either.
    """
    hidden = model.read(rollouts.token_ids[:, :-1], rollouts.attention_mask[:, :-1])
    logits = without_banned(model.logits(hidden).float())
    # Where nothing counts the next token may be padding, of which the log-probability is not a number to learn from.
    followed = rollouts.token_ids[:, 1:].where(rollouts.loss_mask, START_ID)
    return logits, token_logprobs(logits, followed), hidden
