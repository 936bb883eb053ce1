"""Find the encoding of bytes that are not UTF-8, decide once, and decode strictly from then on."""

from __future__ import annotations

import codecs
import encodings.aliases
import itertools
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar

from glassformer.data.meanwhile import meanwhile
from glassformer.data.wording import counted, did_you_mean
from glassformer.errors import UsageError

WINDOW = 2**16
"""The bytes that are looked at to find the encoding, from the first line on that is not ASCII."""

_SPELLED = {
    **{f"cp{number}": f"Windows-{number}" for number in range(1250, 1259)},
    "cp874": "Windows-874",
    "cp932": "Shift-JIS",
    "cp949": "EUC-KR",
    "euc_jp": "EUC-JP",
    "gb18030": "GB18030",
    "big5hkscs": "Big5",
    "koi8_r": "KOI8-R",
    "koi8_u": "KOI8-U",
    **{f"cp{number}": f"DOS-{number}" for number in (850, 852, 866)},
    "iso8859_2": "Latin-2",
}
"""The encodings that are looked for, by their names in Python, and how people name them. Each holds the characters of
its older relatives: Windows-1252 those of Latin-1, GB18030 those of GBK."""
_OTHERS = {"utf_8": "UTF-8", "utf_16": "UTF-16", "utf_32": "UTF-32"}
_UNSURE = 0.95
"""The runner-up is named if it is at least this good."""
_RARE = ("cp850", "cp852")
"""Named as a doubt only if they fit better: most short texts of Windows-1252 fit them nearly as well."""
_MOST_FREQUENT = "cp1252"  # it is taken where another is as good
_MORE_FREQUENT = (_MOST_FREQUENT, "koi8_r")  # they are taken where another gives the same text
_LINES_BEFORE, _BYTES_OF_A_LINE = 50, 500
_MOST_BYTES = 2**14  # more are not looked at by the detector
_BY_CHANCE = 3  # so many characters of a line may happen to be UTF-8
_SHOWN = 4
_MARKS = {
    codecs.BOM_UTF32_LE: "utf_32_le",  # before UTF-16, whose mark is the beginning of this one
    codecs.BOM_UTF32_BE: "utf_32_be",
    codecs.BOM_UTF16_LE: "utf_16_le",
    codecs.BOM_UTF16_BE: "utf_16_be",
}
_WIDE = {"utf_32_le": 4, "utf_32_be": 4, "utf_16_le": 2, "utf_16_be": 2}
_ODD = ("Cc", "Cn", "Co", "Cs")
_NO_CONTROL = bytes({0, *b"\t\n\v\f\r\x1b", *range(0x20, 0x7F), *range(0x80, 0x100)})
_ASCII = bytes(range(128))
_NAMED: ContextVar[str | None] = ContextVar("encoding", default=None)
_NO_ENCODINGS = ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem")
Fallback = Callable[[], str | None]


def half_of_pair(text: str) -> int | None:
    """Return where a text holds half of a surrogate pair, if it does. JSON can spell it, and it is no character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def reading_as(encoding: str | None) -> AbstractContextManager[None]:
    """Meanwhile, read all files in this encoding, except those that show that they are in another.

    They do so by a byte order mark, or by characters beyond ASCII that are UTF-8. None: each encoding is found.

    Raises:
        UsageError: there is no such encoding.
    """
    return meanwhile(_NAMED, None if encoding is None else _known(encoding))


def named_encoding() -> str | None:
    """Return Python's name of the encoding that files are read in (see `reading_as`)."""
    return _NAMED.get()


def _known(encoding: str) -> str:
    typed = encoding.lower().replace("-", "_")
    ours = {name.lower().replace("-", "_"): each for each, name in _SPELLED.items()}  # as notes name them
    try:
        # Python has narrower encodings by some of these names: its "euc_kr" lacks characters of Windows.
        found: codecs.CodecInfo | None = codecs.lookup(ours.get(typed, encoding))
    except (LookupError, ValueError):
        found = None
    if found is None or not found._is_text_encoding or found.name.replace("-", "_") in _NO_ENCODINGS:
        hint = did_you_mean(typed, sorted({*ours, *_OTHERS, *encodings.aliases.aliases.values()}))
        why = "is not an encoding that Python knows" if typed else "names no encoding"
        known = ", ".join((*_OTHERS, *_SPELLED))
        raise UsageError(
            f"`encoding={encoding!r}` {why}.{hint} Give one such as {known}; or leave it out, and it is found"
        )
    return found.name.replace("-", "_").removesuffix("_sig")


