"""What each token adds to the transformer's margin between two labels, by several methods.

The margin of a text is a weighted sum of its logits. All methods take the same arguments and return (tokens,) values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.data.store import IntArray
from glassformer.data.tokenizers import START_ID, UNKNOWN_ID
from glassformer.data.windows import covering_windows
from glassformer.errors import UsageError
from glassformer.explanation.words import NO_WORD
from glassformer.models.listening import listening, taps_of
from glassformer.models.parts import parts_of

FloatArray = np.ndarray[Any, np.dtype[np.float64]]

_NODES = 24  # of the integral, at first
_TOLERANCE = 0.02  # of the change that the values should add up to; below a change of 1 logit, in logits
_TOKENS_ON_PATH = 16_384  # after the first try, the nodes times the tokens of the text
_TOKENS_AT_ONCE = 2_048  # then the activations of a layer fit into the cache of a CPU
_ROLLOUT_TOKENS = 2_048  # of all windows: it keeps the square of them for each block
_ORDERS = 10  # and each of them backwards, too
SHAPLEY_WORDS = 32
"""`shapley` explains texts of so many words at most. Its cost grows with the square of their number."""


@dataclass(frozen=True, kw_only=True)
class TokenReading:
    """A model that reads the tokens of one text, and the margin that is asked about.

    Attributes:
        ids: (tokens,) without the start token.
        groups: (tokens,) the number of the word of each token. Occlusion hides the tokens of a word together.
        direction: (n_classes,) the margin is `logits @ direction`.
    """

    model: nn.Module
    ids: IntArray
    groups: IntArray
    direction: FloatArray
    max_seq_len: int

    @property
    def windows(self) -> tuple[Int[Tensor, "windows seq"], IntArray]:
        """Return the windows that the model reads, each with the start token, and the first token of each.

        All are equally long.
        """
        cut = covering_windows(np.array([len(self.ids)]), self.max_seq_len)
        rows = [np.concatenate([[START_ID], self.ids[start : start + cut.lengths[0]]]) for start in cut.starts]
        return torch.from_numpy(np.stack(rows).astype(np.int64)), cut.starts

    def margins(self, token_ids: Int[Tensor, "rows seq"]) -> Float[Tensor, " rows"]:
        """Return the margin of each row."""
        device = next(self.model.parameters()).device
        mask = torch.ones_like(token_ids, dtype=torch.bool)
        logits: Tensor = self.model(token_ids.to(device), mask.to(device))
        return logits.float().cpu() @ torch.from_numpy(self.direction).float()

    def margins_of(self, rows: Sequence[Int[Tensor, " seq"]]) -> Float[Tensor, " rows"]:
        """Return the margin of each row. Rows may differ in length; equally long ones are read together."""
        found = torch.zeros(len(rows), dtype=torch.float64)
        by_length: dict[int, list[int]] = {}
        for number, row in enumerate(rows):
            by_length.setdefault(len(row), []).append(number)
        for length, numbers in by_length.items():
            for part in torch.tensor(numbers).split(max(1, _TOKENS_AT_ONCE // length)):
                found[part] = self.margins(torch.stack([rows[number] for number in part])).double()
        return found

    @property
    def margin(self) -> float:
        """The margin of the text: the mean over its windows."""
        with torch.inference_mode():
            return float(self.margins_of(list(self.windows[0])).mean())

    @property
    def margin_of_nothing(self) -> float:
        """The margin of the text if all of its words were unknown."""
        with torch.inference_mode():
            return float(self.margins_of(list(_hidden(self.windows[0]))).mean())

    def spread(self, values: Float[Tensor, "windows length"]) -> FloatArray:
        """Return the mean over all windows of the values of each token, 0 in windows without it: (tokens,).

        Args:
            values: of the tokens of each window, without the start token.
        """
        total = np.zeros(len(self.ids))
        for start, row in zip(self.windows[1], values.double().numpy(), strict=True):
            total[start : start + len(row)] += row
        return total / len(values)


def integrated_gradients(reading: TokenReading) -> FloatArray:
    """Integrate the gradient along the line from unknown words to the words (Sundararajan et al. 2017, eq. 1).

    The values add up to `margin - margin_of_nothing`, up to the error of the integral (Gauss–Legendre). The number of
    points doubles until this error is small, as the margin of a very sure model jumps along the line. For a long text
    it stays at 24. Unknown words are a fair start: training hides a tenth of the words in this way.
    """
    windows, _ = reading.windows
    origin, change, nodes = _hidden(windows), reading.margin - reading.margin_of_nothing, _NODES
    while True:
        points, weights = np.polynomial.legendre.leggauss(nodes)
        values = reading.spread(_along_the_path(reading, windows, (points + 1) / 2, weights / 2, origin=origin))
        nodes *= 2
        close = abs(values.sum() - change) <= _TOLERANCE * max(1.0, abs(change))
        if close or nodes * windows.numel() > _TOKENS_ON_PATH:
            return values


def gradient_x_input(reading: TokenReading) -> FloatArray:
    """Multiply each embedding by its gradient: how the margin would change if the embedding were 0, to first order."""
    windows, _ = reading.windows
    return reading.spread(_along_the_path(reading, windows, np.ones(1), np.ones(1), origin=None))


def occlusion(reading: TokenReading) -> FloatArray:
    """Replace each word by unknown tokens (Zeiler & Fergus 2014). The tokens of a word share the change equally.

    A word that is in several windows is hidden in each of them by itself.
    """

    return _word_by_word(reading, _taken_away(reading, lambda window, of_word: window.masked_fill(of_word, UNKNOWN_ID)))


def leave_one_out(reading: TokenReading) -> FloatArray:
    """Delete each word, so that the text is shorter (Li et al. 2016). Its tokens share the change equally.

    A word that is in several windows is deleted from each of them by itself.
    """

    return _word_by_word(reading, _taken_away(reading, lambda window, of_word: window[~of_word]))


def shapley(reading: TokenReading) -> FloatArray:
    """Show the words one after the other, in random orders, and average what the margin gains with each.

    This estimates the Shapley value of a word (Castro et al. 2009; Štrumbelj & Kononenko 2010). Words that
    are not shown yet are unknown tokens. The values add up to `margin - margin_of_nothing`, for any number of orders.
    Each order is taken backwards as well, which makes the estimate more precise (Mitchell et al. 2022).

    Raises:
        UsageError: the text is too long.
    """
    n_words = len(np.setdiff1d(reading.groups, [NO_WORD]))
    if n_words > SHAPLEY_WORDS:
        raise UsageError(
            f"`method='shapley'`: the text has {n_words:,} words, more than {SHAPLEY_WORDS}; choose another method"
        )
    random = np.random.default_rng(0)

    def values(window: Int[Tensor, " seq"], words: Bool[Tensor, "words seq"]) -> Float[Tensor, " words"]:
        drawn = random.permuted(np.tile(np.arange(len(words)), (_ORDERS, 1)), axis=1)  # when each word is shown
        rank = torch.from_numpy(np.concatenate([drawn, drawn.max() - drawn]))  # (orders, words)
        shown = rank[:, None, :] < torch.arange(len(words) + 1)[:, None]  # (orders, steps, words)
        hidden = (~shown).float() @ words.float() > 0
        margins = reading.margins_of(list(window.masked_fill(hidden, UNKNOWN_ID).flatten(0, 1)))
        gains = margins.view(len(rank), -1).diff(dim=1)  # (orders, words): of the word shown first, second, …
        return gains.gather(1, rank).mean(dim=0)

    return _word_by_word(reading, values)


def rollout(reading: TokenReading) -> FloatArray:
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
    if windows.numel() > _ROLLOUT_TOKENS:
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
    return reading.spread(reached.mean(dim=1)[:, 1:])


def of_words(reading: TokenReading, of_tokens: FloatArray, n_words: int) -> FloatArray:
    """Add up the values of the tokens of each word: (n_words,)."""
    total = np.zeros(n_words)
    in_word = reading.groups != NO_WORD
    np.add.at(total, reading.groups[in_word], of_tokens[in_word])
    return total


METHODS: Mapping[str, Callable[[TokenReading], FloatArray]] = {
    "shapley": shapley,
    "integrated-gradients": integrated_gradients,
    "gradient-x-input": gradient_x_input,
    "occlusion": occlusion,
    "leave-one-out": leave_one_out,
    "rollout": rollout,
}


_OfWords = Callable[[Int[Tensor, " seq"], Bool[Tensor, "words seq"]], Float[Tensor, " words"]]
"""Takes a window and the tokens of each of its words, and returns a value for each word."""


def _word_by_word(reading: TokenReading, values_of: _OfWords) -> FloatArray:
    """Return the value of each token: that of its word in each window, shared equally among its tokens."""
    windows, starts = reading.windows
    values = torch.zeros(len(windows), windows.shape[1] - 1, dtype=torch.float64)
    with torch.inference_mode():
        for number, (window, start) in enumerate(zip(windows, starts, strict=True)):
            groups = torch.from_numpy(reading.groups[start : start + len(window) - 1])
            of_words = groups == torch.tensor(np.setdiff1d(groups, [NO_WORD]))[:, None]
            if len(of_words):
                with_start = torch.nn.functional.pad(of_words, (1, 0))  # the start token belongs to no word
                shared = values_of(window, with_start) / of_words.sum(dim=1)
                values[number] = shared @ of_words.double()
    return reading.spread(values)


def _taken_away(
    reading: TokenReading, without: Callable[[Int[Tensor, " seq"], Bool[Tensor, " seq"]], Int[Tensor, " seq"]]
) -> _OfWords:
    """Return a function for what the margin loses if a word is taken away.

    Args:
        without: returns a window without the tokens of a word, which a mask marks.
    """

    def values_of(window: Int[Tensor, " seq"], words: Bool[Tensor, "words seq"]) -> Float[Tensor, " words"]:
        whole, *others = reading.margins_of([window, *(without(window, of_word) for of_word in words)])
        return whole - torch.stack(others)

    return values_of


def _hidden(token_ids: Int[Tensor, "rows seq"]) -> Int[Tensor, "rows seq"]:
    """Return the same rows with unknown tokens for all but the first token."""
    hidden = torch.full_like(token_ids, UNKNOWN_ID)
    hidden[:, 0] = token_ids[:, 0]
    return hidden


def _along_the_path(
    reading: TokenReading,
    windows: Int[Tensor, "windows seq"],
    points: FloatArray,
    weights: FloatArray,
    *,
    origin: Int[Tensor, "windows seq"] | None,
) -> Float[Tensor, "windows length"]:
    """Return Σᵢ weightᵢ · gradient(origin + pointᵢ · (words − origin)) · (words − origin), summed over features.

    Args:
        origin: the tokens whose embeddings the path starts from. None for embeddings of 0.

    Raises:
        UsageError: the model does not turn tokens into vectors.
    """
    embedding = _embedding(reading.model)
    begins, ends = _embedded(reading, embedding, windows)
    starts = torch.zeros_like(ends) if origin is None else _embedded(reading, embedding, origin)[1]
    size = max(1, _TOKENS_AT_ONCE // windows.shape[1])
    pairs = [(window, point) for window in range(len(windows)) for point in range(len(points))]
    values = torch.zeros(len(windows), windows.shape[1] - 1, dtype=torch.float64)
    for first in range(0, len(pairs), size):
        chosen = pairs[first : first + size]
        rows = torch.tensor([window for window, _ in chosen])
        words, zero = ends[rows], starts[rows]
        at = torch.tensor([points[point] for _, point in chosen], dtype=words.dtype, device=words.device)
        path = (zero + at[:, None, None] * (words - zero)).requires_grad_()
        with torch.enable_grad(), hooked(embedding, lambda *_, path=path: path):
            (gradient,) = torch.autograd.grad(reading.margins(windows[rows]).sum(), path)
        products = ((words - zero) * gradient).sum(dim=-1).double().cpu()[:, begins : begins + values.shape[1]]
        scale = torch.tensor([weights[point] for _, point in chosen], dtype=torch.float64)[:, None]
        values.index_add_(0, rows, products * scale)
    return values


def _embedding(model: nn.Module) -> nn.Module:
    """Return the layer that turns token ids into vectors."""
    embedding = parts_of(model).embedding
    if not embedding:
        raise UsageError("this method needs a model that turns tokens into vectors; choose `method='occlusion'`")
    return embedding[0]


@torch.no_grad()
def _embedded(
    reading: TokenReading, embedding: nn.Module, token_ids: Int[Tensor, "rows seq"]
) -> tuple[int, Float[Tensor, "rows length d_model"]]:
    """Return what the layer gives when the model reads these rows, and at which place it has the first token.

    This is place 1, after the start token, or 0 in published designs, which drop that token and add padding.
    """
    seen: list[tuple[Tensor, Tensor]] = []
    with hooked(embedding, lambda _module, arguments, output: seen.append((arguments[0], output.detach()))):
        for part in token_ids.split(max(1, _TOKENS_AT_ONCE // token_ids.shape[1])):
            reading.margins(part)
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
