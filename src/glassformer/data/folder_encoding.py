"""Find the encoding of the text files of a folder once, by the lines of all of them: a short file says too little."""

from __future__ import annotations

import codecs
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

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

_MOST_OF_ONE = 5  # bytes beyond ASCII that count, so that no file outweighs many
_CLEAR = 0.1
_CLEARLY_BETTER = 10
"""A file is not in the encoding of all if another one fits it so well, and so many times better. In files of ten
letters, the right encoding (KOI8-R) scores 27 times higher than a wrong one. In files of a letter or two, a wrong one
scores up to 5 times higher."""


class FolderDecoder:
    """Decodes the text files of one folder. Those that are not UTF-8 are read in one encoding.

    If some files are clearly in another encoding, each file gets the best of these encodings.

    Args:
        files: all files of the folder.
        read: gives the bytes of a file.
        on_note: called with sentences on what was found.
    """

    def __init__(
        self, root: Path, files: Sequence[Path], read: Callable[[Path], bytes], *, on_note: OnNote | None = None
    ) -> None:
        self._root, self._files, self._read, self._on_note = root, files, read, on_note
        self._found: Mapping[Path, str] | None = None
        self._said: set[str] = set()

    def text(self, file: Path) -> str:
        """Return the text of a file. Raises what `decoded_text` raises."""
        raw = self._read(file)
        if self._found is None and _odd_lines(raw):
            self._found = self._decided()

        def note(sentence: str) -> None:
            self._say(f"{self._name(file)}: {sentence}", kind=sentence.partition(",")[0])

        return decoded_text(raw, str(file), on_note=note, fallback=(self._found or {}).get(file))

    def _decided(self) -> Mapping[Path, str]:
        """Return the encoding of each file that is not UTF-8, and say what was found."""
        confidences, votes, shown = dict[Path, Mapping[str, float]](), defaultdict[str, float](float), list[bytes]()
        for file in self._files:
            raw = self._read(file)
            if not (odd := _odd_lines(raw)):
                continue
            confidences[file] = _confidences(raw, odd)
            weight = min(_MOST_OF_ONE, sum(byte >= 0x80 for line in odd for byte in line))
            for encoding, confidence in confidences[file].items():
                votes[encoding] += confidence * weight
            if sum(map(len, shown)) < WINDOW:
                shown += odd
        best_first = ranked(votes)
        found = _one_of_each(confidences, best_first[0][0] if best_first else "")
        of_files = f"{len(confidences):,} of {counted(len(self._files), 'file')}"
        if len({*found.values()}) == 1:
            self._say(f"{of_files} read as {evidence(best_first, shown, self._name(next(iter(confidences))))}")
        else:
            self._say(f"{of_files} are not UTF-8, and not all in one encoding: {self._each_of(found)}")
        return found

    def _each_of(self, found: Mapping[Path, str]) -> str:
        first = {encoding: file for file, encoding in reversed([*found.items()])}
        return ", ".join(
            f"{number:,} × read as {spelled(encoding)} (first: {self._name(first[encoding])})"
            for encoding, number in Counter(found.values()).most_common()
        )

    def _name(self, file: Path) -> str:
        return str(file.relative_to(self._root))

    def _say(self, note: str, kind: str = "") -> None:
        """Say what was found: of several files, for the first one of each kind."""
        if self._on_note and (kind or note) not in self._said:
            self._said.add(kind or note)
            self._on_note(note)


def _odd_lines(raw: bytes) -> list[bytes]:
    """Return the lines that are not UTF-8, of a text whose encoding is not known otherwise."""
    if named_encoding() or encoding_of_start(raw[:WINDOW]) or raw.startswith(codecs.BOM_UTF8) or fault(raw) is None:
        return []
    odd = [line for line in raw.split(b"\n") if fault(line) is not None]
    return [] if is_binary(odd[0]) else odd


def _confidences(raw: bytes, odd: Sequence[bytes]) -> Mapping[str, float]:
    """Return how sure each encoding is that fits a whole file."""
    found = confidences_of(odd, filter(bytes.isascii, raw.split(b"\n")))
    return {encoding: confidence for encoding, confidence in found if _fits(raw, encoding)}


def _fits(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _one_of_each(confidences: Mapping[Path, Mapping[str, float]], of_all: str) -> Mapping[Path, str]:
    """Return the encoding of each file that any fits: that of all, or what fits best of it and those of other files."""
    known = {file: each for file, each in confidences.items() if each}
    among = {of_all, *(max(each, key=each.__getitem__) for each in known.values() if _is_other(each, of_all))}
    return {file: max(among & {*each} or each, key=each.__getitem__) for file, each in known.items()}


def _is_other(confidences: Mapping[str, float], of_all: str) -> bool:
    """Whether a file is clearly in another encoding than that of all."""
    return max(confidences.values()) > max(_CLEAR, _CLEARLY_BETTER * confidences.get(of_all, 0))
