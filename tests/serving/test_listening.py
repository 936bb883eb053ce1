"""The socket that the server listens at."""

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
from glassformer.serving.listening import Server, answer_requests, listen


def test_answers_are_sent_at_once() -> None:
    address = listen("127.0.0.1", 0)
    with address.listener, socket.create_connection(("127.0.0.1", address.port)):
        accepted, _ = address.listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


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
