"""How words that were added to a tokenizer of pieces are spelled."""

import re
from collections.abc import Sequence
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers


def spelling(inner: Tokenizer, words: Sequence[str]) -> Any:
    """Return the decoder for added `words`, for a tokenizer whose pieces include the space before a word.

    The library decodes an added word like a piece. The space would be lost, and a letter outside of ASCII would be
    taken for a byte. The decoder therefore spells the word in the letters of pieces first.
    """
    in_bytes = isinstance(inner.model, models.BPE)
    steps = []
    if plain := [re.escape(word) for word in words if word.isascii() or not in_bytes]:
        # One step handles all words. A step per word would mean thousands of steps for every token.
        steps.append(decoders.Replace(Regex(rf"\A(?=(?:{'|'.join(plain)})\z)"), "\u0120" if in_bytes else "\u2581"))
    for word in words:
        if in_bytes and not word.isascii():
            (in_letters, _) = pre_tokenizers.ByteLevel(use_regex=False).pre_tokenize_str(word)[0]
            steps.append(decoders.Replace(Regex(rf"\A{re.escape(word)}\z"), in_letters))
    return decoders.Sequence([*steps, inner.decoder])
