"""Clients of a server under load: well-behaved ones, and those that are slow, broken or hostile."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

HEADER = b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
PATIENCE = 60  # seconds, after which an answer counts as lost
CLOSED = 0  # the status of a connection that the server closed without an answer


class Reply(NamedTuple):
    """A status and a body."""

    status: int
    body: bytes


def request(document: Any) -> bytes:
    """Return a request to `/predict`."""
    return raw(json.dumps(document).encode())


def raw(body: bytes) -> bytes:
    """Return a request with any body."""
    return HEADER % len(body) + body


class Client:
    """A connection that is kept open, as long as the server keeps it."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._host, self._port = place.hostname, place.port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, sent: bytes, *, pieces: int = 1) -> Reply:
        """Send a request, in so many pieces with pauses, and wait for the answer."""
        async with asyncio.timeout(PATIENCE):
            if self._streams is None or self._streams[0].at_eof():
                self._streams = await asyncio.open_connection(self._host, self._port)
            reader, writer = self._streams
            size = math.ceil(len(sent) / pieces)
            try:
                for start in range(0, len(sent), size):
                    writer.write(sent[start : start + size])
                    await writer.drain()
                    if pieces > 1:
                        await asyncio.sleep(0.05)
            except ConnectionError:
                pass  # it may have been answered all the same
            return await self._reply(reader)

    async def _reply(self, reader: asyncio.StreamReader) -> Reply:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
            if b"content-length" in fields:
                body = await reader.readexactly(int(fields[b"content-length"]))
            else:
                body = await reader.read()
            if fields.get(b"connection") == b"close":
                self.close()
            return Reply(int(head.split(b" ", 2)[1]), body)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.close()
            return Reply(CLOSED, b"")

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of request.

    Attributes:
        share: of the requests.
        make: makes the bytes from a text.
        expected: the statuses that are right answers.
        pieces: in which it is sent, slowly.
        waits: whether the client waits for the answer. Otherwise it closes the connection at once.
    """

    share: float
    make: Callable[[str], bytes]
    expected: Sequence[int]
    pieces: int = 1
    waits: bool = True


KINDS: Mapping[str, Kind] = {
    "one text": Kind(share=0.80, make=lambda text: request({"text": text}), expected=[200]),
    "16 texts": Kind(share=0.04, make=lambda text: request({"texts": [text] * 16}), expected=[200]),
    "a text of 20,000 characters": Kind(
        share=0.002, make=lambda text: request({"text": ((text + " ") * 20_000)[:20_000]}), expected=[200]
    ),
    "an empty text": Kind(share=0.02, make=lambda _: request({"text": ""}), expected=[200]),
    "NUL characters": Kind(share=0.02, make=lambda text: request({"text": f"\0{text}\0"}), expected=[200]),
    "sent slowly": Kind(share=0.02, make=lambda text: request({"text": text}), expected=[200], pieces=5),
    "no body": Kind(share=0.01, make=lambda _: raw(b""), expected=[422]),
    "no UTF-8": Kind(share=0.02, make=lambda _: raw(b'{"text": "\xff\xfe"}'), expected=[400, 422]),
    "JSON of 100,000 brackets": Kind(share=0.01, make=lambda _: raw(b"[" * 100_000), expected=[400, 422]),
    "half of a surrogate pair": Kind(share=0.01, make=lambda _: raw(b'{"text": "\\ud83d"}'), expected=[422]),
    "a text of 100,001 characters": Kind(share=0.005, make=lambda _: request({"text": "a" * 100_001}), expected=[422]),
    "a body of 3 MB": Kind(share=0.003, make=lambda _: request({"text": "a" * 3_000_000}), expected=[413, CLOSED]),
    "no HTTP": Kind(share=0.01, make=lambda _: b"\x16\x03\x01\0\0\0\0\r\n\r\n", expected=[400]),
    "gone before the answer": Kind(
        share=0.02, make=lambda text: request({"text": text}), expected=[CLOSED], waits=False
    ),
    "half of a request": Kind(share=0.01, make=lambda _: HEADER[:40], expected=[CLOSED]),
}
"""What the clients send. A client that sends half of a request holds its connection until the server closes it."""


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What came of a request.

    Attributes:
        status: that of the answer; `CLOSED` if the connection was closed, None if nothing came.
        right: whether the answer is that of the model to the text alone. None if it is no answer to one text.
    """

    kind: str
    status: int | None
    seconds: float
    right: bool | None


async def load(
    url: str,
    plan: Sequence[tuple[str, int]],
    texts: Sequence[str],
    right: Callable[[int, bytes], bool],
    *,
    clients: int,
) -> list[Sent]:
    """Send requests by so many clients at the same time, each after the answer to the one before.

    Args:
        plan: the kind of each request and the number of its text.
        right: whether a body is the answer to the text with this number.
    """
    left, done = iter(plan), list[Sent]()
    held: set[asyncio.Task[None]] = set()

    async def send(connection: Client, name: str, number: int) -> None:
        kind = KINDS[name]
        made, status, reply = kind.make(texts[number]), None, None
        begun = time.perf_counter()
        with suppress(TimeoutError, OSError):
            if kind.waits:
                reply = await connection.send(made, pieces=kind.pieces)
                status = reply.status
            else:
                await _leave(url, made)
                status = CLOSED
        seconds, correct = time.perf_counter() - begun, None
        if reply is not None and status == 200 and name in ("one text", "sent slowly"):
            correct = right(number, reply.body)
        done.append(Sent(kind=name, status=status, seconds=seconds, right=correct))

    async def client() -> None:
        connection = Client(url)
        for name, number in left:
            if name == "one text":
                await send(connection, name, number)
            elif name == "half of a request":  # it would hold the client too
                task = asyncio.create_task(send(Client(url), name, number))
                held.add(task)
                task.add_done_callback(held.discard)
            else:
                other = Client(url)
                await send(other, name, number)
                other.close()
        connection.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    await asyncio.gather(*held)
    return done


async def _leave(url: str, sent: bytes) -> None:
    place = urlsplit(url)
    _, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(sent)
    await writer.drain()
    writer.close()
