"""What a connection may send: bounds on heads, on what comes after bodies and on requests ahead."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from glassformer.serving.listening import listen, server_at
from glassformer.serving.protocol import Joining

GONE = Event()
OFFER = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAEAAEAAAAIAAAAB\r\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server that says what it was sent."""
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request) -> dict[str, Any]:
        body = await request.body()
        await asyncio.sleep(0.01)
        return {"length": len(body), "begins": body[:20].decode(), "names": sorted(request.headers)}

    @app.get("/pieces")
    async def pieces() -> StreamingResponse:
        return StreamingResponse(iter(["one ", "two"]))

    @app.get("/until-gone")
    async def until_gone(request: Request) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        GONE.set()

    @app.get("/header")
    async def header(request: Request) -> dict[str, Any]:
        return {"value": request.headers["x"]}

    address = listen("127.0.0.1", 0)
    server = server_at(address, app, on_finishing=lambda _: None)
    thread = Thread(target=server.run, kwargs={"sockets": [address.listener]})
    thread.start()
    yield address.port
    server.should_exit = True
    thread.join()


def head(*lines: bytes, length: int | None = None) -> bytes:
    """The head of a request to `/echo`."""
    given = [*lines] if length is None else [*lines, b"content-length: %d" % length]
    return b"\r\n".join([b"POST /echo HTTP/1.1", b"host: localhost", *given, b"", b""])


