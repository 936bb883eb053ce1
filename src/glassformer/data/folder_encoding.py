"""Find the encoding of the files of a folder once, by the lines of all of them: a short file says too little."""

from __future__ import annotations

import codecs
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from glassformer.data.encodings import (
    WINDOW,
    confidences_of,
    decoded_text,
    encoding_of_start,
    evidence,
    fault,
    is_binary,
    named_encoding,
    ranked,
    spelled,
)
from glassformer.data.lines import OnNote
from glassformer.data.wording import counted

_LOOKED_AT = 2**18  # bytes of a file of many
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_MOST_OF_ONE = 5  # bytes beyond ASCII that count, so that no file outweighs many
_CLEAR = 0.1
_CLEARLY_BETTER = 10
"""A file is not in the encoding of all if another one fits it so well, and so many times better. In files of ten
letters, the right encoding (KOI8-R) scores 27 times higher than a wrong one. In files of a letter or two, a wrong one
scores up to 5 times higher."""
_MANY, _BETTER = 40, 2
"""The same for files with so many bytes beyond ASCII: there, the right encoding scored higher than a wrong one in 199
of 199 tables of short sentences in 13 languages."""


@dataclass
class SharedEncoding:
    """The encoding of the files of one folder that are not UTF-8. It is found once somebody asks for it.

    If some files are clearly in another encoding, each file gets the best of these encodings.

    Args:
        read: gives the bytes of a file, or whole lines of it.
    """

    files: Sequence[Path]
    read: Callable[[Path], bytes]
    name: Callable[[Path], str]
    on_note: OnNote | None = None

    def of(self, file: Path) -> str | None:
        """Return the encoding of a file. None if its bytes do not tell one, or none fits."""
        return self._found.get(file)

    @cached_property
    def _found(self) -> Mapping[Path, str]:
        """Return the encoding of each file that is not UTF-8, and say what was found."""
        confidences, shown = dict[Path, Mapping[str, float]](), list[bytes]()
        beyond = dict[Path, int]()  # bytes beyond ASCII
        for file in self.files:
            raw = self.read(file)
            if not (odd := _odd_lines(raw)):
                continue
            best = confidences_of(odd, filter(bytes.isascii, raw.split(b"\n")))
            confidences[file] = {encoding: confidence for encoding, confidence in best if _fits(raw, encoding)}
            beyond[file] = sum(byte >= 0x80 for line in odd for byte in line)
            if sum(map(len, shown)) < WINDOW:
                shown += odd
        best_first = _of_all(confidences, beyond)
        found = _one_of_each(confidences, best_first[0][0] if best_first else "", beyond)
        of_files = f"{len(confidences):,} of {counted(len(self.files), 'file')}"
        if self.on_note and len({*found.values()}) == 1:
            self.on_note(f"{of_files} read as {evidence(best_first, shown, self.name(next(iter(confidences))))}")
        elif self.on_note and confidences:
            self.on_note(f"{of_files} are not UTF-8, and not all in one encoding: {self._each_of(found)}")
        return found

    def _each_of(self, found: Mapping[Path, str]) -> str:
        first = {encoding: file for file, encoding in reversed([*found.items()])}
        return ", ".join(
            f"{number:,} × read as {spelled(encoding)} (first: {self.name(first[encoding])})"
            for encoding, number in Counter(found.values()).most_common()
        )


class FolderDecoder:
    """Decodes the text files of a folder. Those that are not UTF-8 are read in one encoding (see `SharedEncoding`)."""

    def __init__(
        self, root: Path, files: Sequence[Path], read: Callable[[Path], bytes], *, on_note: OnNote | None = None
    ) -> None:
        self._root, self._read, self._on_note = root, read, on_note
        self._shared = SharedEncoding(files, read, self._name, self._say)
        self._said: set[str] = set()

    def text(self, file: Path) -> str:
        """Return the text of a file. Raises what `decoded_text` raises."""
        raw = self._read(file)

        def note(sentence: str) -> None:
            self._say(f"{self._name(file)}: {sentence}", kind=sentence.partition(",")[0])

        def shared() -> str | None:
            return self._shared.of(file) if _odd_lines(raw) else None

        return decoded_text(raw, str(file), on_note=note, fallback=shared)

    def _name(self, file: Path) -> str:
        return str(file.relative_to(self._root))

    def _say(self, note: str, kind: str = "") -> None:
        """Say what was found: of several files, for the first one of each kind."""
        if self._on_note and (kind or note) not in self._said:
            self._said.add(kind or note)
            self._on_note(note)


def beginning_beyond_ascii(stream: BinaryIO) -> bytes:
    """Return the first lines from one on that is not ASCII. Nothing: it is far below, or the lines are very long."""
    raw = stream.read(_LOOKED_AT)
    if (first := _BEYOND_ASCII.search(raw)) is None:
        return b""
    begin = raw.rfind(b"\n", 0, first.start()) + 1
    window = raw[begin : begin + WINDOW]
    is_whole = begin + len(window) == len(raw) < _LOOKED_AT
    return window if is_whole else window[: window.rfind(b"\n") + 1]


def _odd_lines(raw: bytes) -> list[bytes]:
    """Return the lines that are not UTF-8, of a text whose encoding is not known otherwise."""
    if named_encoding() or encoding_of_start(raw[:WINDOW]) or raw.startswith(codecs.BOM_UTF8) or fault(raw) is None:
        return []
    odd = [line for line in raw.split(b"\n") if fault(line) is not None]
    return [] if is_binary(odd[0]) else odd


def _fits(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _of_all(confidences: Mapping[Path, Mapping[str, float]], beyond: Mapping[Path, int]) -> list[tuple[str, float]]:
    """Return the encodings by the votes of all files, the best first. Those clearly in another one have no vote."""

    def voted(files: Mapping[Path, Mapping[str, float]]) -> list[tuple[str, float]]:
        votes = defaultdict[str, float](float)
        for file, each in files.items():
            for encoding, confidence in each.items():
                votes[encoding] += confidence * min(_MOST_OF_ONE, beyond[file])
        return ranked(votes)

    if not (first := voted(confidences)):
        return []
    alike = {file: each for file, each in confidences.items() if not _is_other(each, first[0][0], beyond[file])}
    return voted(alike) or first


def _one_of_each(
    confidences: Mapping[Path, Mapping[str, float]], of_all: str, beyond: Mapping[Path, int]
) -> Mapping[Path, str]:
    """Return the encoding of each file that any fits: that of all, or what fits best of it and those of other files."""
    known = {file: each for file, each in confidences.items() if each}
    others = [each for file, each in known.items() if _is_other(each, of_all, beyond[file])]
    among = {of_all, *(max(each, key=each.__getitem__) for each in others)}
    return {file: max(among & {*each} or each, key=each.__getitem__) for file, each in known.items()}


def _is_other(confidences: Mapping[str, float], of_all: str, beyond: int) -> bool:
    """Whether a file with so many bytes beyond ASCII is clearly in another encoding than that of all."""
    times = _BETTER if beyond >= _MANY else _CLEARLY_BETTER
    return max(confidences.values(), default=0) > max(_CLEAR, times * confidences.get(of_all, 0))
