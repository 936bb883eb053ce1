"""The exercises of lessons 5 to 7: positions, residuals and norms, the block."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from glassformer.course.exercise import Exercise
from glassformer.layers.norms import plain_layer_norm, plain_rms_norm
from glassformer.layers.positions import sinusoidal_table

_ROW = torch.tensor([1.0, 2.0, 3.0, 4.0])
_LAYERS = 10
Step = Callable[[Tensor], Tensor]


def _turned(vector: Tensor, angle: float) -> Tensor:
    (x, y), cos, sin = vector, math.cos(angle), math.sin(angle)
    return torch.stack([x * cos - y * sin, x * sin + y * cos])


def _numbers(rows: int, width: int, seed: int = 0) -> Tensor:
    """Return the same random numbers at each call, whatever the reader's generator does."""
    return torch.randn((rows, width), generator=torch.Generator().manual_seed(seed))


def _fed(x: Tensor, w_in: Tensor, w_out: Tensor) -> Tensor:
    return (x @ w_in).relu() @ w_out


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


def _parts_of_a_block() -> tuple[Tensor, Step, Step, Step]:
    """Return an input, and simple functions in place of norm, attention and feed-forward."""
    return (
        _numbers(3, 4),
        lambda x: x / x.abs().amax(dim=-1, keepdim=True),
        lambda x: x.cumsum(dim=0) + 1,
        lambda x: 2 * x.square() - 1,
    )


EXERCISES: Mapping[str, Exercise] = {
    "5.1": Exercise(
        right=lambda: sinusoidal_table(4, 4)[3],
        slips=(
            (
                lambda: sinusoidal_table(4, 4)[3][[1, 0, 3, 2]],
                "Sines and cosines are swapped: the sine of each frequency comes first.",
            ),
            (
                lambda: sinusoidal_table(4, 4)[3][[0, 2, 1, 3]],
                "The order is: sine and cosine of the first frequency, then those of the second.",
            ),
            (lambda: sinusoidal_table(4, 4)[2], "This is position 2. Positions begin at 0, and the angle is 3 here."),
        ),
        hint="The angles are 3 · 1 and 3 · 0.01, in radians. Give sine, cosine, sine, cosine.",
        learned="The fast wave tells neighbours apart, the slow one tells the beginning of a text from its end.",
    ),
    "5.2": Exercise(
        kind="function",
        right=_turned,
        calls=lambda: [(torch.tensor([1.0, 0.0]), math.pi / 2), (torch.tensor([0.5, -2.0]), 0.3)],
        slips=(
            (
                lambda vector, angle: _turned(vector, -angle),
                "This turns the other way: the minus belongs to the first number.",
            ),
            (
                lambda vector, angle: _turned(vector, math.radians(angle)),
                "The angle is in radians already, so it needs no conversion.",
            ),
        ),
        hint="Return torch.stack([…, …]) with the two numbers of the formula.",
        learned="A rotation keeps the length of a vector. Rotary positions turn each pair of features in this way.",
    ),
    "5.3": Exercise(
        right=lambda: 0.5,
        slips=((lambda: 1.0, "Both texts of a pair have the same words, so a counting model gives both one answer."),),
        hint="Take one pair: the model gives both texts the same answer. How many of the two can be right?",
        learned="Such pairs are a good test of whether a model reads the order.",
    ),
    "6.1": Exercise(
        right=lambda: (_ROW - 2.5) / math.sqrt(1.25),
        slips=(
            (
                lambda: (_ROW - 2.5) / _ROW.std(),
                "This divides by the sample standard deviation. Divide the sum of squares by 4.",
            ),
            (lambda: _ROW - 2.5, "The mean is 0 now. Divide by the standard deviation too."),
            (lambda: (_ROW - 2.5) / 1.25, "You divided by the variance. Take its square root."),
        ),
        hint="The mean is 2.5. The variance is the mean of (−1.5)², (−0.5)², 0.5² and 1.5².",
        learned="Whatever the numbers were, they now have the mean 0 and the variance 1.",
    ),
    "6.2": Exercise(
        kind="function",
        right=lambda x: plain_rms_norm(x, torch.ones(x.shape[-1]), 0.0),
        calls=lambda: [(_numbers(3, 4),), (_numbers(2, 6) + 3,)],
        slips=(
            (
                lambda x: plain_layer_norm(x, torch.ones(x.shape[-1]), None, 0.0),
                "This is layer norm. RMS norm does not subtract the mean.",
            ),
            (
                lambda x: x / x.norm(dim=-1, keepdim=True),
                "You divided by the length of the row. Take the mean of the squares, and not their sum.",
            ),
            (
                lambda x: x / x.square().mean().sqrt(),
                "You took the mean over all rows. Each row has its own: mean(dim=-1, keepdim=True).",
            ),
        ),
        hint="x / x.square().mean(dim=-1, keepdim=True).sqrt()",
        learned="It is simpler than layer norm, and works as well.",
    ),
    "6.3": Exercise(
        right=lambda: 1.1**_LAYERS,
        slips=(
            (lambda: 0.1**_LAYERS, "This is the slope without residuals. With them, each layer computes x + 0.1·x."),
            (lambda: 1.1 * _LAYERS, "The slopes of layers multiply, and do not add up."),
            (lambda: 1 + 0.1 * _LAYERS, "The slopes of layers multiply, and do not add up."),
        ),
        hint="One layer computes 1.1·x, so its slope is 1.1. The slopes of all ten are multiplied.",
        learned="Without residuals the slope would be 0.1¹⁰: a ten-billionth.",
    ),
    "7.1": Exercise(
        kind="function",
        right=_fed,
        calls=lambda: [(_numbers(3, 4), _numbers(4, 8, 1), _numbers(8, 4, 2))],
        slips=(
            (lambda x, w_in, w_out: x @ w_in @ w_out, "The ReLU is missing. Without it, two matrices are only one."),
            (lambda x, w_in, w_out: (x @ w_in @ w_out).relu(), "The ReLU stands between the two matrices."),
        ),
        hint="(x @ w_in).relu() @ w_out",
        learned="Without the ReLU between them, one matrix could replace both.",
    ),
    "7.2": Exercise(
        right=lambda: 4 * 16 * 16 + 2 * 16 * 32 + 2 * 2 * 16,
        slips=(
            (lambda: 4 * 16 * 16 + 2 * 16 * 32, "The two norms are missing: each has 16 weights and 16 biases."),
            (lambda: 4 * 16 * 16 + 2 * 16 * 32 + 2 * 16, "Each of the two norms has 16 weights and 16 biases."),
            (lambda: 3 * 16 * 16 + 2 * 16 * 32 + 2 * 2 * 16, "Attention has four matrices: do not forget the output."),
        ),
        hint="Attention: 4 · 16 · 16. Feed-forward: 2 · 16 · 32. Two norms: 2 · (16 + 16).",
        learned="Half of these weights are in the feed-forward. In large models it is about two thirds.",
    ),
    "7.3": Exercise(
        kind="function",
        right=_block,
        calls=lambda: [_parts_of_a_block()],
        slips=(
            (
                _block_of_the_old_input,
                "Your feed-forward reads the input of the block. It should read the result of the first step.",
            ),
            (_block_without_residuals, "The residuals are missing: add each result to what came in."),
            (_block_with_norms_last, "This is post-norm. Here the norm stands before attention and feed-forward."),
        ),
        hint="Two lines: x = x + attention(norm(x)), then the same with the feed-forward and the new x.",
        learned="You have written a transformer block.",
    ),
}
