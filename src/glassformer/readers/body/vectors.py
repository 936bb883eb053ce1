"""A body: a vector for each word that was frequent in some texts, and for the pieces of words. Needs NumPy alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat
from operator import not_
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from safetensors.numpy import save_file

from glassformer.data.arrays import Array, FloatArray, IntArray, check_is_file, read_arrays, unit
from glassformer.data.checksums import check_sums
from glassformer.data.json_files import as_record, read_bounded, read_json
from glassformer.data.model_marks import BODY_FILE
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.model_config import HUB

WORDS_FILE, VECTORS_FILE = "words.txt", "vectors.safetensors"
DEFAULT_BODY = "english"
SOURCES_FILE = "SOURCES.tsv"
"""Authors and licences of the texts of a body. It goes with it, with bodies that continue it, and with their models."""
SHIPPED = Path(__file__).parent / "shipped"
"""The folder of the bodies that come with the package, each in a folder of its name."""
COMMON = 1e-3
"""A word that is this share of all words counts half as much in the mean of a text as a rare one: a of Arora et al.
(2017), eq. 3."""
PSEUDOCOUNT = 3.0
"""The weighted sum of a text is divided by the weights of its words and this number, as if the text had three more rare
words that stand for nothing. So a text of few words says little."""
PIECE_LENGTHS = range(3, 7)  # characters, as in Bojanowski et al. (2017), §3.2
MOST_BYTES = 1 << 30
"""How many bytes the file of words and pieces may have."""
_MOST = 65_504.0  # the largest number of float16, in which scales are written
_LEVELS = 7  # four bits: whole numbers from -7 to 7
_STRETCH = 0.25  # the deviation of all words along an axis; of vectors of 200 numbers it is .07 elsewhere
_FEWEST_OF_AXIS = 5  # words at each end


class Axis(BaseModel):
    """What texts are often sorted by, as words at its two ends (An, Kwak & Ahn 2018, §3)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    low: tuple[str, ...]
    high: tuple[str, ...]


