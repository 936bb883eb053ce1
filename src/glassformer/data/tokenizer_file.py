"""Read a `tokenizer.json` from an untrusted source, and refuse one that could take too much time or memory.

The library runs whatever the file describes. A regular expression such as `(a+)+$` takes hours on a word of 30 letters.
A normalizer that replaces every letter by a thousand letters fills the memory.

The patterns of our own tokenizers stand here too, as no others are read.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from glassformer.data.json_files import read_bounded
from glassformer.errors import GlassformerError, UsageError

# Scripts written without spaces: each character is a word, as there is no dictionary to find the words.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
LETTERS_PATTERN = rf"[{_UNSPACED}]\p{{M}}*|[\p{{L}}\p{{M}}\p{{N}}&&[^{_UNSPACED}]]+(?:['’][\p{{L}}\p{{M}}]+)*"
WORD_PATTERN = rf"{LETTERS_PATTERN}|\S"
CHARACTER_PATTERN = r"(?m:.)"
SPECIAL_PATTERN = "<(?=(?:pad|unk|cls)>)"
_PATTERNS = {WORD_PATTERN, CHARACTER_PATTERN, SPECIAL_PATTERN}
"""The regular expressions of our tokenizers. A replaced one must stay in this set, as older folders contain it."""
_SPACES = " {2,}"
"""What files made of SentencePiece's replace by one space."""
_LITERAL = r"(?:[^()\[\]{}?*+|^$.\\]|\\[^A-Za-z0-9])*"
_WHOLE_WORD = re.compile(rf"\\A(?:\(\?=\(\?:{_LITERAL}(?:\|{_LITERAL})*\)\\z\)|{_LITERAL}\\z)")
"""The pattern of a decoder: one word of a list. It is always fast, as nothing in it repeats."""

_NORMALIZERS = {
    "Sequence", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip", "BertNormalizer", "Replace",
    "Precompiled",
}  # fmt: skip
_CUTTERS = {
    "Sequence", "Split", "ByteLevel", "Metaspace", "BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation",
    "Digits",
}  # fmt: skip
_MOST_STEPS = 8
_MOST_BYTES = 128 << 20
_LONGEST_ENDING = 4096  # the description of a step that adds an end token has some 400 characters
_LONGEST_REPLACEMENT = 64  # bytes of a character in SentencePiece's table. NFKC, which it follows, needs 33
_LONGEST_WORD = 1000  # for WordPiece, whose time grows with the square of the length


def read_tokenizer(path: Path, *, where: str = "") -> Tokenizer:
    """Read the file as a tokenizer of the library.

    Args:
        where: what an error message shows before the file's name, instead of its path.

    Raises:
        GlassformerError: the file is damaged.
        UsageError: the file has a part that is not known to be harmless.
    """
    shown = f"{where}: {path.name}" if where else str(path)
    raw = read_bounded(path, _MOST_BYTES, shown)
    try:
        inner = Tokenizer.from_str(raw.decode("utf-8"))
    except BaseException as error:  # the library raises bare Exceptions, and a BaseException if it panics
        if isinstance(error, (KeyboardInterrupt, MemoryError, SystemExit)):
            raise
        raise GlassformerError(
            f"{shown} is not a readable tokenizer file ({error}); it is damaged or cut short"
        ) from error
    if odd := next(_odd_parts(inner), None):
        raise UsageError(f"{shown}: {odd}; such a tokenizer cannot be read")
    return inner


def _odd_parts(inner: Tokenizer) -> Iterator[str]:
    """Yield a description of each part that is not known to take little time and memory for every text."""
    parts = {"normalizer": (inner.normalizer, _NORMALIZERS), "pre-tokenizer": (inner.pre_tokenizer, _CUTTERS)}
    for name, (part, known) in parts.items():
        steps = list(_objects(_described(part)))
        kinds = [str(step["type"]) for step in steps if "type" in step]
        yield from (f"its {name} has a step of the type {kind}" for kind in kinds if kind not in known)
        if len(kinds) > _MOST_STEPS:
            yield f"its {name} has {len(kinds)} steps"
        for step in steps:
            if "content" in step and len(step["content"]) > _shortest(step["pattern"]):
                yield f"its {name} makes texts longer ({step['pattern']} becomes {step['content'][:20]!r})"
            if "Regex" in step and step["Regex"] not in {*_PATTERNS, _SPACES}:
                yield f"its {name} has the regular expression {step['Regex'][:60]!r}, which might take for ever"
            if "precompiled_charsmap" in step and not _is_harmless_table(step["precompiled_charsmap"]):
                yield f"its {name} has a table of characters that is damaged, or makes texts longer"
    for step in _objects(_described(inner.decoder)):
        if "Regex" in step and step["Regex"] not in _PATTERNS and not _WHOLE_WORD.fullmatch(step["Regex"]):
            yield f"its decoder has the regular expression {step['Regex'][:60]!r}, which might take for ever"
    if getattr(inner.model, "dropout", None):
        yield "its model cuts words at random (dropout)"
    if getattr(inner.model, "max_input_chars_per_word", 0) > _LONGEST_WORD:
        yield f"its model reads words of {inner.model.max_input_chars_per_word} characters"
    if len(getattr(inner.model, "continuing_subword_prefix", None) or "") > _MOST_STEPS:
        yield "its model has a long prefix for the pieces of words"


