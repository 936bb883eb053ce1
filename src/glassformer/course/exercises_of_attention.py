"""The exercises of lessons 1 to 4: averages, queries and keys, values, heads."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from glassformer.course.exercise import Exercise
from glassformer.course.model import small_model
from glassformer.layers.attention import attention_weights, plain_attention
from glassformer.tracing.trace import trace

NOT_STALE = "the ending is not stale"
_SCORES = [1.0, 2.0, 3.0]
_QUERY = torch.tensor([1.0, 2.0, 2.0, 0.0])
_KEYS = torch.tensor([[2.0, 1.0, 0.0, 5.0], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]])


def _past(tokens: int) -> Tensor:
    return torch.ones(tokens, tokens, dtype=torch.bool).tril()


def _average(values: Tensor, past: Tensor) -> Tensor:
    return past / past.sum(dim=1, keepdim=True) @ values


def _random(*shape: int) -> Tensor:
    """Return the same random numbers at each call, whatever the reader's generator does."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def _last_two() -> Tensor:
    return torch.eye(4) / 2 + torch.eye(4).roll(-1, dims=1).tril() / 2 + torch.diag(torch.tensor([0.5, 0, 0, 0]))


def _split(features: Tensor, n_heads: int) -> Tensor:
    return features.unflatten(-1, (n_heads, -1)).transpose(0, 1)


