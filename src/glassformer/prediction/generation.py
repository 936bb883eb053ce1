"""A language model goes on with texts, token by token."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from glassformer.data.tokenizers import PAD_ID, START_ID, TextTokenizer
from glassformer.errors import GlassformerError, UsageError
from glassformer.layers.cache import KeyValueCache
from glassformer.layers.masks import lengths_to_mask
from glassformer.models.language_model import TokenPredictor
from glassformer.prediction.model_folder import LANGUAGE_MODEL, load_model
from glassformer.prediction.sampling import SamplingConfig, draw, next_token_probs, without_banned
from glassformer.prediction.spelling import Speller, spellers

_HALF_A_CHARACTER = "\ufffd"  # what bytes that do not yet make one are decoded to
_TOGETHER = 64  # texts that are written at once: each keeps its keys and values in memory


@dataclass(kw_only=True)
class Continuation:
    """What was written after one prompt.

    Attributes:
        text: without the prompt, without a stop string, and without half a character where `max_tokens` cut it.
        token_ids: all tokens drawn, a final end token included.
        ended: by the end token, by a stop string, or because `max_tokens` were written; none while it is being written.
        slid: whether the text outgrew the window, so that its beginning was forgotten.
    """

    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    ended: Literal["end", "stop", "length"] | None = None
    slid: bool = False


class TextGenerator:
    """A causal language model that writes. Whenever it does, it is put into evaluation mode."""

    def __init__(self, model: TokenPredictor, tokenizer: TextTokenizer, *, max_seq_len: int) -> None:
        self.model, self.tokenizer, self.max_seq_len = model, tokenizer, max_seq_len

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> TextGenerator:
        """The language model of a folder.

        Raises:
            UsageError: it is no folder of a language model, or of one that fills in hidden tokens.
            GlassformerError: it is damaged.
        """
        trained = load_model(folder, LANGUAGE_MODEL)
        if not trained.config.model.causal:
            raise UsageError(
                f"{folder}: this model fills in hidden tokens and cannot go on with a text; pretrain one with "
                "--objective causal"
            )
        trained.model.to(device)
        return cls(trained.model, trained.tokenizer, max_seq_len=trained.config.model.max_seq_len)

    def complete(self, prompts: Sequence[str], config: SamplingConfig) -> list[Continuation]:
        """Go on with every prompt until all have ended.

        Raises:
            UsageError: a prompt is not UTF-8.
            GlassformerError: the model answers with what is no number.
        """
        texts = self._begin(prompts, config)
        for first in range(0, len(texts), _TOGETHER):
            deque(self._write(texts[first : first + _TOGETHER], config), maxlen=0)
        return [text.written for text in texts]

    def stream(self, prompts: Sequence[str], config: SamplingConfig) -> Iterator[list[Continuation]]:
        """The same for few prompts, after every token: the same list each time, its texts grown.

        A stop string is looked for in the text, whatever tokens it is made of.

        Raises:
            UsageError: a prompt is not UTF-8.
            GlassformerError: the model answers with what is no number.
        """
        texts = self._begin(prompts, config)
        written = [text.written for text in texts]
        for _ in self._write(texts, config):
            yield written

    def _begin(self, prompts: Sequence[str], config: SamplingConfig) -> list[_Text]:
        check_prompts(prompts)
        encoded = [ids.tolist() for ids in self.tokenizer.encode(prompts)]
        views = begin_views(encoded, self.max_seq_len, seed=config.seed)
        return [
            _Text(view, spell, Continuation(slid=view.slid))
            for view, spell in zip(views, spellers(self.tokenizer, prompts), strict=True)
        ]

    def _write(self, texts: Sequence[_Text], config: SamplingConfig) -> Iterator[None]:
        """A token more for each of the texts, at each step."""
        self.model.eval()
        for tokens in write_tokens(self.model, [text.view for text in texts], config):
            for (view, spell, written), token in zip(texts, tokens, strict=True):
                if token is None:
                    continue
                written.token_ids.append(token)
                _end(written, spell(written.token_ids), config)
                view.ended = written.ended is not None
                written.slid = written.slid or (view.slid and not view.ended)  # after the last token nothing is read
            yield


def check_prompts(prompts: Sequence[str]) -> None:
    """Raises UsageError where one holds bytes that were no UTF-8 on the command line."""
    for number, prompt in enumerate(prompts, 1):
        try:
            prompt.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"prompt {number} is not UTF-8; convert it first") from error


class View:
    """The tokens of one text that the model sees: all of them, or the last ones once they do not fit into the window.

    Of a prompt that is too long as much as fits is read. Where a text outgrows the window, the start token and the
    latter half stay, so that there is room for half a window before it slides again.

    Args:
        random: decides the choices of this text.
    """

    def __init__(self, tokens: list[int], window: int, random: np.random.Generator) -> None:
        self.window, self.random, self.slid, self.ended = window, random, False, False
        self.tokens = tokens
        if len(tokens) > window:
            self._keep(window - 1)

    def append(self, token: int) -> bool:
        """Take in the next token; whether the view slid."""
        self.tokens.append(token)
        if len(self.tokens) <= self.window:
            return False
        self._keep(self.window // 2)
        return True

    def _keep(self, count: int) -> None:
        self.slid = True
        self.tokens = [START_ID, *self.tokens[-count:]]


class _Text(NamedTuple):
    view: View
    spell: Speller
    written: Continuation


def begin_views(prompts: Sequence[Sequence[int]], window: int, *, seed: int) -> list[View]:
    """A view of each prompt. Its choices hang on the seed, the prompt, and how many equal prompts stand before it.

    Args:
        prompts: token ids, without the start token.
    """
    earlier = Counter[tuple[int, ...]]()
    views = []
    for prompt in map(tuple, prompts):
        random = np.random.default_rng([seed, earlier[prompt], *prompt])
        views.append(View([START_ID, *prompt], window, random))
        earlier[prompt] += 1
    return views


@torch.inference_mode()
def write_tokens(
    model: TokenPredictor, views: Sequence[View], config: SamplingConfig, *, cached: bool = True
) -> Iterator[list[int | None]]:
    """The next token of every text at a time, none for those that have ended, until all have.

    A text ends with the start token, which also ends documents in training, after `config.max_tokens`, or when the
    caller sets `ended` of its view.

    Args:
        cached: whether keys and values are kept from step to step; the tokens are the same either way.

    Raises:
        GlassformerError: the model answers with what is no number.
    """
    caches: list[KeyValueCache] = []
    for _ in range(config.max_tokens):
        active = [not view.ended for view in views]
        if not any(active):
            return
        if not caches:
            caches = model.new_caches(len(views), views[0].window) if cached else []
            hidden = _read_all(model, views, active, caches)
        else:
            hidden = _read_last(model, views, active, caches)
        logits = model.logits(hidden).float().cpu()
        if not logits.isfinite().all():
            raise GlassformerError("the model answers with not-a-number: its weights are damaged, or training diverged")
        logits = without_banned(logits)
        seen = torch.zeros_like(logits, dtype=torch.bool)
        if config.repetition_penalty != 1:
            for row, view in enumerate(views):
                seen[row, view.tokens[1:]] = True
        chance = torch.tensor([view.random.random() for view in views], dtype=torch.double)
        drawn = draw(next_token_probs(logits, seen, config), chance).tolist()
        slid = [view.append(token) for view, token, on in zip(views, drawn, active, strict=True) if on]
        if any(slid):
            caches = []
        for view, token in zip(views, drawn, strict=True):
            view.ended = view.ended or token == START_ID
        yield [token if on else None for token, on in zip(drawn, active, strict=True)]


def _read_all(model: TokenPredictor, views: Sequence[View], active: list[bool], caches: list[KeyValueCache]) -> Tensor:
    """The last hidden state (batch, d_model) of every text, read from its beginning.

    Of texts that have ended only the first token is read: no row is empty, nor does one that ended fill its cache.
    """
    texts = [view.tokens if on else view.tokens[:1] for view, on in zip(views, active, strict=True)]
    lengths = torch.tensor([len(tokens) for tokens in texts])
    token_ids = torch.full((len(texts), int(lengths.max())), PAD_ID)
    for row, tokens in enumerate(texts):
        token_ids[row, : len(tokens)] = torch.tensor(tokens)
    device = next(model.parameters()).device
    mask = lengths_to_mask(lengths, token_ids.shape[1])
    hidden = model.read(token_ids.to(device), mask.to(device), caches=caches or None)
    return hidden[torch.arange(len(texts)), lengths - 1]


def _read_last(model: TokenPredictor, views: Sequence[View], active: list[bool], caches: list[KeyValueCache]) -> Tensor:
    """The same after one more token; texts that have ended are not read."""
    device = next(model.parameters()).device
    token_ids = torch.tensor([[view.tokens[-1]] for view in views], device=device)
    return model.read(token_ids, torch.tensor(active, device=device)[:, None], caches=caches)[:, 0]


def _end(written: Continuation, text: str, config: SamplingConfig) -> None:
    """Take in what the tokens spell, and see whether the last one ends it."""
    if written.token_ids[-1] == START_ID:
        written.ended = "end"
    elif len(written.token_ids) == config.max_tokens:
        written.ended = "length"
    if written.ended != "end":
        text = text.rstrip(_HALF_A_CHARACTER)
    found = [place for stop in config.stop if (place := text.find(stop)) >= 0]
    if found:
        written.ended = "stop"
        text = text[: min(found)]
    elif written.ended is None:
        text = text[: len(text) - _might_stop(text, config.stop)]
    written.text = text


def _might_stop(text: str, stops: tuple[str, ...]) -> int:
    """How many characters at the end of a text are the beginning of a stop string, and so must wait."""
    lengths = (size for stop in stops for size in range(len(stop) - 1, 0, -1) if text.endswith(stop[:size]))
    return max(lengths, default=0)
