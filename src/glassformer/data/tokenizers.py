"""Turn text into token ids, with a vocabulary learned from the training texts alone.

The `tokenizers` library does the work. This file says which of its parts make each kind of tokenizer. Every
normalisation keeps the character offsets into the original text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self
from unicodedata import normalize

import numpy as np
from pydantic import BaseModel, ConfigDict, model_validator
from tokenizers import AddedToken, Encoding, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from glassformer.data.arrays import IntArray
from glassformer.data.inputs import SEPARATOR
from glassformer.data.tokenizer_file import (
    CHARACTER_PATTERN,
    SPECIAL_PATTERN,
    WORD_PATTERN,
    read_own_tokenizer,
    spelling,
)
from glassformer.errors import UsageError
from glassformer.models.model_config import Count, VocabSize

PAD, UNKNOWN, START = "<pad>", "<unk>", "<cls>"
SPECIAL_TOKENS = [PAD, UNKNOWN, START]
PAD_ID, UNKNOWN_ID, START_ID = 0, 1, 2
_BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())

_MOST_MARKS = 30  # of a letter, as Unicode's stream-safe text format has it
_LONG_WORD = re.compile(r"\S{1000}(?=\S)")
CUT_INTO_WORDS = pre_tokenizers.Split(Regex(WORD_PATTERN), "removed", invert=True)


class TokenizerConfig(BaseModel):
    """How texts are cut into tokens (recipe section `[tokenizer]`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["word", "character", "byte", "bpe", "wordpiece", "unigram", "pretrained"] = "word"
    """What a token is: a word, a character, a byte, or a piece of a word that is learned from the texts (`bpe`,
    `wordpiece`, `unigram`). `pretrained` takes the tokenizer of the checkpoint that training starts from, and ignores
    the settings below. Choose pieces if many words are rare."""
    vocab_size: VocabSize = 30_000
    """Most tokens in the vocabulary, including the three special ones. `byte` ignores it: it always has 256 bytes and
    the special tokens. Raise it for large data with many different words."""
    min_frequency: Count = 2
    """How often a word or piece must occur in the training texts to be in the vocabulary, from 1 on. `unigram` ignores
    it. Set it to 1 for small data."""
    lowercase: bool = True
    """Whether texts are turned into lower case. Turn it off if case carries meaning."""
    strip_accents: bool = False
    """Whether accents and other combining marks are removed. It helps if the texts often lack them, and hurts languages
    in which they distinguish words."""
    normalization: Literal["none", "nfc", "nfkc"] = "nfkc"
    """Unicode normal form. `nfc` joins letters and their accents. `nfkc` also replaces full-width letters and ligatures
    by plain letters."""
    numbering: Literal["frequency", "appearance"] = "frequency"
    """Order of the ids of words: by `frequency`, or by first `appearance` in the texts, which only the kind `word`
    allows. It matters only to designs that read the ids as numbers."""
    max_tokens: Count | None = None
    """How many tokens of each text are read, from its start. None reads whole texts, in several windows if they are
    longer than `model.max_seq_len`."""

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if self.numbering == "appearance" and self.kind != "word":
            raise ValueError(f"numbering='appearance' is for kind='word', got kind={self.kind!r}")
        least = len(_BYTES) + len(SPECIAL_TOKENS)
        if self.kind == "bpe" and self.vocab_size < least:
            raise ValueError(f"vocab_size must be at least {least} for kind='bpe', got vocab_size={self.vocab_size}")
        return self


class TextTokenizer:
    """A trained tokenizer. Id 0 is padding, 1 the unknown token, and 2 the start token, which begins every text."""

    def __init__(self, inner: Tokenizer) -> None:
        inner.encode_special_tokens = True  # "<pad>" in a user's text is five ordinary characters
        self._inner = inner

    @classmethod
    def train(cls, texts: Iterable[str], config: TokenizerConfig) -> TextTokenizer:
        """Learn a vocabulary from `texts`. The same texts give the same vocabulary.

        Raises:
            UsageError: the texts have more different characters than `config.vocab_size` (`wordpiece` and `unigram`
                keep all of them), or this kind of tokenizer comes with weights.
        """
        if config.kind == "pretrained":
            raise UsageError("tokenizer.kind = 'pretrained' comes with a checkpoint's weights; name one with `init=`")
        inner, trainer = _untrained(config)
        if config.kind in ("bpe", "wordpiece", "unigram"):
            # The library learns pieces in a time that grows with the square of the longest word, without interruption:
            # a word of 400,000 characters took 40 seconds, one of a million crashed it.
            texts = (_LONG_WORD.sub(r"\g<0> ", text) for text in texts)
        if config.numbering == "appearance":
            texts = list(texts)
        if config.kind == "wordpiece":
            texts = list(texts)
            trainer = _settled_wordpiece_trainer(texts, config)
        try:
            inner.train_from_iterator(texts, trainer)
        except Exception as error:  # the library raises bare Exceptions
            raise UsageError(f"tokenizer.vocab_size = {config.vocab_size}: {error}; raise it") from error
        if config.kind in ("wordpiece", "unigram"):
            inner = _with_model(_settled_model(inner, config), config)
            inner.add_special_tokens(SPECIAL_TOKENS)
        if config.numbering == "appearance":
            inner = _with_model(_numbered_by_appearance(inner, texts), config)
            inner.add_special_tokens(SPECIAL_TOKENS)
        if config.max_tokens is not None:
            inner.enable_truncation(config.max_tokens)
        return cls(inner)

    @classmethod
    def load(cls, path: Path) -> TextTokenizer:
        """Read `tokenizer.json`.

        Raises:
            GlassformerError: the file is damaged.
            UsageError: the file has a part that is not known to be harmless.
        """
        return cls(read_own_tokenizer(path))

    def save(self, path: Path) -> None:
        """Write `tokenizer.json`, the library's own format."""
        path.write_text(self.to_json(), encoding="utf-8")

    def to_json(self) -> str:
        return str(self._inner.to_str(pretty=True))

    @property
    def vocab_size(self) -> int:
        return int(self._inner.get_vocab_size())

    def vocabulary(self) -> dict[str, int]:
        """Return token → id."""
        return dict(self._inner.get_vocab())

    @property
    def separator_id(self) -> int | None:
        """The id of the token between two texts of a row. None if it reads one text."""
        added = self._inner.get_added_tokens_decoder().items()
        return next((id_ for id_, token in added if token.content == SEPARATOR), None)

    def encode(self, texts: Sequence[str]) -> list[IntArray]:
        """Return the token ids of each text, without the start token. An empty text has none.

        If the tokenizer came with weights, every text ends with the end token that they were trained with.

        Raises:
            UsageError: `texts` is one string. Its characters would be taken for texts.
        """
        if isinstance(texts, str):
            raise UsageError("encode takes a list of texts, not one string; for a single text give [text]")
        encoded = self._inner.encode_batch_fast(list(texts), add_special_tokens=True)
        return [np.array(encoding.ids, dtype=np.int64) for encoding in encoded]

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the token ids and, for each, its span of characters in `text` (start, end). An end token has none."""
        (encoding,) = self.encodings([text])
        return encoding.ids, encoding.offsets

    def encodings(self, texts: Sequence[str]) -> list[Encoding]:
        """Return for each text what has the `ids` of its tokens, and their `offsets`, which are made when asked for."""
        return list(self._inner.encode_batch(list(texts), add_special_tokens=True))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text that these tokens spell. One space separates whole words, whatever was between them."""
        return str(self._inner.decode(list(ids), skip_special_tokens=True))

    def unknown_words(self, text: str) -> list[str]:
        """Return the parts of `text` that are not in the vocabulary, in order and without repeats."""
        return unknown_words_of(text, self.encodings([text])[0])

    def normalised(self, word: str) -> str:
        """Return the word as the vocabulary spells it, for example in lower case."""
        normalizer = self._inner.normalizer
        return word if normalizer is None else str(normalizer.normalize_str(word))

    def word_ids(self, words: Sequence[str]) -> list[int | None]:
        """Return the id of each word that is one known token when it follows another word, or None for other words."""
        whole = self._copy()
        whole.no_truncation()
        start = whole.encode("x", add_special_tokens=False).ids
        found = whole.encode_batch_fast([f"x {word}" for word in words], add_special_tokens=False)
        ids = [encoding.ids[len(start) :] for encoding in found]
        return [row[0] if len(row) == 1 and row[0] != UNKNOWN_ID else None for row in ids]

    def words(self) -> dict[str, int]:
        """Return word → id for the tokens that are whole words with a letter or digit, not pieces of words."""
        spell = decoders.ByteLevel() if isinstance(self._inner.model, models.BPE) else decoders.Metaspace()
        added = {token.content for token in self._inner.get_added_tokens_decoder().values()}  # these are not pieces
        spelled = [token if token in added else str(spell.decode([token])).strip() for token in self.vocabulary()]
        candidates = [word for word in dict.fromkeys(spelled) if _is_word(word) and word == self.normalised(word)]
        ids = zip(candidates, self.word_ids(candidates), strict=True)
        return {word: id_ for word, id_ in ids if id_ is not None}

    def words_in_pieces(self, text: str) -> list[str]:
        """Return the words of a text that are cut into several tokens, in order and without repeats."""
        words = [part for part, _ in CUT_INTO_WORDS.pre_tokenize_str(self.normalised(text)) if _is_word(part)]
        unknown = {self.normalised(word) for word in self.unknown_words(text)}
        ids = zip(words, self.word_ids(words), strict=True)
        return list(dict.fromkeys(word for word, id_ in ids if id_ is None and word not in unknown))

    def refusals(self, words: Sequence[str]) -> dict[str, str]:
        """Return the words that cannot be added, each with the reason."""
        pieces = {} if isinstance(self._inner.model, models.WordLevel) else self.vocabulary()
        reasons: dict[str, str] = {}
        for word, known in zip(words, self.word_ids(words), strict=True):
            if not _is_word(self.normalised(word)):
                reasons[word] = "not one word: letters and digits without a space or hyphen"
            elif known is not None:
                reasons[word] = "in the vocabulary already"
            elif self.normalised(word) in pieces:
                reasons[word] = "in the vocabulary as a piece of other words"
        return reasons

    def with_words(self, words: Sequence[str]) -> TextTokenizer:
        """Return this tokenizer with a new id at the end for each of `words`. Other texts are encoded as before.

        A word-level vocabulary without marks gets one more entry per word. Any other tokenizer finds a new word before
        it cuts the text into pieces, and only if no letter, digit or underscore touches the word. The space before the
        word is then part of it. The word is decoded as the vocabulary spells it, after a space.

        Raises:
            UsageError: a word cannot be added (see `refusals`), or is given twice.
        """
        for word, reason in self.refusals(words).items():
            raise UsageError(f"{word!r} cannot be added to the vocabulary: {reason}")
        words = [self.normalised(word) for word in words]
        first = self.vocab_size
        new = {word: first + number for number, word in enumerate(words)}
        marked = len(self._inner.get_added_tokens_decoder()) > len(SPECIAL_TOKENS)
        if isinstance(self._inner.model, models.WordLevel) and not marked:
            spec = json.loads(self._inner.to_str())
            spec["model"]["vocab"] |= new
            inner = Tokenizer.from_str(json.dumps(spec))
        else:
            inner = self._copy()
            spaced = isinstance(
                inner.model, models.BPE | models.Unigram
            )  # whose pieces include the space before a word
            inner.add_tokens([AddedToken(word, single_word=True, lstrip=spaced, normalized=True) for word in words])
            if spaced:
                inner.decoder = spelling(inner, words)
        larger = TextTokenizer(inner)
        if larger.word_ids(words) != list(range(first, first + len(words))):
            raise UsageError(f"{', '.join(words)}: these cannot all be words of their own to this tokenizer")
        return larger

    def with_marks(self, marks: Sequence[str]) -> TextTokenizer:
        """Return this tokenizer with a new id at the end for each of `marks` (`Inputs.tokens`), which are never cut."""
        inner = self._copy()
        inner.add_tokens([AddedToken(mark, normalized=False) for mark in marks])
        return TextTokenizer(inner)

    def _copy(self) -> Tokenizer:
        copy = Tokenizer.from_str(self._inner.to_str())
        copy.encode_special_tokens = True
        return copy


def unknown_words_of(text: str, encoding: Encoding) -> list[str]:
    """Return the unknown words of a text that has been encoded (see `TextTokenizer.unknown_words`)."""
    if UNKNOWN_ID not in (ids := encoding.ids):
        return []
    spans = (span for id_, span in zip(ids, encoding.offsets, strict=True) if id_ == UNKNOWN_ID)
    return list(dict.fromkeys(text[start : whole_end(text, end)] for start, end in spans))


def whole_end(text: str, end: int) -> int:
    """Return where a token ends with the marks that its last letter is composed of, which the library leaves out."""
    letter = end - 1
    while 0 < end < min(len(text), letter + _MOST_MARKS) and len(normalize("NFKC", text[letter : end + 1])) == 1:
        end += 1
    return end


def _is_word(text: str) -> bool:
    """Whether a text is a single word with a letter or digit."""
    cut = CUT_INTO_WORDS.pre_tokenize_str(text)
    return [part for part, _ in cut] == [text] and any(character.isalnum() for character in text)


def batched(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """Yield lists of `size` texts. The last list may be shorter."""
    rest = iter(texts)
    while batch := list(islice(rest, size)):
        yield batch


def described(config: TokenizerConfig) -> dict[str, Any]:
    """Return what `tokenizer.json` holds for this configuration, but for what is learned from texts."""
    return dict(json.loads(_untrained(config)[0].to_str()))


def _untrained(config: TokenizerConfig) -> tuple[Tokenizer, Any]:
    """Return the untrained tokenizer and the trainer of the library for the configured kind."""
    common: dict[str, Any] = {"special_tokens": SPECIAL_TOKENS, "show_progress": False}
    sized = common | {"vocab_size": config.vocab_size}
    counted = sized | {"min_frequency": config.min_frequency}
    model: Any
    trainer: Any
    match config.kind:
        case "word" | "character":
            model, trainer = models.WordLevel(unk_token=UNKNOWN), trainers.WordLevelTrainer(**counted)
        case "byte":
            # There is no room for merges: the 256 bytes are the whole vocabulary, whatever the texts.
            bytes_alone = common | {"vocab_size": len(_BYTES) + len(SPECIAL_TOKENS)}
            model, trainer = models.BPE(), trainers.BpeTrainer(**bytes_alone, initial_alphabet=_BYTES)
        case "bpe":
            model, trainer = models.BPE(), trainers.BpeTrainer(**counted, initial_alphabet=_BYTES)
        case "wordpiece":
            model, trainer = models.WordPiece(unk_token=UNKNOWN), trainers.WordPieceTrainer(**counted)
        case "unigram":
            model, trainer = models.Unigram(), trainers.UnigramTrainer(**sized, unk_token=UNKNOWN)
    return _with_model(model, config), trainer


def _with_model(model: Any, config: TokenizerConfig) -> Tokenizer:
    """Return a tokenizer around `model` that normalises and cuts as `config` says. The model may be trained."""
    tokenizer = Tokenizer(model)
    steps: list[Any] = [normalizers.NFD(), normalizers.StripAccents()] if config.strip_accents else []
    if config.normalization != "none":
        steps.append(normalizers.NFC() if config.normalization == "nfc" else normalizers.NFKC())
    if config.lowercase:
        steps.append(normalizers.Lowercase())
    tokenizer.normalizer = normalizers.Sequence(steps)
    match config.kind:
        case "word":
            tokenizer.pre_tokenizer = CUT_INTO_WORDS
        case "wordpiece":
            tokenizer.pre_tokenizer, tokenizer.decoder = CUT_INTO_WORDS, decoders.WordPiece(cleanup=False)
        case "character":
            tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(CHARACTER_PATTERN), "isolated")
            tokenizer.decoder = decoders.Fuse()
        case "byte" | "bpe":
            cut = config.kind == "bpe"
            tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=cut)
            tokenizer.decoder = decoders.ByteLevel()
        case "unigram":
            tokenizer.decoder = decoders.Metaspace()
            # Only this model would find special tokens in a text that spells them.
            spelled = Regex(SPECIAL_PATTERN)
            tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
                [pre_tokenizers.Metaspace(), pre_tokenizers.Split(spelled, "isolated")]
            )
    return tokenizer