class Card(BaseModel):
    """How a body was made (`body.json`).

    Attributes:
        name: of the folder that it was written to.
        base: the name of the body that was continued, if it was one.
        read: how many words they hold.
        axes: along which a head learns faster.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    base: str | None = Field(default=None, exclude_if=lambda base: base is None)
    dims: int = Field(ge=1)
    window: int
    min_count: int
    seed: int
    sources: tuple[str, ...]
    read: int
    version: str
    axes: tuple[Axis, ...] = Field(default=(), exclude_if=not_)


@dataclass(frozen=True, kw_only=True, eq=False)
class Lexicon:
    """Words and pieces of words, which have numbers.

    Attributes:
        words: the most frequent one first.
        pieces: runs of 3 to 6 characters. A word begins with `<` and ends with `>`.
    """

    words: tuple[str, ...]
    pieces: tuple[str, ...]

    @cached_property
    def index(self) -> Mapping[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def numbers_of(self, words: Collection[str]) -> IntArray:
        """Return the number of each word, -1 of one that is unknown."""
        return np.fromiter(map(self.index.get, words, repeat(-1)), np.int64, len(words))

    @cached_property
    def piece_index(self) -> Mapping[str, int]:
        return {piece: number for number, piece in enumerate(self.pieces)}

    def pieces_of(self, word: str) -> IntArray:
        """Return the numbers of the known pieces of a word."""
        return np.array([self.piece_index[piece] for piece in pieces_of(word) if piece in self.piece_index], np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Body(Lexicon):
    """Vectors of words and of their pieces.

    Attributes:
        shares: (words,) the share of each in all words that were read.
        vectors: (words, dims), each of length 1.
        piece_vectors: (pieces, dims). The vector of an unknown word is the mean of those of its pieces.
    """

    shares: FloatArray
    vectors: FloatArray
    piece_vectors: FloatArray
    card: Card

    @property
    def dims(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def weights(self) -> FloatArray:
        """The weights of the words in the mean of a text, (words,)."""
        return (COMMON / (COMMON + self.shares)).astype(np.float16).astype(np.float32)  # as in files

    @cached_property
    def stretch(self) -> FloatArray | None:
        """The matrix (dims, dims) that stretches vectors along the axes of the card. None: it has none.

        Along them a penalised head needs smaller weights, so it learns these directions from fewer rows.
        """
        axes = [axis for axis in map(self._direction, self.card.axes) if axis is not None]
        if not axes:
            return None
        scaled = np.stack([_STRETCH / (self.vectors @ axis).std() * axis for axis in axes])
        return np.linalg.cholesky(np.eye(self.dims) + scaled.T @ scaled).astype(np.float32)

    def _direction(self, axis: Axis) -> FloatArray | None:
        """Return the vector from the words of the low end to those of the high end. None: too few are known, or both
        ends are the same."""
        low, high = ([self.index[word] for word in end if word in self.index] for end in (axis.low, axis.high))
        if min(len(low), len(high)) < _FEWEST_OF_AXIS:
            return None
        found: FloatArray = self.vectors[high].mean(axis=0) - self.vectors[low].mean(axis=0)
        return found if found.any() else None

    def of_words(self, words: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Return the vectors (words, dims) of words, and their weights (words,) in the mean of a text.

        A word without known pieces has the weight 0.
        """
        known = self.numbers_of(words)
        vectors, weights = np.zeros((len(words), self.dims), np.float32), np.zeros(len(words), np.float32)
        found = known >= 0
        vectors[found] = self.vectors[known[found]]
        weights[found] = self.weights[known[found]]
        for place in np.flatnonzero(~found).tolist():
            if len(pieces := self.pieces_of(words[place])):
                vectors[place], weights[place] = self.piece_vectors[pieces].mean(axis=0), 1
        return vectors, weights

    def nearest(self, word: str, count: int = 5) -> list[tuple[str, float]]:
        """Return the known words whose vectors have the largest cosine with that of a word, which is not among them."""
        vectors, weights = self.of_words([word])
        length = float(np.linalg.norm(vectors[0]))
        if not weights[0] or not length:
            return []
        cosines = self.vectors @ (vectors[0] / length)
        order: list[int] = np.argsort(-cosines, kind="stable")[: count + 1].tolist()
        return [(self.words[k], float(cosines[k])) for k in order if self.words[k] != word][:count]

    def save(self, folder: Path) -> None:
        """Write the files of the body into a folder. A number of a vector takes four bits.

        Raises:
            OSError: the files cannot be written.
        """
        codes, _ = packed(self.vectors)
        pieces, scales = packed(self.piece_vectors)
        tensors = {"words": codes, "shares": self.shares, "pieces": pieces, "piece_scales": scales}
        save_file(tensors, folder / VECTORS_FILE)
        lines = [*self.words, "", *self.pieces, ""]
        (folder / WORDS_FILE).write_text("\n".join(lines), encoding="utf-8", newline="\n")
        (folder / BODY_FILE).write_text(self.card.model_dump_json(indent=1) + "\n", encoding="utf-8")
        mode = (folder / BODY_FILE).stat().st_mode
        (folder / VECTORS_FILE).chmod(mode)  # safetensors makes files that only their owner can read

    @classmethod
    def load(cls, folder: Path) -> Body:
        """Read what `save` wrote.

        Raises:
            UsageError: the folder holds no body.
            GlassformerError: a file is damaged, or the files do not match each other.
        """
        check_body(folder)
        described = read_json(folder / BODY_FILE)
        if isinstance(described, dict):
            described.pop("seconds", None)  # older versions wrote them
        card = as_record(Card, described, folder / BODY_FILE)
        check_is_file(folder / WORDS_FILE)
        try:
            content = read_bounded(folder / WORDS_FILE, MOST_BYTES, str(folder / WORDS_FILE))
            words, pieces = _two_lists(content.decode("utf-8"))
        except (OSError, ValueError) as error:
            raise GlassformerError(f"{folder / WORDS_FILE} is damaged ({error}); copy the folder again") from error
        tensors = read_arrays(folder / VECTORS_FILE)
        check_sums(folder)
        wide = -(-card.dims // 2)
        expected = {
            "words": (len(words), wide),
            "shares": (len(words),),
            "pieces": (len(pieces), wide),
            "piece_scales": (len(pieces),),
        }
        if {name: tensor.shape for name, tensor in tensors.items()} != expected:
            raise GlassformerError(f"{folder / VECTORS_FILE} does not match {WORDS_FILE}; copy the folder again")
        for name in ("words", "pieces"):
            if tensors[name].dtype != np.uint8:
                raise GlassformerError(f"{folder / VECTORS_FILE}: {name} holds no bytes; the file is damaged")
        for name in ("shares", "piece_scales"):
            if (
                tensors[name].dtype.kind != "f"
                or not (tensors[name] >= 0).all()
                or tensors[name].max(initial=0) > _MOST
            ):
                raise GlassformerError(
                    f"{folder / VECTORS_FILE}: {name} holds something else than numbers from 0 on; the file is damaged"
                )
        return cls(
            words=words,
            shares=tensors["shares"].astype(np.float32),
            vectors=unit(unpacked(tensors["words"], card.dims)),
            pieces=pieces,
            piece_vectors=unpacked(tensors["pieces"], card.dims) * tensors["piece_scales"][:, None].astype(np.float32),
            card=card,
        )


def check_body(folder: Path) -> None:
    """Raise `UsageError` if a folder holds no body."""
    if not (folder / BODY_FILE).is_file():
        what = f"{folder} holds no body" if folder.exists() else f"there is no body {folder}"
        encoder = f"; if it is an encoder, write {HUB}{folder}" if (folder / "config.json").is_file() else ""
        made = "`glassformer embeddings` makes one, and `english` comes with glassformer"
        raise UsageError(f"{what}; {made}{encoder}")


def body_folder(body: str) -> Path:
    """Return the folder of a body that comes with the package, or `body` as a path, which goes first if it exists.

    `auto` is the one that models read with by default.
    """
    if body == "auto":
        return SHIPPED / DEFAULT_BODY
    path = Path(body)
    return SHIPPED / body if path.name == body and (SHIPPED / body).is_dir() and not path.exists() else path


def pieces_of(word: str) -> list[str]:
    """Return the pieces of a word, shorter ones first: not the whole word, and none of a word without letters."""
    if not any(map(str.isalpha, word)):
        return []
    marked = f"<{word}>"
    lengths = [length for length in PIECE_LENGTHS if length < len(marked)]
    return [marked[start : start + length] for length in lengths for start in range(len(marked) - length + 1)]


def packed(values: FloatArray) -> tuple[Array, FloatArray]:
    """Round rows of numbers to four bits each.

    Returns:
        Two numbers in a byte, (rows, half the columns), and the scale (rows,) of each row.
    """
    scales = (np.abs(values).max(axis=1, initial=0) / _LEVELS).astype(np.float16).astype(np.float32)
    whole = np.round(values / np.maximum(scales, np.finfo(np.float16).tiny)[:, None])
    codes = (np.clip(whole, -_LEVELS, _LEVELS) + _LEVELS).astype(np.uint8)
    if codes.shape[1] % 2:
        codes = np.pad(codes, ((0, 0), (0, 1)))
    return codes[:, ::2] | (codes[:, 1::2] << 4), scales.astype(np.float16)


def unpacked(codes: Array, columns: int) -> FloatArray:
    """Return the whole numbers that `packed` wrote, (rows, columns), without their scales."""
    whole = np.empty((len(codes), codes.shape[1] * 2), np.float32)
    whole[:, ::2], whole[:, 1::2] = codes & 15, codes >> 4
    return whole[:, :columns] - _LEVELS


def _two_lists(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words and the pieces. An empty line ends each list."""
    lines = text.split("\n")
    ends = [-1, *(number for number, line in enumerate(lines) if not line)]
    lists = [tuple(lines[begin + 1 : end]) for begin, end in pairwise(ends)]
    if len(lists) < 2 or not lists[0] or any(len(set(each)) < len(each) for each in lists[:2]):
        raise ValueError(f"{WORDS_FILE} does not hold words and pieces, each once")
    return lists[0], lists[1]