def spelled(encoding: str) -> str:
    """Return the name of an encoding for people."""
    plain = encoding.replace("-", "_").removesuffix("_le").removesuffix("_be")
    return {**_SPELLED, **_OTHERS}.get(plain, encoding)


def is_binary(line: bytes) -> bool:
    """Whether so many bytes are control characters, zero excepted, as in no text."""
    return len(line.translate(None, _NO_CONTROL)) > len(line) / 16  # in random bytes, a tenth


def encoding_of_start(start: bytes) -> tuple[str, str] | None:
    """Return the encoding of a file that begins like this, if only it tells where lines end, and what to say of it.

    None: lines end in the byte of a line feed, so that a `LineDecoder` finds the encoding.
    """
    named = named_encoding()
    if named is None or _keeps_ascii(named) or start.startswith((*_MARKS, codecs.BOM_UTF8)):
        return wide_encoding(start)
    if named.startswith(("utf_16", "utf_32")) and b"\0" not in start:
        return None
    return (named not in _WIDE and wide_encoding(start)) or (named, "")


def why_so(encoding: str | None, found: str = "as it begins") -> str:
    """Return why a file is in an encoding, for a message."""
    return "as `encoding=` says" if encoding == named_encoding() else found


def _keeps_ascii(encoding: str) -> bool:
    """Whether bytes below 128 are ASCII, as they are not in UTF-16 and in ISO 2022."""
    try:
        return not encoding.startswith("iso2022") and _ASCII.decode(encoding) == _ASCII.decode()
    except UnicodeDecodeError:
        return False


def wide_encoding(start: bytes) -> tuple[str, str] | None:
    """Return the UTF-16 or UTF-32 of a file that begins like this, and a sentence with the evidence, or None.

    Without a byte order mark, all characters must be ones of texts, and one of them ASCII: a separator or a line break.
    """
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding, f"read as {spelled(encoding)}: its byte order mark says so"
    if b"\0" not in start:
        return None
    found = {encoding: _ascii_share(start, encoding, width) for encoding, width in _WIDE.items()}
    best = max(found, key=lambda encoding: found[encoding])
    evidence = f"read as {spelled(best)}: its zero bytes stand as they do there, {start.count(0):,} in the first line"
    return (best, evidence) if found[best] else None