class Connection:
    """A client that reads one answer after the other."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.stream = self.socket.makefile("rb")

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            try:
                self.socket.sendall(piece)
            except ConnectionError:
                return  # it was refused before its end

    def answer(self) -> tuple[int, Any]:
        """Status and body. Status 0: the connection was closed without an answer."""
        try:
            first = self.stream.readline()
        except ConnectionError:
            return 0, None
        if not first:
            return 0, None
        length = 0
        while (line := self.stream.readline().strip()) != b"":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = self.stream.read(length)
        return int(first.split()[1]), json.loads(body) if body[:1] == b"{" else body.decode()


@pytest.fixture
def connection(port: int) -> Iterator[Connection]:
    made = Connection(port)
    yield made
    made.stream.close()
    made.socket.close()


TOO_LONG = (400, "The headers of the request are too long.")


@pytest.mark.parametrize("length", [100_000, 3_000_000])
def test_a_long_head_is_refused(connection: Connection, length: int) -> None:
    connection.send(head(b"x: " + b"a" * length))
    assert connection.answer() in (TOO_LONG, (0, None))  # nobody reads on, so the refusal may not arrive


@pytest.mark.parametrize(
    "begun",
    [
        b"POST /echo?" + b"a" * 70_000,
        b"POST /echo HTTP/1.1\r\nx: " + b"a" * 70_000,
        b"POST /echo HTTP/1.1\r\n" + b"x: a\r\n" * 12_000,
        b"POST /echo HTTP/1.1\r\n" + b"x" * 70_000,
    ],
    ids=["url", "value", "many", "name"],
)
def test_a_head_without_end_is_refused(connection: Connection, begun: bytes) -> None:
    connection.send(begun)
    assert connection.answer() == TOO_LONG


def test_a_large_body_is_no_head(connection: Connection) -> None:
    for body in (b"a" * 1_500_000, b"b" * 70_000):
        connection.send(head(length=len(body)) + body)
        assert connection.answer()[1]["length"] == len(body)


def test_small_chunks_are_no_head(connection: Connection) -> None:
    connection.send(head(b"transfer-encoding: chunked") + b"1\r\na\r\n" * 50_000 + b"0\r\n\r\n")
    assert connection.answer()[1]["length"] == 50_000


def test_what_comes_after_a_body_is_no_header_of_its_request(connection: Connection) -> None:
    connection.send(head(b"transfer-encoding: chunked"))
    connection.send(b"3\r\nabc\r\n0\r\n", b"authorization: no\r\n\r\n")
    status, found = connection.answer()
    assert (status, found["begins"]) == (200, "abc")
    assert found["names"] == ["host", "transfer-encoding"]


@pytest.mark.parametrize(("address", "status"), [(b"/echo", 200), (b"/nosuch", 404)])
def test_a_trailer_may_end_the_connection(address: bytes, status: int, connection: Connection) -> None:
    """The parser obeys it, so the next request would wait for an answer until the connection is idle for long."""
    connection.send(head(b"transfer-encoding: chunked").replace(b"/echo", address))
    if status == 404:  # it is answered before the body has come
        assert connection.answer()[0] == status
    connection.send(b"3\r\nabc\r\n0\r\nconnection: close\r\n\r\n", head(length=0))
    if status == 200:
        assert connection.answer()[1]["begins"] == "abc"
    began = time.perf_counter()
    assert connection.answer() == (0, None)
    assert time.perf_counter() - began < 3


@pytest.mark.parametrize("after", [b"x: " + b"a" * 400_000, b"x: a\r\n" * 60_000], ids=["one", "many"])
def test_what_comes_after_a_body_ends_soon(connection: Connection, after: bytes) -> None:
    connection.send(head(b"transfer-encoding: chunked") + b"3\r\nabc\r\n0\r\n" + after)
    assert connection.answer() == TOO_LONG


def test_a_few_requests_ahead_are_answered_in_their_order(connection: Connection) -> None:
    bodies = [b"%d" % number for number in range(10)]
    connection.send(b"".join(head(length=len(body)) + body for body in bodies))
    assert [connection.answer()[1]["begins"] for _ in bodies] == [body.decode() for body in bodies]


@pytest.mark.parametrize("request_", [head(length=0), head(*[b"x:"] * 400, length=0)], ids=["small", "long"])
def test_the_first_of_thousands_of_requests_ahead_are_answered(request_: bytes, connection: Connection) -> None:
    connection.send(request_ * 3_000)
    answered = list(iter(lambda: connection.answer()[0], 0))
    assert answered == [200] * len(answered)
    assert len(answered) <= 17  # none if the rest was refused before it was read


def test_many_headers_are_refused(connection: Connection) -> None:
    """Each takes much more memory than its few bytes."""
    connection.send(head(*[b"x:"] * 1_000, length=1))
    assert connection.answer() == TOO_LONG


def test_a_request_under_way_is_told_that_its_client_is_gone_though_others_wait(connection: Connection) -> None:
    connection.send(b"GET /until-gone HTTP/1.1\r\nhost: localhost\r\n\r\n" + head(length=0))
    connection.stream.close()
    connection.socket.close()
    assert GONE.wait(30)


def test_white_space_around_a_value_is_no_part_of_it(connection: Connection) -> None:
    connection.send(b"GET /header HTTP/1.1\r\nhost: localhost \r\nx: \ta b \t\r\n\r\n")
    assert connection.answer() == (200, {"value": "a b"})


@pytest.mark.parametrize(("version", "body"), [(b"1.0", b"one two"), (b"1.1", b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n")])
def test_an_answer_of_unknown_length_has_no_chunks_in_http_1_0(
    version: bytes, body: bytes, connection: Connection
) -> None:
    connection.send(b"GET /pieces HTTP/" + version + b"\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    assert connection.stream.read().partition(b"\r\n\r\n")[2] == body


@pytest.mark.parametrize(
    "begun",
    [
        b"HTTP/1.1",
        b"HTTP/1.1\r\nhost: localhost\r\nhost: elsewhere",
        b"HTTP/0.9\r\nhost: localhost",
        b"HTTP/2.0\r\nhost: localhost",
        b"\r\nhost: localhost",
    ],
    ids=["no-host", "two-hosts", "http-0.9", "http-2.0", "no-version"],
)
def test_a_request_of_another_version_or_without_one_host_is_refused(begun: bytes, connection: Connection) -> None:
    connection.send(b"GET /pieces " + begun + b"\r\n\r\n")
    assert connection.answer()[0] == 400


def test_nothing_is_read_after_a_refusal(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    received = HttpToolsProtocol.data_received

    def counting(self: HttpToolsProtocol, data: bytes) -> None:
        read.append(len(data))
        received(self, data)

    monkeypatch.setattr(HttpToolsProtocol, "data_received", counting)
    connection.send(head(length=1) + b"a" + b"POST /echo HTTP/1.1\r\nx: ", *[b"a" * 50_000] * 40)
    assert connection.answer()[0] == 200
    assert connection.answer() == (0, None)
    assert sum(read) < 600_000


def test_a_broken_body_is_refused(connection: Connection) -> None:
    connection.send(head(b"transfer-encoding: chunked") + b"zz\r\n")
    assert connection.answer()[0] == 400


@pytest.mark.parametrize("offer", [b"", OFFER], ids=["", "with-an-offer"])
def test_a_body_that_breaks_after_its_answer_gets_no_second_one(offer: bytes, connection: Connection) -> None:
    connection.send(b"POST /nosuch HTTP/1.1\r\nhost: localhost\r\n" + offer + b"transfer-encoding: chunked\r\n\r\n")
    assert connection.answer()[0] == 404
    connection.send(b"zz\r\n")
    assert connection.answer() == (0, None)


@pytest.mark.parametrize("behind", [b"\x16\x03\x01\0\0\r\n\r\n", b"}"])
def test_nonsense_behind_a_request_is_not_its_answer(behind: bytes, connection: Connection) -> None:
    """A client that counts characters sends a length that is too short, and learns it from the answer."""
    connection.send(head(length=1) + b"a" + behind)
    assert connection.answer()[1]["begins"] == "a"
    assert connection.answer() == (0, None)


@pytest.mark.parametrize("apart", [False, True])
def test_an_offer_of_http_2_is_ignored(connection: Connection, *, apart: bool) -> None:
    for body in (b"first", b"second", b""):
        pieces = head(OFFER[:-2], length=len(body)), body
        connection.send(*(pieces if apart else [b"".join(pieces)]))
        status, found = connection.answer()
        assert (status, found["begins"]) == (200, body.decode())
    connection.send(head(length=5) + b"third")
    assert connection.answer()[1]["begins"] == "third"


def test_an_offer_with_chunks(connection: Connection) -> None:
    connection.send(head(OFFER[:-2], b"transfer-encoding: chunked") + b"3\r\nabc\r\n0\r\n\r\n")
    assert connection.answer()[1]["begins"] == "abc"


@pytest.mark.parametrize("line", [b"POST /echo HTTP/1.0", b"POST /echo HTTP/1.1\r\nconnection: close"])
def test_an_offer_that_ends_its_connection(line: bytes, connection: Connection) -> None:
    connection.send(line + b"\r\nhost: localhost\r\n" + OFFER + b"content-length: 3\r\n\r\nabc" + head(length=0))
    assert connection.answer()[1]["begins"] == "abc"
    assert connection.answer() == (0, None)


def test_offers_behind_a_request_that_is_answered(connection: Connection) -> None:
    connection.send(head(length=1) + b"a" + (head(OFFER[:-2], length=1) + b"b") * 5)
    assert [connection.answer()[1]["begins"] for _ in range(6)] == ["a", *"bbbbb"]


class Pieces(asyncio.Transport):
    """A transport that remembers what it was given to send, and when it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def write(self, data: Any) -> None:
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.sent.append(b"closed")


def test_an_answer_is_one_piece_and_nothing_is_held_back() -> None:
    async def written() -> list[bytes]:
        pieces = Pieces()
        joining = Joining(pieces)
        for part in (b"headers ", b"body", b""):
            joining.write(part)
        joining.write(b"continue")
        await asyncio.sleep(0)
        joining.write(b"the end")
        joining.close()
        return pieces.sent

    assert asyncio.run(written()) == [b"headers body", b"continue", b"the end", b"closed"]
