"""Spelling of the tokens that continue a text: after a space, or as the next piece of its last word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from glassformer.data.tokenizers import START_ID, TextTokenizer

Speller = Callable[[Sequence[int]], str]
"""Token ids written after a text → the string to append."""


def spellers(tokenizer: TextTokenizer, texts: Sequence[str]) -> list[Speller]:
    """Return a speller for each text."""
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
