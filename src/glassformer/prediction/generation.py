"""Text generation: a language model continues texts, token by token."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
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

Speller = Callable[[Sequence[int]], str]
"""Token ids written after a text → the string to append: after a space, or as the next piece of its last word."""

_HALF_A_CHARACTER = "\ufffd"  # incomplete bytes of a character are decoded to this
_TOGETHER = 64  # texts in a batch; the keys and values of each are in memory


@dataclass(kw_only=True)
class Continuation:
    """The continuation of a prompt.

    Attributes:
        text: the new text, without the prompt and the stop string. A character that `max_tokens` cut in half is left
            out.
        ended: why the text ended: by the end token, by a stop string, or by `max_tokens`. None if it has not ended yet.
        slid: whether the text became longer than the window. The model then no longer sees its beginning.
    """

    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    ended: Literal["end", "stop", "length"] | None = None
    slid: bool = False


class TextGenerator:
    """Generates texts with a causal language model, which it sets to evaluation mode."""

    def __init__(self, model: TokenPredictor, tokenizer: TextTokenizer, *, max_seq_len: int) -> None:
        self.model, self.tokenizer, self.max_seq_len = model, tokenizer, max_seq_len

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> TextGenerator:
        """Load the language model of a folder.

        Raises:
            UsageError: the folder does not hold a language model, or one that fills in masked tokens.
            GlassformerError: the folder is damaged.
        """
        trained = load_model(folder, LANGUAGE_MODEL)
        if not trained.config.model.causal:
            raise UsageError(
                f"{folder}: this model reads whole texts and cannot continue one; pretrain one with "
                "`objective='causal'`"
            )
        trained.model.to(device)
        return cls(trained.model, trained.tokenizer, max_seq_len=trained.config.model.max_seq_len)

    def complete(self, prompts: Sequence[str], config: SamplingConfig) -> list[Continuation]:
        """Continue every prompt until all texts have ended.

        Raises:
            UsageError: a prompt is not UTF-8.
            GlassformerError: the model gives NaN or infinite logits.
        """
        texts = self._begin(prompts, config)
        for first in range(0, len(texts), _TOGETHER):
            deque(self._write(texts[first : first + _TOGETHER], config), maxlen=0)
        return [text.written for text in texts]

    def stream(self, prompts: Sequence[str], config: SamplingConfig) -> Iterator[list[Continuation]]:
        """Continue a few prompts, and yield the continuations after every token.

        It yields the same list each time; the texts in it grow. A stop string is found in the text, no matter which
        tokens it consists of.

        Raises:
            UsageError: a prompt is not UTF-8.
            GlassformerError: the model gives NaN or infinite logits.
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
        """Add a token to each text at each step."""
        self.model.eval()
        for tokens in write_tokens(self.model, [text.view for text in texts], config):
            for (view, spell, written), token in zip(texts, tokens, strict=True):
                if token is None:
                    continue
                written.token_ids.append(token)
                _end(written, spell(written.token_ids), config)
                view.ended = written.ended is not None
                written.slid = written.slid or (view.slid and not view.ended)  # nothing is read after the last token
            yield


def check_prompts(prompts: Sequence[str]) -> None:
    """Raise UsageError if a prompt holds bytes that were not UTF-8 on the command line."""
    for number, prompt in enumerate(prompts, 1):
        try:
            prompt.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"prompt {number} is not UTF-8; convert it first") from error


class View:
    """The tokens of a text that the model sees: all of them, or the last ones if the window is too small for all.

    If a prompt is too long, its last tokens are kept, as many as fit. If a text becomes longer than the window, the
    start token and the last half of the window are kept. The next half window then fits before the view slides again.
    """

    def __init__(self, tokens: list[int], window: int, random: np.random.Generator) -> None:
        self.window, self.random, self.slid, self.ended = window, random, False, False
        self.tokens = tokens
        if len(tokens) > window:
            self._keep(window - 1)

    def append(self, token: int) -> bool:
        """Add the next token, and return whether the view slid."""
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
    """Return a view for each prompt.

    The random choices of a view depend on the seed, the prompt, and the number of equal prompts before it.

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
    """Yield the next token of every text at each step, or None for a text that has ended, until all have ended.

    A text ends with the start token, which also ends documents in training. It also ends after `config.max_tokens`, or
    when the caller sets `ended` of its view.

    Args:
        cached: whether to keep keys and values from step to step. The tokens are the same with and without.

    Raises:
        GlassformerError: the model gives NaN or infinite logits.
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
            raise GlassformerError(
                "the model gives NaN or infinite logits: its weights are damaged, or training diverged"
            )
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
    """Return the last hidden state (batch, d_model) of every text, reading the texts from their beginning.

    Texts that have ended are cut to their first token. Their rows are then not empty, and their caches do not overflow.
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
    """Return the same after one more token. Texts that have ended are not read."""
    device = next(model.parameters()).device
    token_ids = torch.tensor([[view.tokens[-1]] for view in views], device=device)
    return model.read(token_ids, torch.tensor(active, device=device)[:, None], caches=caches)[:, 0]


def _end(written: Continuation, text: str, config: SamplingConfig) -> None:
    """Set the text of a continuation, and `ended` if its last token ends it."""
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
    """Return how many characters at the end of a text could begin a stop string. They are not shown yet."""
    lengths = (size for stop in stops for size in range(len(stop) - 1, 0, -1) if text.endswith(stop[:size]))
    return max(lengths, default=0)


def spellers(tokenizer: TextTokenizer, texts: Sequence[str]) -> list[Speller]:
    encoded, bare = tokenizer.encode(texts), tokenizer.encode([text.rstrip() for text in texts])
    return [
        # The text ends with white space that is not a token: it is the space before the next word.
        _speller(tokenizer, ids.tolist(), spaced=text != text.rstrip() and np.array_equal(ids, stripped))
        for text, ids, stripped in zip(texts, encoded, bare, strict=True)
    ]


def _speller(tokenizer: TextTokenizer, ids: list[int], *, spaced: bool) -> Speller:
    known = [id_ for id_ in ids if id_ > START_ID]
    # The last token of the text decides how the next one is spelled. Any word can replace an unknown one for this.
    last = known[-1:] or [START_ID + 1] * bool(ids)
    before = len(tokenizer.decode(last))

    def spell(written: Sequence[int]) -> str:
        text = tokenizer.decode([*last, *written])[before:]
        return text.removeprefix(" ") if spaced else text

    return spell
