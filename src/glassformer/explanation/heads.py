"""What each attention head does for an answer: how the margin changes without it, and where it looks."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.data.arrays import DoubleArray, IntArray
from glassformer.data.wording import counted
from glassformer.errors import UsageError, brief_value
from glassformer.explanation.gradients import hooked
from glassformer.explanation.reading import TokenReading, of_words
from glassformer.models.listening import listening, taps_of

_OUTPUT, _WEIGHTS = "attention.heads", "attention.weights"


@dataclass(frozen=True, kw_only=True)
class HeadAttention:
    """How much of its attention a head gives to each word, as a mean over the tokens that attend.

    Attributes:
        layer: the number of the block, from 1.
        head: the number of the head in its block, from 1.
        attention: (words,). The rest goes to the start token and to white space.
    """

    layer: int
    head: int
    attention: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Head(HeadAttention):
    """The same, and what the margin loses in logits if the output of the head is 0 (Michel et al. 2019, §2.2)."""

    share: float


def blocks_with_heads(model: nn.Module) -> list[str]:
    """Return the blocks of a model that have attention heads, as the names of their taps begin. Empty if none has."""
    return [name.removesuffix(_OUTPUT) for name in taps_of(model) if name.endswith(_OUTPUT)]


def heads_of(reading: TokenReading, n_words: int) -> tuple[Head, ...]:
    """Return the heads of all blocks. Those of a text of several windows are means over its windows.

    Raises:
        UsageError: the model has no attention heads.
    """
    blocks = blocks_with_heads(reading.model)
    if not blocks:
        raise UsageError("this model has no attention heads; leave out `heads=True`")
    windows, _ = reading.windows
    shares: dict[str, DoubleArray] = {}
    received: dict[str, list[Tensor]] = {block: [] for block in blocks}
    with torch.inference_mode():
        for window in windows:
            with listening(reading.model, [block + _WEIGHTS for block in blocks]) as heard:
                whole = reading.margins(window[None])
            for block in blocks:
                weights = heard[block + _WEIGHTS][0].float().cpu()  # (heads, query, key)
                received[block].append(weights.mean(dim=1)[:, 1:])
                losses = whole - _without_each_head(reading, window, block + _OUTPUT, len(weights))
                shares[block] = shares.get(block, 0) + losses / len(windows)
    found = []
    for layer, block in enumerate(blocks, 1):
        attention = torch.stack(received[block], dim=1)  # (heads, windows, length)
        for head, (share, of_windows) in enumerate(zip(shares[block].tolist(), attention, strict=True), 1):
            seen = _rounded(of_words(reading, reading.spread(of_windows.double().numpy()), n_words))
            found.append(Head(layer=layer, head=head, share=share, attention=seen))
    return tuple(found)


def attention_from_word(reading: TokenReading, word: int, n_words: int) -> tuple[HeadAttention, ...]:
    """Return the attention of each head from a word, as a mean over its tokens in all windows that hold them.

    Args:
        word: its number in the text, from 0.

    Raises:
        UsageError: the text has no such word, or the transformer does not read it because the text is cut before it.
    """
    if not 0 <= word < n_words:
        raise UsageError(f"`word={brief_value(word)}`: the text has {counted(n_words, 'word')}, numbered from 0")
    blocks, (windows, starts) = blocks_with_heads(reading.model), reading.windows
    sums: dict[str, Tensor] = {}
    attending = 0
    with torch.inference_mode():
        for number, (window, start) in enumerate(zip(windows, starts.tolist(), strict=True)):
            groups = reading.groups[start : start + len(window) - 1]
            places = np.flatnonzero(groups == word) + 1  # after the start token
            if not len(places):
                continue
            attending += len(places)
            with listening(reading.model, [block + _WEIGHTS for block in blocks]) as heard:
                reading.margins(window[None])
            for block in blocks:
                weights = heard[block + _WEIGHTS][0].float().cpu()  # (heads, query, key)
                total = sums.setdefault(block, torch.zeros(len(weights), len(windows), len(window) - 1))
                total[:, number] = weights[:, torch.from_numpy(places), 1:].sum(dim=1)
    if not attending:
        raise UsageError(f"`word={word}`: the transformer does not read this word, as the text is cut before it")
    return tuple(
        HeadAttention(
            layer=layer,
            head=head,
            attention=_rounded(of_words(reading, reading.spread(of_windows), n_words) * len(windows) / attending),
        )
        for layer, block in enumerate(blocks, 1)
        for head, of_windows in enumerate(sums[block].double().numpy(), 1)
    )


def _rounded(values: DoubleArray) -> tuple[float, ...]:
    return tuple(np.round(values, 6).tolist())


def _without_each_head(reading: TokenReading, window: IntArray, tap: str, n_heads: int) -> DoubleArray:

    def silence(_module: object, _arguments: object, output: Tensor) -> Tensor:
        silenced = output.clone()  # (row, head, seq, head_dim)
        each = torch.arange(n_heads)
        silenced[each, each] = 0
        return silenced

    with hooked(taps_of(reading.model)[tap], silence):
        return reading.margins(np.tile(window, (n_heads, 1)))
