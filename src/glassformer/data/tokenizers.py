"""Text to token ids, by a vocabulary learned from the training texts alone.

The work is done by the `tokenizers` library; this file says which of its parts make which kind of tokenizer. Character
offsets into the original text are kept through every normalisation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from glassformer.errors import GlassformerError

PAD, UNKNOWN, START = "<pad>", "<unk>", "<cls>"
SPECIAL_TOKENS = [PAD, UNKNOWN, START]
PAD_ID, UNKNOWN_ID, START_ID = 0, 1, 2

# Scripts written without spaces: one character is one word, as no dictionary is at hand to cut them.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = rf"[{_UNSPACED}]\p{{M}}*|[\p{{L}}\p{{M}}\p{{N}}&&[^{_UNSPACED}]]+(?:['’][\p{{L}}\p{{M}}]+)*|\S"


class TokenizerConfig(BaseModel):
    """How texts are cut into tokens (recipe section `[tokenizer]`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["word", "character", "byte", "bpe", "wordpiece", "unigram"] = "word"
    """What a token is: a word, a character, a byte, or a piece learned from the texts."""
    vocab_size: int = Field(default=30_000, ge=4)
    """The most tokens kept, special ones included."""
    min_frequency: int = Field(default=2, ge=1)
    """Words and pieces seen less often than this in training are left out (`unigram` has a rule of its own)."""
    lowercase: bool = True
    """Fold case. Turn it off where case carries meaning."""
    strip_accents: bool = False
    """Drop accents and other combining marks. Harmful in many languages, useful where spelling is careless."""
    normalization: Literal["none", "nfc", "nfkc"] = "nfkc"
    """Unicode normal form: NFC joins letters and accents, NFKC also folds full-width and ligature forms."""


class TextTokenizer:
    """A trained tokenizer. Ids 0, 1 and 2 are padding, unknown and the start token that stands before every text."""

    def __init__(self, inner: Tokenizer) -> None:
        inner.encode_special_tokens = True  # "<pad>" in a user's text is five ordinary characters
        self._inner = inner

    @classmethod
    def train(cls, texts: Iterable[str], config: TokenizerConfig) -> TextTokenizer:
        """Learn a vocabulary from `texts`."""
        inner, trainer = _untrained(config)
        inner.train_from_iterator(texts, trainer)
        return cls(inner)

    @classmethod
    def load(cls, path: Path) -> TextTokenizer:
        """Read `tokenizer.json`.

        Raises:
            GlassformerError: the file is not a tokenizer.
        """
        try:
            return cls(Tokenizer.from_file(str(path)))
        except Exception as error:  # the library raises bare Exceptions
            raise GlassformerError(f"{path} is not a readable tokenizer file: {error}") from error

    def save(self, path: Path) -> None:
        """Write `tokenizer.json`, the library's own format."""
        self._inner.save(str(path))

    @property
    def vocab_size(self) -> int:
        return int(self._inner.get_vocab_size())

    def vocabulary(self) -> dict[str, int]:
        """Token → id."""
        return dict(self._inner.get_vocab())

    def encode(self, texts: Sequence[str]) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
        """Token ids of each text, without the start token; an empty text has none."""
        encoded = self._inner.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(one.ids, dtype=np.int64) for one in encoded]

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids and, for each, the characters of `text` (start, end) that it stands for."""
        encoded = self._inner.encode(text, add_special_tokens=False)
        return list(encoded.ids), [(int(start), int(end)) for start, end in encoded.offsets]

    def unknown_words(self, text: str) -> list[str]:
        """The parts of `text` that are not in the vocabulary, in order, each once."""
        ids, offsets = self.encode_with_offsets(text)
        unknown = (text[start:end] for id_, (start, end) in zip(ids, offsets, strict=True) if id_ == UNKNOWN_ID)
        return list(dict.fromkeys(unknown))


def batched(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """Lists of `size` texts, the last one shorter."""
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _untrained(config: TokenizerConfig) -> tuple[Tokenizer, Any]:
    """The library's parts for each kind: model, pre-tokenizer and trainer."""
    common: dict[str, Any] = {"special_tokens": SPECIAL_TOKENS, "show_progress": False}
    sized = common | {"vocab_size": config.vocab_size}
    counted = sized | {"min_frequency": config.min_frequency}
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = pre_tokenizers.Split(Regex(_WORD), "removed", invert=True)
    model: Any
    trainer: Any
    cut: Any
    match config.kind:
        case "word":
            model, trainer, cut = models.WordLevel(unk_token=UNKNOWN), trainers.WordLevelTrainer(**counted), words
        case "character":
            model, trainer = models.WordLevel(unk_token=UNKNOWN), trainers.WordLevelTrainer(**counted)
            cut = pre_tokenizers.Split(Regex(r"(?m:.)"), "isolated")
        case "byte":
            # Room for no merge: the 256 bytes are the whole vocabulary, whatever it is trained on.
            bytes_alone = common | {"vocab_size": len(alphabet) + len(SPECIAL_TOKENS)}
            model, trainer = models.BPE(), trainers.BpeTrainer(**bytes_alone, initial_alphabet=alphabet)
            cut = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        case "bpe":
            model, trainer = models.BPE(), trainers.BpeTrainer(**counted, initial_alphabet=alphabet)
            cut = pre_tokenizers.ByteLevel(add_prefix_space=False)
        case "wordpiece":
            model, trainer, cut = models.WordPiece(unk_token=UNKNOWN), trainers.WordPieceTrainer(**counted), words
        case "unigram":
            model, trainer = models.Unigram(), trainers.UnigramTrainer(**sized, unk_token=UNKNOWN)
            cut = pre_tokenizers.Metaspace()
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(_normalizers(config))
    tokenizer.pre_tokenizer = cut
    return tokenizer, trainer


def _normalizers(config: TokenizerConfig) -> list[Any]:
    steps: list[Any] = []
    if config.strip_accents:
        steps += [normalizers.NFD(), normalizers.StripAccents()]
    if config.normalization != "none":
        steps.append({"nfc": normalizers.NFC, "nfkc": normalizers.NFKC}[config.normalization]())
    if config.lowercase:
        steps.append(normalizers.Lowercase())
    return steps
