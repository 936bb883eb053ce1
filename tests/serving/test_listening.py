"""The socket that the server listens at."""

import gc
import socket
import sys
import threading
from functools import partial

import pytest
from fastapi import FastAPI

from glassformer.serving.listening import answer_requests, listen, server_at


def test_answers_are_sent_at_once() -> None:
    address = listen("127.0.0.1", 0)
    with address.listener, socket.create_connection(("127.0.0.1", address.port)):
        accepted, _ = address.listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_headers_without_end_are_refused() -> None:
    address = listen("127.0.0.1", 0)
    server = server_at(address, FastAPI(), on_finishing=lambda _: None)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [address.listener]})
    thread.start()
    try:
        with socket.create_connection(("127.0.0.1", address.port), timeout=30) as client:
            client.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nendless: " + b"a" * 200_000)
            assert client.recv(100).startswith(b"HTTP/1.1 400")
    finally:
        server.should_exit = True
        thread.join()


def test_a_server_leaves_what_is_in_memory_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    before, called, found = sys.getswitchinterval(), list[str](), list[float]()
    for name in ("collect", "freeze"):
        monkeypatch.setattr(gc, name, partial(called.append, name))
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: found.append(sys.getswitchinterval()))
    address = listen("127.0.0.1", 0)
    try:
        with address.listener:
            answer_requests(FastAPI(), address, on_finishing=lambda _: None)
    finally:
        sys.setswitchinterval(before)
    assert called == ["collect", "freeze"], "the garbage collector does not go through the models"
    assert found[0] < before / 10
