import io
import os
import threading
import time
from collections.abc import Iterator

import pytest

from glassformer.data import lines
from glassformer.data.lines import arriving_lines, lines_of
from glassformer.errors import UsageError


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"a", b"a\n", b"a\nb", b"\n\na\r\nb\n\n", "\ufeffa\u2028b\x85c\n\ufeffd".encode(), b"ab\n" * 50_000],
)
@pytest.mark.parametrize("most", [1, 2, 4096])
def test_the_lines_are_those_of_a_file(content: bytes, most: int) -> None:
    if most == 1 and len(content) > 1000:
        content = content[:300]
    batches = list(arriving_lines(io.BytesIO(content), "a pipe", most=most))
    assert [line for batch in batches for line in batch] == list(lines_of(io.BytesIO(content), "a pipe"))
    assert all(0 < len(batch) <= most for batch in batches)


@pytest.fixture
def ends() -> Iterator[tuple[io.BufferedReader, int]]:
    """A pipe: where it is read, and where it is written."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        yield stream, writing
        os.close(writing)


def test_a_line_does_not_wait_for_others(ends: tuple[io.BufferedReader, int]) -> None:
    stream, writing = ends
    batches = arriving_lines(stream, "a pipe", most=4096)
    for text in (b"one\ntwo\nbeg", b"un\n"):
        os.write(writing, text)
        got = next(batches)
        assert got == (["one", "two"] if text.startswith(b"one") else ["begun"])


def test_lines_that_keep_trickling_are_not_collected_for_ever(ends: tuple[io.BufferedReader, int]) -> None:
    stream, writing = ends
    stop = threading.Event()

    def trickle() -> None:
        while not stop.wait(0.005):
            os.write(writing, b"a line\n")

    thread = threading.Thread(target=trickle)
    thread.start()
    began = time.monotonic()
    got = next(arriving_lines(stream, "a pipe", most=100_000))
    stop.set()
    thread.join()
    assert got
    assert time.monotonic() - began < 5


def test_a_pipe_that_is_full_is_read_in_large_batches() -> None:
    sizes = [len(batch) for batch in arriving_lines(io.BytesIO(b"a tweet of some words\n" * 20_000), "", most=4096)]
    assert sizes == [4096] * 4 + [20_000 - 4 * 4096]


def test_the_line_that_is_no_utf8_is_named() -> None:
    content = b"ol\xc3\xa9\n" + b"good\n" * 50_000 + b"caf\xe9\n"
    with pytest.raises(UsageError, match=r"a pipe, line 50002: byte 4 of the line, 0xe9, is not UTF-8, and line 1 is"):
        list(arriving_lines(io.BytesIO(content), "a pipe", most=4096))


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le"])
def test_another_encoding_is_found_in_what_has_arrived(encoding: str) -> None:
    notes: list[str] = []
    content = ("good\n" * 5000 + "Größe und Käse für Bären\n").encode(encoding)
    *_, last = arriving_lines(io.BytesIO(content), "a pipe", most=4096, on_note=notes.append)
    assert last[-1] == "Größe und Käse für Bären"
    assert len(notes) == 1


def test_a_line_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", 200_000)
    with pytest.raises(UsageError, match="a pipe, line 3 is longer than 200,000 bytes"):
        list(arriving_lines(io.BytesIO(b"a\nb\n" + b"x" * 300_000), "a pipe", most=4096))


def test_lines_before_a_bad_line_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", 200_000)
    for bad, message in ((b"caf\xe9\nol\xc3\xa9\n", "line 3: byte 4"), (b"x" * 300_000, "line 3 is longer")):
        arrived = arriving_lines(io.BytesIO(b"one\ntwo\n" + bad + b"four\n"), "standard input", most=10)
        assert next(arrived) == ["one", "two"]
        with pytest.raises(UsageError, match=message):
            next(arrived)
