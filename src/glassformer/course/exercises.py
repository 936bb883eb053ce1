"""The exercises: their right answers, and the slips that many make. `exercises.toml` holds what to say to each."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from glassformer.course.model import small_model
from glassformer.layers.attention import attention_weights, plain_attention
from glassformer.layers.norms import plain_layer_norm, plain_rms_norm
from glassformer.layers.pooling import MeanPooling
from glassformer.layers.positions import sinusoidal_table
from glassformer.tracing.trace import trace

Kind = Literal["numbers", "word", "function"]
Step = Callable[[Tensor], Tensor]

_SCORES = [1.0, 2.0, 3.0]
_QUERY = torch.tensor([1.0, 2.0, 2.0, 0.0])
_KEYS = torch.tensor([[2.0, 1.0, 0.0, 5.0], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
_ROW = torch.tensor([1.0, 2.0, 3.0, 4.0])
_LAYERS = 10
_IDS = [2, 6, 7, 5, 1]


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """An exercise.

    Attributes:
        right: computes the right answer; or the right function, which is called with the same arguments as the answer.
        calls: for a function, the arguments of each call.
        slips: wrong answers that many give, computed in the same way, and what to say to them.
    """

    kind: Kind
    right: Callable[..., Any]
    calls: Sequence[tuple[Any, ...]]
    slips: Sequence[tuple[Callable[..., Any], str]]
    hint: str
    learned: str


@cache
def all_exercises() -> Mapping[str, Exercise]:
    """Return name → exercise, in the order of the course."""
    said = tomllib.loads(files(__package__).joinpath("exercises.toml").read_text(encoding="utf-8"))
    found = {}
    for name, (right, slips, calls) in _ANSWERS.items():
        remarks = zip(slips, said[name].pop("slips", ()), strict=True)
        kind: Kind = "function" if calls else "word" if right is _looked_at else "numbers"
        found[name] = Exercise(kind=kind, right=right, calls=calls, slips=tuple(remarks), **said[name])
    return found


def _random(*shape: int, seed: int = 0) -> Tensor:
    """Return the same random numbers at each call, whatever the reader's generator does."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _past(tokens: int) -> Tensor:
    return torch.ones(tokens, tokens, dtype=torch.bool).tril()


def _average(values: Tensor, past: Tensor) -> Tensor:
    return past / past.sum(dim=1, keepdim=True) @ values


def _last_two() -> Tensor:
    return torch.eye(4) / 2 + torch.eye(4).roll(-1, dims=1).tril() / 2 + torch.diag(torch.tensor([0.5, 0, 0, 0]))


def _looked_at() -> str:
    found = trace(small_model(), "the ending is not stale")
    return found.tokens[int(found["blocks.0.attention.weights"][0][-1].argmax())]


def _unmasked(query: Tensor, key: Tensor) -> Tensor:
    return (query @ key.T / query.shape[1] ** 0.5).softmax(dim=-1)


def _split(features: Tensor, n_heads: int) -> Tensor:
    return features.unflatten(-1, (n_heads, -1)).transpose(0, 1)


def _turned(vector: Tensor, angle: float) -> Tensor:
    (x, y), cos, sin = vector, math.cos(angle), math.sin(angle)
    return torch.stack([x * cos - y * sin, x * sin + y * cos])


def _block(x: Tensor, norm: Step, attention: Step, feed_forward: Step) -> Tensor:
    x = x + attention(norm(x))
    return x + feed_forward(norm(x))


def _block_of_the_old_input(x: Tensor, norm: Step, attention: Step, feed_forward: Step) -> Tensor:
    return x + attention(norm(x)) + feed_forward(norm(x))


def _block_without_residuals(x: Tensor, norm: Step, attention: Step, feed_forward: Step) -> Tensor:
    return feed_forward(norm(attention(norm(x))))


def _block_with_norms_last(x: Tensor, norm: Step, attention: Step, feed_forward: Step) -> Tensor:
    x = norm(x + attention(x))
    return norm(x + feed_forward(x))


