"""Encoded texts on disk, read through memory mapping.

A table is encoded once. After that, every epoch and a resumed run read the tokens without the tokenizer. The operating
system decides how much of the file stays in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from glassformer.data.arrays import Array, Gathered, IntArray, gathered, parts_of
from glassformer.data.checksums import sha256_of
from glassformer.data.files import write_aside, writing_in
from glassformer.data.tokenizers import TextTokenizer, batched

_TEXTS_PER_WRITE = 8192
STORE_FILE, _FILES = "store.json", ("tokens.bin", "offsets.npy")


class TokenStore:
    """Row i is `tokens[offsets[i]:offsets[i+1]]`, without start token or padding.

    Attributes:
        tokens: all tokens one after another, memory-mapped or in memory.
        offsets: (rows + 1,) the position in `tokens` where each row begins, and the end of the last one.
    """

    def __init__(self, tokens: Array, offsets: IntArray) -> None:
        self.tokens, self.offsets = tokens, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> IntArray:
        parts = (np.diff(self.offsets[part.start : part.stop + 1]) for part in parts_of(len(self)))
        return gathered(parts)

    @classmethod
    def in_memory(cls, rows: list[IntArray]) -> TokenStore:
        """A store of a few texts that never touches the disk."""
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return cls(np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64), offsets)

    @classmethod
    def write(cls, folder: Path, texts: Iterable[str], tokenizer: TextTokenizer) -> TokenStore:
        """Encode `texts` into `folder`, a few thousand at a time, and open the result."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FILES:
            (folder / name).unlink(missing_ok=True)  # a link would be followed, and what it names overwritten
        dtype = np.uint16 if tokenizer.vocab_size <= 2**16 else np.uint32
        ends, last = Gathered(), np.zeros(1, np.int64)
        ends.add(last)
        with (folder / "tokens.bin").open("wb") as file:
            for batch in batched(texts, _TEXTS_PER_WRITE):
                rows = tokenizer.encode(batch)
                np.concatenate(rows).astype(dtype).tofile(file)  # each call writes to the disk
                last = last[-1] + np.cumsum(list(map(len, rows)))
                ends.add(last)
        np.save(folder / "offsets.npy", ends.whole())
        # This file is written last: a store without it is incomplete.
        described = {"dtype": np.dtype(dtype).name, "sha256": sha256_of([folder / name for name in _FILES])}
        write_aside(folder / STORE_FILE, json.dumps(described))
        with writing_in(folder):  # some file systems map no files
            return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> TokenStore:
        """Map a store that `write` wrote.

        Raises:
            FileNotFoundError: there is no store, or it is incomplete.
            ValueError: a file of the store is damaged.
        """
        dtype, offsets = _described_type(folder), _offsets(folder / "offsets.npy")
        if offsets[-1] == 0:  # an empty file cannot be mapped
            return cls(np.zeros(0, dtype=dtype), offsets)
        return cls(np.memmap(folder / "tokens.bin", dtype=dtype, mode="r", shape=(int(offsets[-1]),)), offsets)


def is_whole_store(folder: Path) -> bool:
    """Whether the files of a store are as they were written."""
    try:
        return bool(_described_type(folder))
    except (OSError, ValueError):
        return False


def _described_type(folder: Path) -> str:
    if missing := [name for name in (STORE_FILE, *_FILES) if not (folder / name).is_file()]:
        raise FileNotFoundError(f"{folder / missing[0]} is missing, or is not a file")  # a pipe may never end
    try:
        described = json.loads((folder / STORE_FILE).read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError(f"{folder / STORE_FILE} is nested too deep") from error
    if not isinstance(described, dict) or described.get("dtype") not in ("uint16", "uint32"):
        raise ValueError(f"{folder / STORE_FILE} names no type of tokens")
    if described.get("sha256") != sha256_of([folder / name for name in _FILES]):
        raise ValueError(f"the files of {folder} are not as they were written")
    return str(described["dtype"])


def _offsets(file: Path) -> IntArray:
    try:
        offsets: IntArray = np.asarray(np.load(file, mmap_mode="r"))  # `memmap` itself takes long for each index
    except EOFError as error:
        raise ValueError(f"{file} is empty") from error
    if offsets.dtype != np.int64 or offsets.ndim != 1 or not len(offsets) or offsets[0] or _falls(offsets):
        raise ValueError(f"{file} holds no positions in ascending order")
    return offsets


def _falls(offsets: IntArray) -> bool:
    return any((np.diff(offsets[part.start : part.stop + 1]) < 0).any() for part in parts_of(len(offsets) - 1))
