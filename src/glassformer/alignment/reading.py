"""Turn prompts and completions into the token ids that a model reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassformer.data.arrays import IntArray
from glassformer.data.tokenizers import START_ID, TextTokenizer


@dataclass(frozen=True, kw_only=True)
class ReadPair:
    """A prompt and a completion as token ids.

    Attributes:
        token_ids: the start token, the prompt and the completion.
        begins: the index of the completion's first token.
    """

    token_ids: IntArray
    begins: int

    @property
    def length(self) -> int:
        """The number of tokens, the start token included."""
        return len(self.token_ids)


def read_together(tokenizer: TextTokenizer, prompts: Sequence[str], completions: Sequence[str]) -> list[ReadPair]:
    """Encode each prompt and its completion separately, as they are when the model generates, and join them."""
    return [
        ReadPair(token_ids=np.concatenate([[START_ID], prompt, completion]), begins=1 + len(prompt))
        for prompt, completion in zip(tokenizer.encode(prompts), tokenizer.encode(completions), strict=True)
    ]


def room_for_answers(pairs: Sequence[ReadPair], window: int) -> int:
    """Return the most tokens of an answer: those of the longest one and its end, or what the longest prompt leaves."""
    longest = max(pair.length - pair.begins for pair in pairs)
    return max(1, min(longest + 1, window - max(pair.begins for pair in pairs)))