def _shortest(pattern: dict[str, Any]) -> int:
    """Return how many characters a replaced pattern has at least."""
    return 2 if pattern.get("Regex") == _SPACES else len(str(pattern.get("String", "")))


def _is_harmless_table(encoded: str) -> bool:
    """Whether SentencePiece's table of characters has short replacements, and every way through it stays inside.

    It is a double array (Aoe 1989) and the replacements, each of which ends with a zero byte. The library follows it
    without looking, so a damaged one would end the program.
    """
    try:
        raw = base64.b64decode(encoded, validate=True)
    except ValueError:
        return False
    size = int.from_bytes(raw[:4], "little")
    array, texts = raw[4 : 4 + size], raw[4 + size :]
    if not size or size % 4 or len(array) < size:
        return False
    units = np.frombuffer(array, "<u4").astype(np.int64)
    if units[0] & 0x80000000:  # the library follows the root, whatever it is
        return False
    inner = units[(units & 0x80000000) == 0]  # the others hold a value
    nodes = np.flatnonzero((units & 0x80000000) == 0)
    next_ones = nodes ^ (inner >> 10 << ((inner & 0x200) >> 6))
    values = units[next_ones[(inner & 0x100) != 0] % len(units)] & 0x7FFFFFFF
    if (next_ones | 0xFF).max() >= len(units) or (values > len(texts)).any():
        return False
    starts = np.frombuffer(texts + b"\0", np.uint8)[values]
    return bool(((starts & 0xC0) != 0x80).all() and max(map(len, texts.split(b"\0"))) <= _LONGEST_REPLACEMENT)


def _described(part: Any) -> Any:
    return None if part is None else json.loads(part.__getstate__())


def _objects(described: Any) -> Iterator[dict[str, Any]]:
    """Yield every JSON object in the description."""
    if isinstance(described, dict):
        yield described
        described = list(described.values())
    if isinstance(described, list):
        for inner in described:
            yield from _objects(inner)


def read_own_tokenizer(path: Path) -> Tokenizer:
    """Read the tokenizer of a model folder. Its ids must be 0, 1, 2 …, and it must not pad texts.

    Raises:
        GlassformerError: the file is damaged.
        UsageError: the file has a part that is not known to be harmless.
    """
    inner = read_tokenizer(path)
    in_order = sorted(inner.get_vocab().items(), key=lambda entry: entry[1])
    for expected, (token, number) in enumerate(in_order):
        if number != expected:
            fault = "stands for two tokens" if number < expected else f"is missing, and {token[:40]!r} is {number}"
            raise GlassformerError(f"{path}: the id {min(number, expected)} {fault}; the file is damaged")
    if inner.padding is not None:
        raise GlassformerError(f"{path}: it pads texts, which ours never do; the file is damaged")
    cut = inner.truncation
    if cut is not None and (cut["stride"] or cut["strategy"] != "longest_first"):
        raise GlassformerError(f"{path}: it cuts texts as ours never do; the file is damaged")
    if inner.post_processor is not None and len(inner.post_processor.__getstate__()) > _LONGEST_ENDING:
        raise GlassformerError(f"{path}: it adds more to texts than an end token; the file is damaged")
    if max(inner.encode("").ids, default=0) >= len(in_order):
        raise GlassformerError(f"{path}: it adds a token to texts that has no id; the file is damaged")
    if lacks_unknown(inner):
        raise GlassformerError(f"{path}: it has no token for unknown words; the file is damaged")
    return inner


def lacks_unknown(inner: Tokenizer) -> bool:
    """Whether the tokenizer fails at a text with unknown words. One of BPE may leave them out."""
    if isinstance(inner.model, models.Unigram):
        return bool(_described(inner.model)["unk_id"] is None)
    unknown = inner.model.unk_token
    return unknown is not None and inner.model.token_to_id(unknown) is None


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
