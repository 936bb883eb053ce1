"""The socket that the server listens at."""

import asyncio
import gc
import json
import socket
import sys
from collections.abc import Iterator
from functools import partial
from threading import Thread
from typing import Any
from urllib.request import urlopen

import pytest
from fastapi import FastAPI

from glassformer.serving import listening
from glassformer.serving.listening import Server, answer_requests, listen, server_at


def test_answers_are_sent_at_once() -> None:
    address = listen("127.0.0.1", 0)
    with address.listener, socket.create_connection(("127.0.0.1", address.port)):
        accepted, _ = address.listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


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
        joining = listening._Joining(pieces)
        for part in (b"headers ", b"body", b""):
            joining.write(part)
        joining.write(b"continue")
        await asyncio.sleep(0)
        joining.write(b"the end")
        joining.close()
        return pieces.sent

    assert asyncio.run(written()) == [b"headers body", b"continue", b"the end", b"closed"]


def test_headers_without_end_are_refused() -> None:
    address = listen("127.0.0.1", 0)
    server = server_at(address, FastAPI(), on_finishing=lambda _: None)
    thread = Thread(target=server.run, kwargs={"sockets": [address.listener]})
    thread.start()
    try:
        with socket.create_connection(("127.0.0.1", address.port), timeout=30) as client:
            client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nendless: " + b"a" * 200_000)
            assert client.recv(100).startswith(b"HTTP/1.1 400")
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def process() -> Iterator[None]:
    """What a server sets for its whole process is set back."""
    interval = sys.getswitchinterval()
    yield
    sys.setswitchinterval(interval)
    gc.unfreeze()
    gc.freeze()  # as tests/every_test.py does


@pytest.mark.usefixtures("process")
def test_requests_find_a_process_that_is_set_up_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a client's requests beside a busy thread says the same, but not on a busy machine."""
    app, model, servers, before = FastAPI(), {"a weight"}, list[Server](), sys.getswitchinterval()

    @app.get("/")
    async def found() -> tuple[float, bool]:
        return sys.getswitchinterval(), any(each is model for each in gc.get_objects())

    def remembered(*arguments: Any, **options: Any) -> Server:
        servers.append(Server(*arguments, **options))
        return servers[0]

    monkeypatch.setattr(listening, "Server", remembered)
    address = listen("127.0.0.1", 0)
    thread = Thread(target=partial(answer_requests, app, address, on_finishing=lambda _: None))
    thread.start()
    try:
        with urlopen(address.url, timeout=30) as answer:
            interval, collected = json.load(answer)
    finally:
        servers[0].should_exit = True
        thread.join()
    assert interval < before / 10, "no thread keeps the others waiting"
    assert not collected, "the garbage collector does not go through the models"