def _settled_wordpiece_trainer(texts: list[str], config: TokenizerConfig) -> Any:
    """Return a trainer that numbers pieces of one character in the order of the alphabet.

    The library numbers such pieces inside a word ("##c") in the order of a hash map, and chooses between merges of
    equal count by these numbers. Two runs would learn two vocabularies (huggingface/tokenizers, issue 1794). A first
    pass with no room for merges finds the characters. They are then passed as special tokens, which are numbered first.
    """
    alphabet, _ = _untrained(config)
    no_merges = trainers.WordPieceTrainer(special_tokens=SPECIAL_TOKENS, vocab_size=0, show_progress=False)
    alphabet.train_from_iterator(texts, no_merges)
    if (needed := alphabet.get_vocab_size()) > config.vocab_size:
        raise UsageError(
            f"tokenizer.vocab_size = {config.vocab_size} is too small for the characters of these texts: "
            f"kind 'wordpiece' needs at least {needed}"
        )
    characters = sorted(set(alphabet.get_vocab()) - set(SPECIAL_TOKENS))
    return trainers.WordPieceTrainer(
        special_tokens=SPECIAL_TOKENS + characters,
        vocab_size=config.vocab_size,
        min_frequency=config.min_frequency,
        show_progress=False,
    )


def _settled_model(trained: Tokenizer, config: TokenizerConfig) -> Any:
    """Return the learned model without what differs from run to run: the order above, and the rounding of sums."""
    if config.kind == "wordpiece":
        return models.WordPiece(trained.get_vocab(), unk_token=UNKNOWN)
    pieces = json.loads(trained.to_str())["model"]["vocab"]
    # Sums over threads and hash maps differ by 1e-14. That is enough to change the order of pieces of equal score.
    scores = {piece: round(score, 9) for piece, score in pieces if piece not in SPECIAL_TOKENS}
    special = [(token, 0.0) for token in SPECIAL_TOKENS]
    return models.Unigram(special + sorted(scores.items(), key=lambda item: (-item[1], item[0])), UNKNOWN_ID, False)


def _numbered_by_appearance(trained: Tokenizer, texts: Iterable[str]) -> Any:
    """Return a model of the same words, numbered in the order in which they first occur in the texts."""
    met = dict.fromkeys(id_ for text in texts for id_ in trained.encode(text, add_special_tokens=False).ids)
    words = [str(trained.id_to_token(id_)) for id_ in met if id_ != UNKNOWN_ID]
    return models.WordLevel({word: id_ for id_, word in enumerate(SPECIAL_TOKENS + words)}, unk_token=UNKNOWN)
