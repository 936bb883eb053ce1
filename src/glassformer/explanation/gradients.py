"""Methods that look into the transformer: integrated gradients, gradient × input, and attention rollout."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from glassformer.data.arrays import DoubleArray, IntArray
from glassformer.data.tokenizers import START_ID
from glassformer.errors import UsageError
from glassformer.explanation.pauses import pause
from glassformer.explanation.reading import TOKENS_AT_ONCE, TokenReading
from glassformer.models.listening import listening, taps_of
from glassformer.models.parts import parts_of

_NODES = 24  # of the integral, at first
_TOLERANCE = 0.02  # of the change that the values should add up to; below a change of `reading.least`, of that
_TOKENS_ON_PATH = 16_384  # after the first try, the nodes times the tokens of the text
_ROLLOUT_TOKENS = 2_048  # of all windows: it keeps the square of them for each block


def integrated_gradients(reading: TokenReading) -> DoubleArray:
    """Integrate the gradient along the line from unknown words to the words (Sundararajan et al. 2017, eq. 1).

    The values add up to `margin - margin_of_nothing`, up to the error of the integral (Gauss–Legendre). The number of
    points doubles until this error is small, as the margin of a very sure model jumps along the line. For a long text
    it stays at 24. Unknown words are a fair start: training hides a tenth of the words in this way.
    """
    windows, _ = reading.windows
    origin, change, nodes = reading.hidden(windows), reading.margin - reading.margin_of_nothing, _NODES
    while True:
        points, weights = np.polynomial.legendre.leggauss(nodes)
        values = reading.spread(_along_the_path(reading, windows, (points + 1) / 2, weights / 2, origin=origin))
        nodes *= 2
        close = abs(values.sum() - change) <= _TOLERANCE * max(reading.least, abs(change))
        if close or nodes * windows.size > _TOKENS_ON_PATH:
            return values


def gradient_x_input(reading: TokenReading) -> DoubleArray:
    """Multiply each embedding by its gradient: how the margin would change if the embedding were 0, to first order."""
    windows, _ = reading.windows
    return reading.spread(_along_the_path(reading, windows, np.ones(1), np.ones(1), origin=None))


def rollout(reading: TokenReading) -> DoubleArray:
    """Multiply the attention of all blocks, averaged over heads, half of it being the residual (Abnar & Zuidema 2020).

    The values say how much of each token reaches the pooled vector by attention. They are never negative, and say
    nothing about the direction: rollout is here to be compared with the other methods.

    Raises:
        UsageError: the model has no attention, or the text is too long.
    """
    names = [name for name in taps_of(reading.model) if name.endswith("attention.weights")]
    if not names:
        raise UsageError("`method='rollout'`: this model has no attention; choose another method")
    windows, _ = reading.windows
    if windows.size > _ROLLOUT_TOKENS:
        raise UsageError(
            f"`method='rollout'`: the text has {len(reading.ids):,} tokens, more than {_ROLLOUT_TOKENS:,}; "
            "choose another method"
        )
    with torch.inference_mode(), listening(reading.model, names) as heard:
        reading.margins(windows)
        seq = windows.shape[1]
        reached = torch.eye(seq).expand(len(windows), seq, seq)
        for name in names:
            weights = heard[name].float().cpu().mean(dim=1)
            reached = (weights + torch.eye(seq)) / 2 @ reached
    return reading.spread(reached.mean(dim=1)[:, 1:].double().numpy())


def _along_the_path(
    reading: TokenReading,
    windows: IntArray,
    points: DoubleArray,
    weights: DoubleArray,
    *,
    origin: IntArray | None,
) -> DoubleArray:
    """Return Σᵢ weightᵢ · gradient(origin + pointᵢ · (words − origin)) · (words − origin), summed over features.

    Returns:
        (windows, length), without the start token.

    Args:
        windows: (windows, seq) token ids.
        origin: the tokens whose embeddings the path starts from. None for embeddings of 0.

    Raises:
        UsageError: the model does not turn tokens into vectors.
    """
    embedding = _embedding(reading.model)
    begins, ends = _embedded(reading, embedding, windows)
    starts = torch.zeros_like(ends) if origin is None else _embedded(reading, embedding, origin)[1]
    size = max(1, TOKENS_AT_ONCE // windows.shape[1])
    pairs = [(window, point) for window in range(len(windows)) for point in range(len(points))]
    values = torch.zeros(len(windows), windows.shape[1] - 1, dtype=torch.float64)
    for first in range(0, len(pairs), size):
        pause()
        chosen = pairs[first : first + size]
        rows = torch.tensor([window for window, _ in chosen])
        words, zero = ends[rows], starts[rows]
        at = torch.tensor([points[point] for _, point in chosen], dtype=words.dtype, device=words.device)
        path = (zero + at[:, None, None] * (words - zero)).requires_grad_()
        with torch.enable_grad(), hooked(embedding, lambda *_, path=path: path):
            (gradient,) = torch.autograd.grad(_margins(reading, windows[rows.numpy()]).sum(), path)
        products = ((words - zero) * gradient).sum(dim=-1).double().cpu()[:, begins : begins + values.shape[1]]
        scale = torch.tensor([weights[point] for _, point in chosen], dtype=torch.float64)[:, None]
        values.index_add_(0, rows, products * scale)
    return values.numpy()


def _margins(reading: TokenReading, token_ids: IntArray) -> Float[Tensor, " rows"]:
    """Return the same as `reading.margins`, with gradients."""
    ids = torch.from_numpy(token_ids).to(next(reading.model.parameters()).device)
    logits: Tensor = reading.model(ids, torch.ones_like(ids, dtype=torch.bool))
    return logits.float().cpu() @ torch.from_numpy(reading.direction).float()


def _embedding(model: nn.Module) -> nn.Module:
    """Return the layer that turns token ids into vectors."""
    embedding = parts_of(model).embedding
    if not embedding:
        raise UsageError("this method needs a model that turns tokens into vectors; choose `method='occlusion'`")
    return embedding[0]


@torch.no_grad()
def _embedded(
    reading: TokenReading, embedding: nn.Module, token_ids: IntArray
) -> tuple[int, Float[Tensor, "rows length d_model"]]:
    """Return what the layer gives when the model reads these rows, and at which place it has the first token.

    This is place 1, after the start token, or 0 in published designs, which drop that token and add padding.
    """
    seen: list[tuple[Tensor, Tensor]] = []
    with hooked(embedding, lambda _module, arguments, output: seen.append((arguments[0], output.detach()))):
        size = max(1, TOKENS_AT_ONCE // token_ids.shape[1])
        for first in range(0, len(token_ids), size):
            _margins(reading, token_ids[first : first + size])
    ids, vectors = seen[0][0], torch.cat([vectors for _, vectors in seen])
    return int(bool((ids[:, 0] == START_ID).all())), vectors


@contextmanager
def hooked(module: nn.Module, hook: Callable[..., Any]) -> Iterator[None]:
    """Inside the `with` block, call hook(module, arguments, output). A returned tensor replaces the output."""
    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