_HIDDEN_AND_MASK = _random(3, 4, 2), torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 0]], dtype=torch.bool)
_PARTS_OF_A_BLOCK = (
    _random(3, 4),
    lambda x: x / x.abs().amax(dim=-1, keepdim=True),
    lambda x: x.cumsum(dim=0) + 1,
    lambda x: 2 * x.square() - 1,
)
"""An input, and simple functions in place of norm, attention and feed-forward."""


class _Answers(NamedTuple):
    right: Callable[..., Any]
    slips: Sequence[Callable[..., Any]] = ()
    calls: Sequence[tuple[Any, ...]] = ()


_ANSWERS: Mapping[str, _Answers] = {
    "1.1": _Answers(_last_two, [lambda: (_last_two() > 0).float(), lambda: _average(torch.eye(4), _past(4))]),
    "1.2": _Answers(
        lambda values: _average(values, _past(len(values))),
        [lambda values: values.cumsum(dim=0), lambda values: values.mean(dim=0).expand(values.shape)],
        calls=[(_random(3, 2),), (_random(5, 4),)],
    ),
    "1.3": _Answers(
        lambda: torch.tensor([1.0, 2.0, -torch.inf]).softmax(dim=0),
        [
            lambda: torch.tensor(_SCORES).softmax(dim=0),
            lambda: torch.tensor([1.0, 2.0, 0.0]).softmax(dim=0),
            lambda: torch.tensor(_SCORES).softmax(dim=0) * torch.tensor([1.0, 1.0, 0.0]),
        ],
    ),
    "2.1": _Answers(lambda: _KEYS @ _QUERY / 2, [lambda: _KEYS @ _QUERY]),
    "2.2": _Answers(
        lambda query, key: attention_weights(query, key, _past(len(query))),
        [
            _unmasked,
            lambda query, key: (query @ key.T).masked_fill(~_past(len(query)), -torch.inf).softmax(dim=-1),
            lambda query, key: attention_weights(key, query, _past(len(query))),
        ],
        calls=[(_random(3, 4), _random(3, 4) + 1), (_random(6, 2), _random(6, 2) - 1)],
    ),
    "2.3": _Answers(_looked_at),
    "3.1": _Answers(lambda: [1.0, 6.0], [lambda: [3.0, 2.0], lambda: [2.0, 4.0]]),
    "3.2": _Answers(
        lambda query, key, value: plain_attention(query, key, value, _past(len(query))),
        [
            lambda query, key, _value: attention_weights(query, key, _past(len(query))),
            lambda query, key, value: _unmasked(query, key) @ value,
        ],
        calls=[(_random(4, 3), _random(4, 3) + 1, _random(4, 5)), (_random(2, 6), _random(2, 6), _random(2, 6))],
    ),
    "3.3": _Answers(lambda: [3.0, -1.0], [lambda: [15.0, -5.0]]),
    "4.1": _Answers(
        _split,
        [
            lambda features, n_heads: features.reshape(n_heads, len(features), -1),
            lambda features, n_heads: features.unflatten(-1, (n_heads, -1)),
        ],
        calls=[(_random(4, 6), 3), (_random(5, 8), 2)],
    ),
    "4.2": _Answers(
        lambda heads: heads.transpose(0, 1).flatten(1),
        [lambda heads: heads.reshape(heads.shape[1], -1)],
        calls=[(_random(3, 4, 2),), (_random(2, 5, 4),)],
    ),
    "4.3": _Answers(lambda: 4 * 128 * 128, [lambda: 3 * 128 * 128, lambda: 4 * 4 * 128 * 128]),
    "5.1": _Answers(
        lambda: sinusoidal_table(4, 4)[3],
        [
            lambda: sinusoidal_table(4, 4)[3][[1, 0, 3, 2]],
            lambda: sinusoidal_table(4, 4)[3][[0, 2, 1, 3]],
            lambda: sinusoidal_table(4, 4)[2],
        ],
    ),
    "5.2": _Answers(
        _turned,
        [
            lambda vector, angle: _turned(vector, -angle),
            lambda vector, angle: _turned(vector, math.radians(angle)),
        ],
        calls=[(torch.tensor([1.0, 0.0]), math.pi / 2), (torch.tensor([0.5, -2.0]), 0.3)],
    ),
    "5.3": _Answers(lambda: 0.5, [lambda: 1.0]),
    "6.1": _Answers(
        lambda: (_ROW - 2.5) / math.sqrt(1.25),
        [lambda: (_ROW - 2.5) / _ROW.std(), lambda: _ROW - 2.5, lambda: (_ROW - 2.5) / 1.25],
    ),
    "6.2": _Answers(
        lambda x: plain_rms_norm(x, torch.ones(x.shape[-1]), 0.0),
        [
            lambda x: plain_layer_norm(x, torch.ones(x.shape[-1]), None, 0.0),
            lambda x: x / x.norm(dim=-1, keepdim=True),
            lambda x: x / x.square().mean().sqrt(),
        ],
        calls=[(_random(3, 4),), (_random(2, 6) + 3,)],
    ),
    "6.3": _Answers(lambda: 1.1**_LAYERS, [lambda: 0.1**_LAYERS, lambda: 1.1 * _LAYERS, lambda: 1 + 0.1 * _LAYERS]),
    "7.1": _Answers(
        lambda x, w_in, w_out: (x @ w_in).relu() @ w_out,
        [lambda x, w_in, w_out: x @ w_in @ w_out, lambda x, w_in, w_out: (x @ w_in @ w_out).relu()],
        calls=[(_random(3, 4), _random(4, 8, seed=1), _random(8, 4, seed=2))],
    ),
    "7.2": _Answers(
        lambda: 4 * 16 * 16 + 2 * 16 * 32 + 2 * 2 * 16,
        [
            lambda: 4 * 16 * 16 + 2 * 16 * 32,
            lambda: 4 * 16 * 16 + 2 * 16 * 32 + 2 * 16,
            lambda: 3 * 16 * 16 + 2 * 16 * 32 + 2 * 2 * 16,
        ],
    ),
    "7.3": _Answers(
        _block,
        [_block_of_the_old_input, _block_without_residuals, _block_with_norms_last],
        calls=[_PARTS_OF_A_BLOCK],
    ),
    "8.1": _Answers(lambda: _IDS, [lambda: _IDS[:4], lambda: [2, 6, 7, 5, 0]]),
    "8.2": _Answers(
        lambda hidden, mask: MeanPooling()(hidden, mask),
        [
            lambda hidden, _mask: hidden.mean(dim=1),
            lambda hidden, mask: (hidden * mask[:, :, None]).mean(dim=1),
            lambda hidden, mask: (hidden * mask[:, :, None]).sum(dim=1),
        ],
        calls=[_HIDDEN_AND_MASK],
    ),
    "8.3": _Answers(
        lambda: math.log(1 + math.exp(2)), [lambda: math.log(1 + math.exp(-2)), lambda: 1 / (1 + math.exp(2))]
    ),
    "9.1": _Answers(lambda: math.log(27), [lambda: math.log2(27), lambda: math.log10(27), lambda: -math.log(27)]),
    "9.2": _Answers(lambda: 0.02, [lambda: 2.0, lambda: 0.72 - 1 / 3]),
    "9.3": _Answers(lambda: 0.05, [lambda: 1 / 400, lambda: 20.0]),
    "10.1": _Answers(lambda: [4, 7, 5, 2], [lambda: [2, 4, 7, 5], lambda: [4, 7, 5]]),
    "10.2": _Answers(
        lambda logits, temperature: (logits / temperature).softmax(dim=-1),
        [
            lambda logits, temperature: (logits * temperature).softmax(dim=-1),
            lambda logits, _temperature: logits.softmax(dim=-1),
            lambda logits, temperature: logits.softmax(dim=-1) / temperature,
        ],
        calls=[(torch.tensor([2.0, 1.0, -1.0]), 0.5), (torch.tensor([[0.0, 3.0], [1.0, 1.5]]), 2.0)],
    ),
    "10.3": _Answers(lambda: 0.5, [lambda: 1.3, lambda: -3.1, lambda: 1.9]),
}
"""The right answer of each exercise, and the slips in the order of their remarks in `exercises.toml`."""
