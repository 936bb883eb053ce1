"""New words are written as they are spelled, a space before them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from glassformer.data.tokenizers import TextTokenizer

_SPACED = pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
_SPACE = {models.BPE: "\u0120", models.Unigram: "\u2581"}
"""How pieces write the space that they bring along."""


def spelled(tokenizer: TextTokenizer, words: Sequence[str]) -> TextTokenizer:
    """The same tokenizer, whose decoder knows that these words, added to it before, stand apart.

    The library decodes an added word as if it were a piece: pieces of bytes and of `unigram` bring the space before a
    word along, which the word has not, and a letter outside of ASCII would be taken for a byte. So the decoder first
    puts the word into the letters of pieces. `word` and `wordpiece` need none of this.

    Args:
        words: as the vocabulary spells them.
    """
    with TemporaryDirectory() as folder:  # the library's tokenizer goes from hand to hand as a file
        tokenizer.save(Path(folder) / "tokenizer.json")
        inner = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    space = _SPACE.get(type(inner.model))
    if space is None:
        return tokenizer
    in_bytes = isinstance(inner.model, models.BPE)
    plain = [word for word in words if word.isascii() or not in_bytes]
    steps = [decoders.Replace(Regex(rf"\A(?=(?:{'|'.join(map(re.escape, plain))})\z)"), space)] if plain else []
    for word in words:
        if word not in plain:
            (as_bytes, _) = _SPACED.pre_tokenize_str(word)[0]
            steps.append(decoders.Replace(Regex(rf"\A{re.escape(word)}\z"), as_bytes))
    inner.decoder = decoders.Sequence([*steps, inner.decoder])
    return TextTokenizer(inner)
