"""The key, and clients that are slow, silent or gone. The server is real, as the framework's client never hangs."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from urllib.parse import urlsplit

import httpx2
import pytest
from fastapi.testclient import TestClient
from starlette.types import Message

from glassformer.serving import listening
from glassformer.serving.api import create_app
from glassformer.serving.limits import Limits
from glassformer.serving.served_model import ServedModel
from tests.browser.serving import running
from tests.serving.samples import TEXT, served

KEY = "f00-Bar+7="
WAIT = 20


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(served(), api_key=KEY)) as found:
        yield found


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (f"Bearer {KEY}".encode(), 200),
        (f"bearer  {KEY} ".encode(), 200),
        (f"Bearer {KEY}x".encode(), 401),
        (f"Bearer {KEY[:-1]}".encode(), 401),
        (b"Bearer", 401),
        (KEY.encode(), 401),
        (b"Bearer \xff\xfe", 401),
        (b"Basic !", 401),
        (b"Basic Zm9v", 401),
        (b"Basic \xff\xfe", 401),
        (b"", 401),
    ],
)
def test_requests_need_the_key(client: TestClient, sent: bytes, status: int) -> None:
    headers = {b"authorization": sent}
    for answer in (
        client.post("/predict", json={"text": TEXT}, headers=headers),
        client.get("/", headers=headers),
        client.get("/page/main.js", headers=headers),
        client.get("/openapi.json", headers=headers),
    ):
        assert answer.status_code == status
        if status == 401:
            assert answer.json() == {
                "reason": "this server asks for a key; send it in the header `Authorization: Bearer KEY`"
            }
            assert answer.headers["www-authenticate"].startswith(
                'Basic realm="any user name, and the API key as the password"'
            ), "a browser then asks for it"


def test_a_browser_sends_the_key_as_a_password(client: TestClient) -> None:
    assert client.get("/", auth=("", KEY)).status_code == 200
    assert client.get("/", auth=("anybody", KEY)).status_code == 200
    assert client.get("/", auth=(KEY, "")).status_code == 401


def test_the_description_says_where_a_key_is_needed(client: TestClient) -> None:
    described = client.get("/openapi.json", auth=("", KEY)).json()
    assert {name: each["scheme"] for name, each in described["components"]["securitySchemes"].items()} == {
        "bearer": "bearer",
        "basic": "basic",
    }
    asks = set()
    for path, methods in described["paths"].items():
        refused = client.options(path).status_code == 401
        for operation in methods.values():
            assert ("security" in operation) == ("401" in operation["responses"]) == refused, path
            assert "403" in operation["responses"], path
        asks.add(refused)
    assert asks == {True, False}
    with TestClient(create_app(served())) as without:
        assert "security" not in str(without.get("/openapi.json").json())


def test_what_watches_over_the_server_needs_no_key(client: TestClient) -> None:
    assert client.get("/health").status_code == client.get("/ready").status_code == 200
    assert client.get("/health", headers={"origin": "http://evil.example"}).status_code == 403


BODY = json.dumps({"text": TEXT}).encode()
HEAD = (
    f"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(BODY)}\r\n\r\n"
).encode()


def connected(url: str) -> socket.socket:
    place = urlsplit(url)
    assert place.hostname
    assert place.port
    return socket.create_connection((place.hostname, place.port), timeout=WAIT)


def everything(client: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    try:
        return b"".join(iter(partial(client.recv, 65536), b""))
    except ConnectionResetError:
        return b""


def test_a_body_that_arrives_too_slowly_is_refused() -> None:
    with running(served(), limits=Limits(body_seconds=1)) as url, connected(url) as client:
        client.sendall(HEAD + BODY[:5])
        head, _, body = everything(client).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408")
        assert json.loads(body) == {"reason": "the body of the request did not arrive within 1 seconds"}


def test_a_table_that_never_arrives_keeps_no_other_waiting() -> None:
    head = b"POST /table?name=a.csv HTTP/1.1\r\nhost: x\r\ncontent-length: 11\r\n\r\ntext\n"
    with running(served()) as url, ExitStack() as stack:
        half = [stack.enter_context(connected(url)) for _ in range(2)]
        half[0].sendall(head)
        time.sleep(0.2)
        assert httpx2.post(f"{url}table?name=b.csv", content=b"text\nthe plot\n", timeout=WAIT).status_code == 200
        half[1].sendall(head)
        time.sleep(0.2)
        refused = httpx2.post(f"{url}table?name=b.csv", content=b"text\nthe plot\n", timeout=WAIT)
        assert refused.json() == {"reason": "other tables are being sent; try again when they are here"}
        half[0].sendall(b"thin b")
        answer = b""
        while not answer.endswith(b"0\r\n\r\n"):
            answer += half[0].recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
        assert httpx2.post(f"{url}table?name=b.csv", content=b"text\nthe plot\n", timeout=WAIT).status_code == 200


def test_a_connection_without_a_whole_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_SECONDS_WITHOUT_REQUEST", 0.5)
    with running(served()) as url, ExitStack() as stack:
        silent = [stack.enter_context(connected(url)) for _ in range(3)]
        answered = stack.enter_context(connected(url))  # and then slow
        for client, sent in zip(silent, (b"", b"POST /predict HT", HEAD[:-2]), strict=True):
            client.sendall(sent)
        answered.sendall(HEAD + BODY)
        assert answered.recv(65536).startswith(b"HTTP/1.1 200")
        begun = time.monotonic()
        while time.monotonic() - begun < WAIT:
            try:
                answered.sendall(b"P")
            except OSError:
                break
            time.sleep(0.1)
        else:
            pytest.fail("the connection is still open")
        assert [everything(client) for client in silent] == [b""] * 3


def test_a_request_that_nobody_waits_for_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, asked = threading.Event(), threading.Event(), list[str]()

    def slowly(_: ServedModel, texts: list[str]) -> list[dict[str, object]]:
        asked.extend(texts)
        begun.set()
        assert go_on.wait(WAIT)
        return [{"prediction": None, "confidence": None, "probabilities": None, "unseen_share": None,
                 "unlike_training": None, "reading": None} for _ in texts]  # fmt: skip

    with running(served(), limits=Limits(waiting=2)) as url, connected(url) as first:
        monkeypatch.setattr(ServedModel, "answers", slowly)
        first.sendall(HEAD + BODY)
        assert begun.wait(WAIT)
        with connected(url) as client:
            client.sendall(HEAD + BODY)
            wait_for_status(url, 503)
        wait_for_status(url, 200)
        go_on.set()
        assert first.recv(65536).startswith(b"HTTP/1.1 200")
    assert asked == [TEXT]


def wait_for_status(url: str, status: int) -> None:
    """Ask until the server is ready, or not ready."""
    begun = time.monotonic()
    while time.monotonic() - begun < WAIT:
        if httpx2.get(f"{url}ready").status_code == status:
            return
    pytest.fail(f"the server never says {status}")


def test_a_client_that_leaves_before_it_is_sent_a_page_is_no_bug() -> None:
    """A file is sent while the end of the connection is waited for, and then no error can be an answer."""

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    async def sent(_: Message) -> None:
        pass

    path = {"method": "GET", "path": "/", "query_string": b"", "headers": [(b"host", b"testserver")]}
    asyncio.run(create_app(served())({"type": "http"} | path, gone, sent))