def _ascii_share(start: bytes, encoding: str, width: int) -> float:
    whole = start[: len(start) // width * width]
    if encoding.endswith("le") and start.endswith(b"\n"):  # its zero bytes follow in the next "line"
        whole = start + b"\0" * (width - 1) if (len(start) - 1) % width == 0 else whole
    try:
        text = whole.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    plain = start.isascii() and all(byte >= 0x20 or byte in b"\0\t\r\n" for byte in start)
    if plain and not text.isascii():  # with a stray NUL: each two of its letters are a rare sign
        return 0.0
    if not text or any(unicodedata.category(one) in _ODD and one not in "\t\r\n\ufeff" for one in text):
        return 0.0
    return sum(map(str.isascii, text)) / len(text)


class LineDecoder:
    """Decodes the lines of one file. Until a line is not ASCII, nothing is decided; then the encoding is, once.

    Args:
        on_note: called once with a sentence on what was found, if the file is not UTF-8, or is unlike `encoding=` says.
        fallback: gives the encoding if it is not UTF-8, as other files tell it. Nothing: it is found.

    Attributes:
        encoding: Python's name of the encoding, or None while all lines were ASCII.
    """

    def __init__(
        self, name: str, *, on_note: Callable[[str], None] | None = None, fallback: Fallback = lambda: None
    ) -> None:
        self.name = name
        self.encoding: str | None = None
        named = named_encoding()
        self._named = named if named and _keeps_ascii(named) else None
        if named != self._named and on_note:
            on_note(
                f"not read as {spelled(named or '')}, though `encoding=` says so: it does not begin as such text does"
            )
        self._on_note = on_note
        self._fallback = fallback
        self._before: deque[bytes] = deque(maxlen=_LINES_BEFORE)
        self._first = (0, "")  # the line that was not ASCII first, and a character of it

    def decide(self, numbered: Sequence[tuple[int, bytes]]) -> None:
        """Find the encoding by lines, each with its number in the file.

        Raises:
            UsageError: some lines are UTF-8 and others are not, or no encoding fits, or it is no text.
        """
        lines = [line for _, line in numbered]
        if numbered[0][0] == 1 and lines[0].startswith(codecs.BOM_UTF8):
            self._is_utf8(1, "its byte order mark")
            return
        odd = [(at, line) for at, line in numbered if not line.isascii()]
        wrong = [(at, line) for at, line in odd if fault(line) is not None]
        by_chance = self._named and not wrong and not _is_meant(_beyond_ascii(b"".join(lines).decode()), self._named)
        if self._named and (wrong or by_chance):
            self.encoding = self._named
            return
        if not wrong:
            self._is_utf8(*next(((at, _beyond_ascii(line.decode())[0]) for at, line in odd), (0, "")))
            return
        if is_binary(wrong[0][1]):
            raise UsageError(
                f"{self.name}, line {wrong[0][0]}: control characters, and bytes that are not UTF-8, so this is not a "
                "text file. Is it the right file?"
            )
        context = itertools.chain(self._before, filter(bytes.isascii, lines))  # it tells the language
        known = self._fallback()
        found = [(known, 1.0)] if known else confidences_of([line for _, line in wrong], context)
        at, line = wrong[0]
        also = ((at, _beyond_ascii(line.decode())) for at, line in odd if fault(line) is None)
        right = [(at, text) for at, text in also if not found or _is_meant(text, found[0][0])]
        if right or not found:
            self._first = (right[0][0], right[0][1][0]) if right else (0, "")
            raise self._refusal(line, at)
        self.encoding = found[0][0]
        if self._on_note and not known:
            self._on_note(f"read as {evidence(found, [line for _, line in wrong], f'line {at:,}')}")

    def _is_utf8(self, number: int, evidence: str) -> None:
        self.encoding, self._first = "utf_8", (number, evidence)
        if self._on_note and self._named not in (None, "utf_8"):
            self._on_note(f"read as UTF-8 and not as {spelled(self._named or '')}, by line {number:,} ({evidence})")

    def line(self, raw: bytes, number: int) -> str:
        """Return the text of a line.

        Raises:
            UsageError: its bytes do not fit the encoding.
        """
        if self.encoding is None:
            self._before.append(raw[:_BYTES_OF_A_LINE])
        try:
            return raw.decode(self.encoding or "utf_8")
        except UnicodeDecodeError as error:
            raise self._refusal(raw, number, error.start) from None

    def _refusal(self, raw: bytes, number: int, place: int | None = None) -> UsageError:
        place = place if place is not None else (fault(raw) or 0)
        byte = f"{self.name}, line {number}: byte {place + 1} of the line, 0x{raw[place]:02x},"
        if self.encoding not in (None, "utf_8") or self._named == "utf_8":
            why = why_so(self.encoding, "which the lines before it seem to be in")
            return UsageError(f"{byte} does not fit {spelled(self.encoding or '')}, {why}. Save the file as UTF-8.")
        if self._first[0]:
            return UsageError(
                f"{byte} is not UTF-8, and line {self._first[0]} is ({self._first[1]}): the file mixes encodings, as "
                "if it was pasted together. Save its parts in one encoding, or give one for all of it: `encoding=`."
            )
        return UsageError(f"{byte} is not UTF-8, and no other encoding fits. Save the file as UTF-8.")


def decoded_text(
    raw: bytes, name: str, *, on_note: Callable[[str], None] | None = None, fallback: Fallback = lambda: None
) -> str:
    """Return the text of a whole file. Raises what `LineDecoder` raises, which explains `fallback`."""
    if known := encoding_of_start(raw[:WINDOW]):
        encoding, note = known
        if on_note and note:
            on_note(note)
        try:
            return raw.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            why = f"{spelled(encoding)}, {why_so(encoding)}"
            raise UsageError(f"{name}: byte {error.start + 1:,} does not fit {why}. Save it as UTF-8.") from None
    decoder, is_utf8 = LineDecoder(name, on_note=on_note, fallback=fallback), fault(raw) is None
    if is_utf8 and (named_encoding() is None or raw.isascii()):
        return raw.decode().removeprefix("\ufeff")
    lines = raw.split(b"\n")
    at = next(place for place, line in enumerate(lines) if not line.isascii())
    for number, line in enumerate(lines[max(0, at - _LINES_BEFORE) : at]):
        decoder.line(line, number)
    beyond = raw[sum(len(line) + 1 for line in lines[:at]) :]
    looked_at = (beyond if is_utf8 else beyond[:WINDOW]).split(b"\n")  # a cut character is no UTF-8
    decoder.decide(list(enumerate(looked_at, at + 1)))
    return "\n".join(decoder.line(line, number) for number, line in enumerate(lines, 1)).removeprefix("\ufeff")


def fault(line: bytes) -> int | None:
    """Return the place of the first byte that is not UTF-8, or None."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def _beyond_ascii(text: str) -> str:
    return "".join(one for one in text if not one.isascii())


def _is_meant(text: str, encoding: str) -> bool:
    """Whether characters of a line that is UTF-8 are meant as these, in a file that seems to be in another encoding.

    By chance, a few bytes of that encoding are UTF-8 too. Then the characters are none of its languages.
    """
    if len(text) > _BY_CHANCE:
        return True
    for alphabet in ("gbk" if encoding == "gb18030" else encoding, _MOST_FREQUENT):
        with suppress(UnicodeEncodeError):
            text.encode(alphabet)
            return True
    return False


def confidences_of(lines: Iterable[bytes], context: Iterable[bytes] = ()) -> list[tuple[str, float]]:
    """Return the encodings that fit lines that are not UTF-8, the best first, each with how good it is.

    Encodings that give the same text share the best value. `context`: further lines in the same language.
    """
    import chardet  # it takes a tenth of a second, and few files need it

    names = [name.replace("_", "-") for name in _SPELLED]
    sample, size = list[bytes](), 0
    for line in itertools.chain(lines, context):
        size += len(line)
        if sample and size > _MOST_BYTES:
            break
        sample.append(line)
    raw = b"\n".join(sample)
    guesses = chardet.detect_all(raw, ignore_threshold=True, include_encodings=names, compat_names=False)
    of_texts: dict[str, float] = {}
    found: dict[str, float] = {}
    for guess in guesses:
        encoding = guess["encoding"] and codecs.lookup(guess["encoding"]).name.replace("-", "_")
        try:
            text = raw.decode(encoding or "ascii")
        except UnicodeDecodeError:
            continue
        found[str(encoding)] = of_texts.setdefault(text, guess["confidence"])
    return ranked(found)


def ranked(found: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return encodings, each with how good it is, the best first. Of nearly equal ones, the more common one."""
    best = max(found.values(), default=0)

    def order(pair: tuple[str, float]) -> tuple[bool, float, bool]:
        encoding, good = pair
        return (encoding != _MOST_FREQUENT or good < best * _UNSURE), -good, encoding not in _MORE_FREQUENT

    return sorted(found.items(), key=order)


def evidence(found: Sequence[tuple[str, float]], wrong: Sequence[bytes], place: str) -> str:
    """Return the encoding that fits best, and why: what the lines at a place and after it show that are not UTF-8."""
    encoding, good = found[0]
    n_bytes = sum(byte >= 0x80 for line in wrong for byte in line)
    beyond = _beyond(wrong, encoding)
    as_good = (each for each, value in found[1:] if value >= good * (1 if each in _RARE else _UNSURE))
    others = (each for each in as_good if _beyond(wrong, each) != beyond)
    other, doubt = next(others, None), ""
    if other:
        doubt = f". It may also be {spelled(other)} ({_examples(wrong, other)}): if so, give `encoding={other!r}`"
    return (
        f"{spelled(encoding)}: {counted(n_bytes, 'byte')} such as 0x{wrong[0][fault(wrong[0]) or 0]:02x} in {place} "
        f"{'is' if n_bytes == 1 else 'are'} not UTF-8; {_examples(wrong, encoding)}{doubt}"
    )


def _examples(wrong: Iterable[bytes], encoding: str) -> str:
    """Return the most frequent characters that are not ASCII."""
    beyond = _beyond(wrong, encoding)
    seen = Counter(filter(str.isalpha, beyond)) or Counter(beyond)
    return ", ".join(one for one, _ in seen.most_common(_SHOWN))


def _beyond(lines: Iterable[bytes], encoding: str) -> str:
    return "".join(_beyond_ascii(line.decode(encoding, "ignore")) for line in lines)
