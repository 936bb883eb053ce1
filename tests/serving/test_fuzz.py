"""Odd requests: none ends in an error of the server, and what they hold is not logged."""

import json
import logging
import random
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from glassformer.serving import listening
from glassformer.serving.api import create_app
from tests.serving.samples import served

MARKER = "marker7316"
REQUESTS = 500
LOGGED: list[dict[str, Any]] = []
_ODD: tuple[Any, ...] = (
    None, True, -1, 1e308, 10**400, "", "\ud800", f"{MARKER}\udfff", "\0", "a" * 1_000,
    [], {}, [[]], [None], {"\ud83d": MARKER},
)  # fmt: skip
_ORIGINS = ("http://[", "null", "http://", "//", "http://testserver:x", MARKER, "http://testserver", "é")


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(served(), log=LOGGED.append), raise_server_exceptions=False) as client:
        yield client


def odd(value: Any, draw: random.Random) -> Any:
    """Change one place of a value."""
    if draw.random() < 0.3:
        return draw.choice(_ODD)
    if isinstance(value, dict) and value:
        name = draw.choice(list(value))
        changed = value | {name: odd(value[name], draw)}
        if draw.random() < 0.3:
            changed[draw.choice(["\ud800", f"{MARKER}\udcff", "", "text", "texts", "model"])] = changed.pop(name)
        return changed
    if isinstance(value, list) and value:
        place = draw.randrange(len(value))
        return [*value[:place], odd(value[place], draw), *value[place + 1 :]]
    return draw.choice([*_ODD, f"{MARKER} {value}"])


def written(value: Any, draw: random.Random) -> bytes:
    body = json.dumps(value).encode()
    if draw.random() < 0.2:
        place = draw.randrange(len(body) + 1)
        body = (
            body[:place] + draw.choice([b"\xff", b"\xed\xa0\x80", b"{", b"NaN", b"[" * 2_000, b""]) + body[place + 1 :]
        )
    return body


@pytest.mark.parametrize("seed", range(2))
def test_no_request_is_an_error_of_the_server(client: TestClient, seed: int) -> None:
    draw = random.Random(seed)
    paths = client.get("/openapi.json").json()["paths"]
    asked = [(path, method) for path, methods in paths.items() for method in methods]
    examples = [
        {"text": f"not at all {MARKER}"},
        {"text": MARKER, "label": "good", "model": "reviews"},
        {"texts": [MARKER, "good"], "top_k": 2},
        {"text": MARKER, "word": 1, "layer": 0, "head": 0, "answer": "good"},
    ]
    for _ in range(REQUESTS // 2):
        path, method = draw.choice(asked)
        body = written(odd(draw.choice(examples), draw), draw)
        kind = draw.choice([b"application/json", b"text/csv", b"multipart/form-data; boundary=a", b"\xff"])
        headers = {b"content-type": kind}
        if draw.random() < 0.2:
            headers[b"origin"] = draw.choice(_ORIGINS).encode()
        query = f"?{draw.choice(['text', 'model', 'top_k'])}={MARKER}%ff" if draw.random() < 0.2 else ""
        found = client.request(method.upper(), path + query, content=body, headers=headers)
        assert found.status_code != 500, (method, path, query, body, headers, found.text)
    assert len(LOGGED) >= REQUESTS // 2
    assert MARKER not in str(LOGGED)


def test_an_error_is_logged_without_what_it_says() -> None:
    try:
        raise ValueError(f"the text {MARKER} is odd")
    except ValueError as error:
        found = (ValueError, error, error.__traceback__)
        record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "Exception in ASGI application\n", (), found)
    assert listening._worth_a_line(record)
    line = logging.Formatter().format(record)
    assert line.startswith("Exception in ASGI application: ValueError\n")
    assert "test_fuzz.py" in line
    assert "is odd" not in line.replace('raise ValueError(f"the text {MARKER} is odd")', "")
    assert MARKER not in line
