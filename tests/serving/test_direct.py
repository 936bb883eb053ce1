"""`/predict` is read and answered directly. FastAPI's own way is the reference."""

from collections.abc import Iterator

import pytest
from fastapi import Request
from fastapi.responses import PlainTextResponse
from fastapi.testclient import TestClient
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glassformer.serving import text_routes
from glassformer.serving.api import create_app
from glassformer.serving.limits import Limits
from tests.serving.samples import TEXT, served

JSON = "application/json"
BODIES = {
    "one text": (JSON, b'{"text": "the plot is thin"}'),
    "several": (JSON, b'{"texts": ["not at all", " ", "\\u4f60\\u597d"], "review_below": 0.9}'),
    "explained": (JSON, b'{"text": "not at all bad", "explain": true}'),
    "another JSON": ("Application/Vnd.api+json; charset=utf-8", b'{"text": "a"}'),
    "not called JSON": ("text/plain", b'{"text": "a"}'),
    "no type": ("", b'{"text": "a"}'),
    "a list of types": ("application/json, text/plain", b'{"text": "a"}'),
    "nothing": (JSON, b""),
    "no JSON": (JSON, b'{"text": "a",}'),
    "not UTF-8": (JSON, b'{"text": "\xff\xfe"}'),
    "nested too deep": (JSON, b"[" * 1900),
    "a list": (JSON, b"[]"),
    "null": (JSON, b"null"),
    "an unknown key": (JSON, b'{"text": "a", "txet": "b"}'),
    "a number": (JSON, b'{"text": 5}'),
    "a wrong text of several": (JSON, b'{"texts": ["a", 5, 6]}'),
    "no text": (JSON, b"{}"),
    "a wrong threshold": (JSON, b'{"text": "a", "review_below": 2}'),
    "a threshold that is no number": (JSON, b'{"text": "a", "review_below": NaN}'),
    "half of a surrogate pair": (JSON, b'{"text": "\\ud83d"}'),
    "too large": (JSON, b'{"text": "%s"}' % (b"a" * 3000)),
    "an unknown model": (JSON, b'{"text": "a", "model": "other"}'),
}


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[TestClient, TestClient]]:
    limits = Limits(body_bytes=2_000)
    with pytest.MonkeyPatch.context() as patch:
        direct = create_app(served(), limits=limits)
        patch.setattr(text_routes, "answer_directly", lambda *_, **__: None)
        plain = create_app(served(), limits=limits)
    with TestClient(direct) as first, TestClient(plain) as second:
        yield first, second


@pytest.mark.parametrize("body", BODIES)
def test_the_direct_way_says_what_fastapi_says(both: tuple[TestClient, TestClient], body: str) -> None:
    kind, content = BODIES[body]
    found, expected = (
        client.post("/predict", content=content, headers={"content-type": kind} if kind else {}) for client in both
    )
    assert (found.status_code, found.content) == (expected.status_code, expected.content)
    assert found.headers == expected.headers


def test_fastapi_describes_the_route_as_before(both: tuple[TestClient, TestClient]) -> None:
    direct, plain = (client.get("/openapi.json").json() for client in both)
    assert direct == plain
    assert both[0].get("/predict").status_code == 405
    assert both[0].post("/predict", json={"text": TEXT}).headers["content-type"] == JSON


@pytest.mark.parametrize(("error", "answered"), [
    (PermissionError("of a file"), (418, "of a file")),
    (KeyError("a bug"), (500, '{"reason":"a bug of glassformer: KeyError; the terminal of the server shows more"}')),
])  # fmt: skip
def test_the_handlers_of_the_application_answer_errors(
    error: Exception, answered: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The desk has some for a full disk. Others are bugs, which the server shows in its terminal."""

    async def handler(_: Request, error: Exception) -> PlainTextResponse:
        return PlainTextResponse(str(error), 418)

    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(text_routes, "named", broken)
    app = create_app(served())
    app.add_exception_handler(OSError, handler)
    with TestClient(app, raise_server_exceptions=False) as client:
        found = client.post("/predict", json={"text": TEXT})
    assert (found.status_code, found.text) == answered


def test_the_direct_way_is_behind_all_middleware() -> None:
    def stamped(app: ASGIApp, *, stamp: str) -> ASGIApp:
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            async def sent(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [*message["headers"], (b"stamp", stamp.encode())]
                await send(message)

            await app(scope, receive, sent)

        return answer

    app = create_app(served())
    for stamp in ("inner", "outer"):
        app.add_middleware(stamped, stamp=stamp)
    with TestClient(app) as client:
        found = client.post("/predict", json={"text": TEXT}), client.get("/predict")
    assert [answer.headers.get_list("stamp") for answer in found] == [["inner", "outer"]] * 2