EXERCISES: Mapping[str, Exercise] = {
    "1.1": Exercise(
        right=_last_two,
        slips=(
            (lambda: (_last_two() > 0).float(), "These rows add up, and do not average: each row must add up to 1."),
            (lambda: _average(torch.eye(4), _past(4)), "These are averages of the whole past. Take two tokens only."),
        ),
        hint="Row i holds the weights of token i. Two of them are one half; in row 0, one of them is 1.",
        learned="Each row adds up to 1. Models of long texts often look no farther than a window like this one.",
    ),
    "1.2": Exercise(
        kind="function",
        right=lambda values: _average(values, _past(len(values))),
        calls=lambda: [(_random(3, 2),), (_random(5, 4),)],
        slips=(
            (lambda values: values.cumsum(dim=0), "These are sums. Divide each row by the number of its tokens."),
            (lambda values: values.mean(dim=0).expand(values.shape), "This averages the future too."),
        ),
        hint="Divide each row of torch.tril(torch.ones(n, n)) by its sum, and multiply it with the values.",
        learned="This is attention without any preference.",
    ),
    "1.3": Exercise(
        right=lambda: torch.tensor([1.0, 2.0, -torch.inf]).softmax(dim=0),
        slips=(
            (lambda: torch.tensor(_SCORES).softmax(dim=0), "Token 2 comes after token 1, so the mask hides it."),
            (
                lambda: torch.tensor([1.0, 2.0, 0.0]).softmax(dim=0),
                "You gave token 2 the score 0, and e to the power of 0 is 1. A hidden token has the score −∞.",
            ),
            (
                lambda: torch.tensor(_SCORES).softmax(dim=0) * torch.tensor([1.0, 1.0, 0.0]),
                "These weights do not add up to 1. Hide token 2 before the softmax, and not after it.",
            ),
        ),
        hint="Token 1 sees tokens 0 and 1. The softmax goes over their two scores, and token 2 has the weight 0.",
        learned="e² / (e¹ + e²) = .73. The score of a hidden token does not matter.",
    ),
    "2.1": Exercise(
        right=lambda: _KEYS @ _QUERY / 2,
        slips=(
            (lambda: _KEYS @ _QUERY, "Divide the dot products by the square root of 4, the length of the vectors."),
        ),
        hint="Multiply number by number, add up, and divide by √4 = 2. The first: (1·2 + 2·1 + 2·0 + 0·5) / 2.",
        learned="The 5 in the first key does not count: the query has a 0 there.",
    ),
    "2.2": Exercise(
        kind="function",
        right=lambda query, key: attention_weights(query, key, _past(len(query))),
        calls=lambda: [(_random(3, 4), _random(3, 4) + 1), (_random(6, 2), _random(6, 2) - 1)],
        slips=(
            (
                lambda query, key: (query @ key.T / query.shape[1] ** 0.5).softmax(dim=-1),
                "Your tokens look at the future. Set those scores to −∞ before the softmax.",
            ),
            (
                lambda query, key: (query @ key.T).masked_fill(~_past(len(query)), -torch.inf).softmax(dim=-1),
                "Divide the scores by the square root of query.shape[1], the length of a query.",
            ),
            (
                lambda query, key: attention_weights(key, query, _past(len(query))),
                "Rows and columns are swapped: row i holds the scores of query i with all keys.",
            ),
        ),
        hint="scores = query @ key.T / √length; then masked_fill with −∞ above the diagonal; then softmax(dim=-1).",
        learned="These few lines are in each block of each transformer.",
    ),
    "2.3": Exercise(
        kind="word",
        right=lambda: _looked_at(NOT_STALE),
        hint='Take the last row of found["blocks.0.attention.weights"][0]; argmax() gives the number of the token.',
        learned="The weights show where a model looks. Later lessons show what it does with this.",
    ),
    "3.1": Exercise(
        right=lambda: [1.0, 6.0],
        slips=(
            (lambda: [3.0, 2.0], "You gave 0.75 to the first token. The first weight belongs to the first value."),
            (lambda: [2.0, 4.0], "This is the plain average. The weights are 0.25 and 0.75."),
        ),
        hint="0.25 times (4, 0), plus 0.75 times (0, 8).",
        learned="A result of attention always lies between the values.",
    ),
    "3.2": Exercise(
        kind="function",
        right=lambda query, key, value: plain_attention(query, key, value, _past(len(query))),
        calls=lambda: [
            (_random(4, 3), _random(4, 3) + 1, _random(4, 5)),
            (_random(2, 6), _random(2, 6), _random(2, 6)),
        ],
        slips=(
            (
                lambda query, key, _value: attention_weights(query, key, _past(len(query))),
                "These are the weights. Multiply them with the values.",
            ),
            (
                lambda query, key, value: (query @ key.T / query.shape[1] ** 0.5).softmax(dim=-1) @ value,
                "Your tokens look at the future. Set those scores to −∞ before the softmax.",
            ),
        ),
        hint="Take your function of exercise 2.2, and multiply its weights with the values.",
        learned="softmax(QKᵀ / √d) V: equation 1 of the paper “Attention is all you need”.",
    ),
    "3.3": Exercise(
        right=lambda: [3.0, -1.0],
        slips=((lambda: [15.0, -5.0], "This is the sum of five values. The weights add up to 1, and not to 5."),),
        hint="Try it: take any weights that add up to 1, and multiply them with five rows of (3, −1).",
        learned="If all tokens have the same value, it does not matter where a token looks.",
    ),
    "4.1": Exercise(
        kind="function",
        right=_split,
        calls=lambda: [(_random(4, 6), 3), (_random(5, 8), 2)],
        slips=(
            (
                lambda features, n_heads: features.reshape(n_heads, len(features), -1),
                "Each head got pieces of several tokens. First split the last axis: view(tokens, n_heads, −1). "
                "Then swap the first two axes.",
            ),
            (
                lambda features, n_heads: features.unflatten(-1, (n_heads, -1)),
                "The axes are (tokens, heads, numbers). Swap the first two: transpose(0, 1).",
            ),
        ),
        hint="x.view(tokens, n_heads, −1) splits the numbers of each token; transpose(0, 1) puts the heads first.",
        learned="Splitting copies nothing and computes nothing: heads are a way to read the same numbers.",
    ),
    "4.2": Exercise(
        kind="function",
        right=lambda heads: heads.transpose(0, 1).flatten(1),
        calls=lambda: [(_random(3, 4, 2),), (_random(2, 5, 4),)],
        slips=(
            (
                lambda heads: heads.reshape(heads.shape[1], -1),
                "Tokens are mixed up. Swap the first two axes before you join the last two.",
            ),
        ),
        hint="transpose(0, 1) puts the tokens first; flatten(1) joins the last two axes.",
        learned="Joined heads are as wide as the model, whatever the number of heads.",
    ),
    "4.3": Exercise(
        right=lambda: 4 * 128 * 128,
        slips=(
            (lambda: 3 * 128 * 128, "The output projection is missing: there are four matrices."),
            (lambda: 4 * 4 * 128 * 128, "Each head has only its columns. Together the heads fill one matrix."),
        ),
        hint="Queries, keys, values and the output have a matrix each. All of them are 128 × 128.",
        learned="The number of heads does not change the number of weights.",
    ),
}


def _looked_at(text: str) -> str:
    found = trace(small_model(), text)
    return found.tokens[int(found["blocks.0.attention.weights"][0][-1].argmax())]
