"""Clients of `serve` send broken, endless or forged requests.

Each gets a status below 500, or a closed connection.
"""

import json
import logging
import os
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import polars as pl
import pytest
from fastapi.testclient import TestClient

from glassformer.errors import UsageError
from glassformer.serving.api import create_app
from glassformer.serving.feedback import FeedbackFile
from glassformer.serving.limits import Limits
from glassformer.serving.served_model import ServedModel
from tests.attacks.test_folders import sparse
from tests.browser.serving import running
from tests.serving.samples import ROW, of_rows, served

KEY = "f00-Bar"
MARK = b"marker7316"
LOG: list[dict[str, Any]] = []
SECONDS = 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """One server for all attacks: it must still answer after each of them."""
    feedback = FeedbackFile(tmp_path_factory.mktemp("feedback") / "kept.jsonl")
    hosts = ["localhost", "127.0.0.1", "[::1]"]
    with running(
        served(), limits=Limits(body_seconds=1), hosts=hosts, api_key=KEY, feedback=feedback, log=LOG.append
    ) as url:
        place = urlsplit(url)
        assert place.hostname
        assert place.port
        yield place.hostname, place.port


@pytest.fixture
def terminal() -> Iterator[list[str]]:
    """What the server itself says in the terminal."""
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logger, handler = logging.getLogger("uvicorn.error"), Kept()
    logger.addHandler(handler)
    yield lines
    logger.removeHandler(handler)


def head(line: bytes, *more: bytes, host: bytes = b"127.0.0.1") -> bytes:
    return b"\r\n".join([line, b"host: " + host, b"authorization: Bearer f00-Bar", *more, b"", b""])


def post(
    path: bytes, body: bytes, *more: bytes, kind: bytes = b"application/json", host: bytes = b"127.0.0.1"
) -> bytes:
    length = b"content-length: %d" % len(body)
    return head(b"POST " + path + b" HTTP/1.1", b"content-type: " + kind, length, *more, host=host) + body


def predict(body: bytes, *more: bytes) -> bytes:
    return post(b"/predict", body, *more)


def infer(**changes: object) -> bytes:
    tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["good"]} | changes
    return post(b"/v2/models/reviews/infer", json.dumps({"inputs": [tensor]}).encode())


def infers(**more: object) -> bytes:
    tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["good"]}
    return post(b"/v2/models/reviews/infer", json.dumps({"inputs": [tensor], **more}).encode())


def binary(content: bytes, size: object, length: bytes) -> bytes:
    tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": size}}
    body = json.dumps({"inputs": [tensor]}).encode()
    said = b"inference-header-content-length: " + (length or b"%d" % len(body))
    return post(b"/v2/models/reviews/infer", body + content, said)


def table(content: bytes, name: bytes = b"t.csv") -> bytes:
    return post(b"/table?name=" + name, content, kind=b"text/csv")


def get(path: bytes, *more: bytes, host: bytes = b"127.0.0.1") -> bytes:
    return head(b"GET " + path + b" HTTP/1.1", *more, host=host)


GOOD = b'{"text": "good"}'
CHUNKED = head(b"POST /predict HTTP/1.1", b"content-type: application/json", b"transfer-encoding: chunked")
UNSENT = head(b"POST /predict HTTP/1.1", b"content-type: application/json", b"content-length: 100")
REFUSED: dict[str, tuple[bytes, int]] = {
    # what is HTTP, but not what is meant
    "http-0.9": (b"GET /\r\n\r\n", 400),
    "http-1.0-without-host": (b"GET /model HTTP/1.0\r\nauthorization: Bearer f00-Bar\r\n\r\n", 400),
    "http-2-preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "http-9": (b"GET / HTTP/9.9\r\nhost: 127.0.0.1\r\n\r\n", 400),
    "tls-hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200, 400),
    "nul-bytes": (b"\0" * 5_000 + b"\r\n\r\n", 400),
    "no-host": (b"GET /model HTTP/1.1\r\nauthorization: Bearer f00-Bar\r\n\r\n", 400),
    "two-hosts": (get(b"/model", b"host: evil.example"), 400),
    "two-lengths": (predict(GOOD, b"content-length: 3"), 400),
    "length-negative": (head(b"POST /predict HTTP/1.1", b"content-length: -1"), 400),
    "length-with-plus": (head(b"POST /predict HTTP/1.1", b"content-length: +5") + GOOD, 400),
    "length-no-number": (head(b"POST /predict HTTP/1.1", b"content-length: many") + GOOD, 400),
    "length-of-5000-digits": (head(b"POST /predict HTTP/1.1", b"content-length: " + b"9" * 5_000), 400),
    "length-of-5000-zeros": (
        head(b"POST /predict HTTP/1.1", b"content-type: application/json", b"content-length: " + b"0" * 5_000 + b"16")
        + GOOD, 200),
    "length-of-1-TB": (head(b"POST /predict HTTP/1.1", b"content-length: 1000000000000"), 413),
    "length-in-other-digits": (head(b"POST /predict HTTP/1.1", "content-length: ١".encode()), 400),
    "header-without-name": (get(b"/model", b": value"), 400),
    "header-with-nul": (get(b"/model", b"x: a\0b"), 400),
    "header-folded": (get(b"/model", b"x: a", b" b"), 400),
    "header-with-space-before-colon": (get(b"/model", b"x : a"), 400),
    "headers-many": (get(b"/model", *[b"x%d: a" % n for n in range(250_000)]), 400),
    "header-long": (get(b"/model", b"x: " + b"a" * 2_000_000), 400),
    "path-long": (get(b"/" + b"a" * 2_000_000), 400),
    "path-of-15-kB": (get(b"/" + b"a" * 15_000), 404),
    "method-unknown": (head(b"OWNED /predict HTTP/1.1"), 400),
    "method-trace": (head(b"TRACE /predict HTTP/1.1"), 405),
    "method-connect": (head(b"CONNECT evil.example:80 HTTP/1.1"), 400),
    "method-long": (head(b"A" * 15_000 + b" / HTTP/1.1"), 400),
    "upgrade-to-websocket": (
        get(b"/predict", b"upgrade: websocket", b"connection: Upgrade", b"sec-websocket-key: AAAA",
            b"sec-websocket-version: 13"), 405),
    "chunk-of-bad-size": (CHUNKED + b"zz\r\n", 400),
    "chunk-of-huge-size": (CHUNKED + b"f" * 30 + b"\r\n", 400),
    "chunk-negative": (CHUNKED + b"-5\r\n", 400),
    "chunks-without-end": (CHUNKED + b"5\r\n12345\r\n" * 10, 408),
    "chunks-too-large": (CHUNKED + (b"10000\r\n" + b"a" * 65536 + b"\r\n") * 40, 413),
    "chunked-and-a-length": (predict(GOOD, b"transfer-encoding: chunked"), 400),
    "coding-unknown": (head(b"POST /predict HTTP/1.1", b"transfer-encoding: gzip"), 400),
    "body-that-never-comes": (UNSENT, 408),
    "body-cut": (UNSENT + GOOD, 408),
    "expect-continue-and-nothing": (UNSENT[:-2] + b"expect: 100-continue\r\n\r\n", 100),
    # who asks
    "host-of-another": (get(b"/model", host=b"evil.example"), 400),
    "host-rebound": (get(b"/model", host=b"127.0.0.1.evil.example"), 400),
    "host-with-user": (get(b"/model", host=b"127.0.0.1@evil.example"), 400),
    "host-empty": (get(b"/model", host=b""), 400),
    "host-no-utf-8": (get(b"/model", host=b"\xff\xfe"), 400),
    "origin-of-another": (predict(GOOD, b"origin: http://evil.example"), 403),
    "origin-null": (predict(GOOD, b"origin: null"), 403),
    "origin-empty": (predict(GOOD, b"origin:"), 403),
    "origin-begins-alike": (predict(GOOD, b"origin: http://127.0.0.1.evil.example"), 403),
    "origin-with-user": (predict(GOOD, b"origin: http://127.0.0.1@evil.example"), 403),
    "origin-with-another-port": (predict(GOOD, b"origin: http://127.0.0.1:1"), 403),
    "origin-long": (predict(GOOD, b"origin: http://" + b"a" * 30_000), 403),
    "origin-twice": (predict(GOOD, b"origin: http://evil.example", b"origin: http://127.0.0.1"), 403),
    "key-missing": (b"GET /model HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 401),
    "key-in-the-query": (b"GET /model?key=f00-Bar HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 401),
    "key-cut": (b"GET /model HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer f00-Ba\r\n\r\n", 401),
    "key-of-15-kB": (b"GET /model HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer " + b"a" * 15_000 + b"\r\n\r\n",
                     401),
    "key-for-another-path": (b"POST /health/../predict HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 401),
    "key-line-break-behind-a-path-without-one": (b"GET /health%0a HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 401),
    "key-of-another-in-a-trailer": (b"POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n"
                                    b"0\r\nauthorization: Bearer f00-Bar\r\n\r\n", 401),
    "key-doubled-slash": (b"GET //model HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 401),
    "key-path-of-another-host": (b"GET http://evil.example/model HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 401),
    # paths
    "path-up": (get(b"/page/../../../../etc/passwd"), 404),
    "path-up-encoded": (get(b"/page/%2e%2e/%2e%2e/%2e%2e/etc/passwd"), 404),
    "path-up-encoded-slash": (get(b"/page/..%2f..%2f..%2fetc%2fpasswd"), 404),
    "path-absolute": (get(b"/page//etc/passwd"), 404),
    "path-nul": (get(b"/page/main.js%00.css"), 404),
    "path-backslash": (get(b"/page/..\\..\\etc\\passwd"), 404),
    "path-no-utf-8": (get(b"/page/%ff%fe"), 404),
    "path-long-name": (get(b"/page/" + b"a" * 5_000), 404),
    "path-star": (head(b"OPTIONS * HTTP/1.1"), 404),
    "path-markup": (get(b"/<script>alert(1)</script>"), 404),
    "path-with-line-break": (get(b"/a%0d%0aset-cookie:%20x=1"), 404),
    "model-up": (get(b"/v2/models/../../etc/passwd"), 404),
    "model-line-break": (get(b"/v2/models/%0d%0ax:1"), 404),
    # bodies
    "body-empty": (predict(b""), 422),
    "body-a-number": (predict(b"1"), 422),
    "body-null": (predict(b"null"), 422),
    "body-1e999": (predict(b'{"text": 1e999}'), 422),
    "body-of-5000-digits": (predict(b'{"text": ' + b"9" * 5_000 + b"}"), 400),
    "body-nested": (predict(b'{"text": ' + b"[" * 100_000), 400),
    "body-nested-and-closed": (predict(b'{"text": ' + b"[" * 900_000 + b"]" * 900_000 + b"}"), 400),
    "body-utf-16": (predict(json.dumps({"texts": 1}).encode("utf-16")), 422),
    "body-no-utf-8": (predict(b'{"text": "\xff\xfe"}'), 400),
    "body-half-of-a-pair": (predict(b'{"text": "\\ud800"}'), 422),
    "body-nan-for-a-limit": (predict(b'{"text": "good", "review_below": NaN}'), 422),
    "body-infinity": (predict(b'{"text": "good", "review_below": Infinity}'), 422),
    "body-key-of-a-class": (predict(b'{"text": "good", "__class__": {"__init__": 1}}'), 422),
    "body-texts-of-null": (predict(b'{"texts": [null]}'), 422),
    "body-no-texts": (predict(b'{"texts": []}'), 200),
    "body-257-texts": (predict(json.dumps({"texts": ["a"] * 257}).encode()), 422),
    "body-300000-texts": (predict(b'{"texts": [' + b"0," * 300_000 + b"0]}"), 422),
    "body-text-too-long": (predict(json.dumps({"text": "a " * 50_001}).encode()), 422),
    "body-row-for-a-text": (predict(b'{"text": {"text": "good"}}'), 422),
    "body-model-of-another": (predict(b'{"text": "good", "model": "../../etc"}'), 404),
    "body-explains-9": (predict(json.dumps({"texts": ["good"] * 9, "explain": True}).encode()), 422),
    "body-a-form": (post(b"/predict", b"text=good", kind=b"application/x-www-form-urlencoded"), 422),
    "body-multipart": (post(b"/predict", b"--a\r\n\r\n--a--", kind=b"multipart/form-data; boundary=a"), 422),
    "body-plain": (post(b"/predict", GOOD, kind=b"text/plain"), 422),
    "body-of-a-long-key": (predict(json.dumps({"text": "good", "a" * 30_000: 1}).encode()), 422),
    "body-of-keys-that-repeat": (predict(b'{"text": "good", "text": 5}'), 422),
    "body-with-a-nul-behind-it": (predict(GOOD + b"\0"), 422),
    "body-gzip": (predict(b"\x1f\x8b" + b"\0" * 50, b"content-encoding: gzip"), 400),
    "explain-a-label-of-none": (post(b"/explain", b'{"text": "good", "label": "<b>"}'), 422),
    "explain-a-long-label": (post(b"/explain", json.dumps({"text": "good", "label": "a" * 30_000}).encode()), 422),
    "attention-of-word-1e4000": (post(b"/attention", b'{"text": "good", "word": 1%s}' % (b"0" * 4_000)), 422),
    "explain-nothing": (post(b"/explain", b'{"text": " "}'), 422),
    "feedback-label-of-none": (post(b"/feedback", b'{"text": "good", "label": "nosuch"}'), 422),
    "feedback-label-a-list": (post(b"/feedback", b'{"text": "good", "label": [["good"]]}'), 422),
    "feedback-label-huge": (post(b"/feedback", b'{"text": "good", "label": 1e999}'), 422),
    "feedback-text-too-long": (post(b"/feedback", json.dumps({"text": "a " * 50_001, "label": "good"}).encode()), 422),
    "feedback-group-of-none": (post(b"/feedback", b'{"text": "good", "label": "good", "group": "a"}'), 422),
    "feedback-half-of-a-pair": (post(b"/feedback", b'{"text": "\\udfff", "label": "good"}'), 422),
    # the protocol of others
    "tensor-of-no-shape": (infer(shape=[]), 422),
    "tensor-of-negative-shape": (infer(shape=[-1]), 422),
    "tensor-of-huge-shape": (infer(shape=[10**18]), 422),
    "tensor-of-huger-shape": (infer(shape=[10**400]), 422),
    "tensor-of-fractions": (infer(shape=[1.5]), 422),
    "tensor-of-many-dimensions": (infer(shape=[1] * 10_000), 422),
    "tensor-of-numbers": (infer(datatype="FP32", data=[1.0]), 422),
    "tensor-of-no-type": (infer(datatype="STRING"), 422),
    "tensor-of-a-number-for-a-text": (infer(data=[1]), 422),
    "tensor-nested": (infer(data=[[["good"]]]), 422),
    "tensor-without-data": (infer(data=None), 422),
    "tensor-named-otherwise": (infer(name="\x1b[2J"), 422),
    "tensor-of-half-a-pair": (infer(data=["\ud800"]), 422),
    "tensor-of-257-rows": (infer(shape=[257], data=["a"] * 257), 422),
    "tensor-bytes-beyond": (binary(b"\x04\0\0\0good", 10**9, b""), 422),
    "tensor-bytes-negative": (binary(b"\x04\0\0\0good", -8, b""), 422),
    "tensor-bytes-true": (binary(b"\x04\0\0\0good", True, b""), 422),
    "tensor-bytes-lie": (binary(b"\xff\xff\xff\xffgood", 8, b""), 422),
    "tensor-bytes-cut": (binary(b"\x04\0\0", 3, b""), 422),
    "tensor-bytes-no-utf-8": (binary(b"\x04\0\0\0\xff\xff\xff\xff", 8, b""), 422),
    "tensor-header-beyond": (binary(b"", 0, b"999999"), 422),
    "tensor-header-no-number": (binary(b"", 0, "²".encode()), 422),
    "tensor-header-of-5000-digits": (binary(b"", 0, b"9" * 5_000), 422),
    "tensor-bytes-of-none": (binary(b"\x04\0\0\0good-and-more", 8, b""), 422),
    "tensor-bytes-of-a-long-name": (infer(name="a" * 5_000, parameters={"binary_data_size": -1}), 422),
    "outputs-of-10000": (infers(outputs=[{"name": "prediction"}] * 10_000), 422),
    "output-of-a-long-name": (infers(outputs=[{"name": "a" * 5_000}]), 422),
    "tensor-of-a-long-key": (infer(**{"a" * 30_000: 1}), 422),
    "id-half-of-a-pair": (infers(id="\ud800"), 422),
    "body-model-of-a-long-name": (predict(json.dumps({"text": "good", "model": "a" * 5_000}).encode()), 404),
    # tables
    "table-without-a-name": (post(b"/table", b"text\ngood\n", kind=b"text/csv"), 422),
    "table-name-up": (table(b"text\ngood\n", b"../../etc/passwd"), 422),
    "table-name-nul": (table(b"text\ngood\n", b"t%00.csv"), 200),
    "table-name-long": (table(b"text\ngood\n", b"a" * 300 + b".csv"), 422),
    "table-name-of-a-sheet": (table(b"text\ngood\n", b"t.xlsx%23" + b"a" * 200), 422),
    "table-name-sheet-up": (table(b"text\ngood\n", b"t.xlsx%23..%2F..%2Fetc"), 422),
    "table-name-parquet": (table(b"PAR1", b"t.parquet"), 422),
    "table-name-database": (table(b"SQLite format 3\0", b"t.sqlite"), 422),
    "table-empty": (table(b""), 422),
    "table-no-workbook": (table(b"PK\x03\x04" + b"\0" * 100, b"t.xlsx"), 422),
    "table-ragged": (table(b"text,label\na,b,c\n"), 422),
    "table-nul": (table(b"text\na\0b\n"), 422),
    "table-open-quote": (table(b'text\n"a\n'), 422),
    "table-column-of-none": (post(b"/table?name=t.csv&text=%ff%00", b"text\ngood\n", kind=b"text/csv"), 422),
    "table-too-long-a-text": (table(b"text\n" + b"a " * 50_001 + b"\n"), 422),
    "table-too-many-rows": (table(b"text\n" + b"a\n" * 50_001), 422),
}  # fmt: skip


def sent(place: tuple[str, int], request: bytes) -> bytes:
    """Send a request, and return what comes until the connection is closed, or its first answer is whole."""
    with socket.create_connection(place, timeout=SECONDS) as client:
        sending = threading.Thread(target=_send, args=(client, request))
        sending.start()
        answer = b""
        try:
            while not _is_whole(answer) and (piece := client.recv(65536)):
                answer += piece
        except ConnectionResetError:
            pass
        client.close()
        sending.join()
    return answer


def _send(client: socket.socket, request: bytes) -> None:
    with suppress(OSError):  # the server has closed the connection, which the answer shows
        client.sendall(request)


def _is_whole(answer: bytes) -> bool:
    start, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    named = dict(line.lower().split(b": ", 1) for line in start.split(b"\r\n")[1:] if b": " in line)
    if b"content-length" in named:
        return len(body) >= int(named[b"content-length"])
    return answer.startswith(b"HTTP/1.1 100") or body.endswith(b"0\r\n\r\n")


def still_answers(place: tuple[str, int]) -> None:
    assert sent(place, get(b"/ready")).startswith(b"HTTP/1.1 200 ")


BROKE = {
    "tensor-bytes-of-none", "tensor-bytes-of-a-long-name", "outputs-of-10000", "output-of-a-long-name",
    "id-half-of-a-pair", "body-model-of-a-long-name", "body-of-a-long-key", "attention-of-word-1e4000", "origin-long",
    "tensor-of-a-long-key",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.mended] if name in BROKE else []) for name in REFUSED]
)
def test_an_odd_request_is_refused_and_the_next_one_answered(name: str, server: tuple[str, int]) -> None:
    request, status = REFUSED[name]
    answer = sent(server, request)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:500]
    assert b"root:" not in answer, "a file of the machine"
    assert b"Traceback" not in answer
    assert not any(line.lower().startswith((b"set-cookie", b"x:")) for line in answer.split(b"\r\n"))
    if status in (401, 403, 404, 405, 413, 422):
        document = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert isinstance(document.get("reason", document.get("error")), str)
        assert len(answer) < 3_000, "what was sent is not sent back"
    still_answers(server)


def test_requests_in_one_go_are_answered_in_their_order(server: tuple[str, int]) -> None:
    with socket.create_connection(server, timeout=SECONDS) as client:
        client.sendall(get(b"/nosuch1") + predict(GOOD) + get(b"/nosuch2", b"connection: close"))
        answers = b"".join(iter(lambda: client.recv(65536), b""))
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"404", b"200", b"404"]
    assert answers.index(b"nosuch1") < answers.index(b"prediction") < answers.index(b"nosuch2")


def test_what_stands_behind_a_body_is_no_request_of_another(server: tuple[str, int]) -> None:
    """A length that is too short leaves the rest of the body as the next request, which needs the key like any."""
    hidden = b"GET /model HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
    with socket.create_connection(server, timeout=SECONDS) as client:
        client.sendall(predict(GOOD) + hidden)
        answers = b"".join(iter(lambda: client.recv(65536), b""))
    assert b"HTTP/1.1 401" in answers


def test_clients_that_send_a_byte_now_and_then_keep_nobody_waiting(server: tuple[str, int]) -> None:
    slow = [socket.create_connection(server, timeout=SECONDS) for _ in range(60)]
    try:
        for number in range(3):
            for client in slow:
                client.sendall(UNSENT[number : number + 1])
            still_answers(server)
    finally:
        for client in slow:
            client.close()


@pytest.mark.mended
@pytest.mark.parametrize("kind", [os.mkfifo, sparse(4 << 30)], ids=["pipes", "files-of-4-GB"])
def test_what_a_folder_says_of_its_model_keeps_nobody_waiting(kind: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "evaluation").mkdir()
    for name in ("README.md", "evaluation/metrics.json"):
        kind(tmp_path / name)
    with running(served(folder=tmp_path), hosts=["127.0.0.1"]) as url, urlopen(f"{url}model", timeout=SECONDS) as said:
        assert json.load(said)["models"][0]["card"] == ""


def test_clients_that_are_gone_before_their_answer_keep_nobody_waiting(server: tuple[str, int]) -> None:
    for _ in range(20):
        with socket.create_connection(server, timeout=SECONDS) as client:
            client.sendall(predict(json.dumps({"texts": ["good " * 100] * 20}).encode()))
    assert sent(server, predict(GOOD)).startswith(b"HTTP/1.1 200 ")


def test_a_wrong_key_takes_as_long_however_much_of_it_is_right(server: tuple[str, int]) -> None:
    """The key and what is sent are compared as digests, so a common beginning does not show."""
    begun = time.monotonic()
    for sent_key in (b"f", b"f00", b"f00-Ba", b"x" * 7):
        request = b"GET /model HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer " + sent_key + b"\r\n\r\n"
        answer = sent(server, request)
        assert answer.startswith(b"HTTP/1.1 401 ")
        assert KEY.encode() not in answer
    assert time.monotonic() - begun < SECONDS


@pytest.mark.parametrize("path", [
    *(pytest.param(path, marks=pytest.mark.mended)
      for path in ("/predict", "/explain", "/feedback", "/trace", "/v2/models/reviews/infer")),
    "/table?name=t.csv",
])  # fmt: skip
def test_a_client_that_leaves_in_the_middle_of_a_body_is_no_bug(
    path: str, server: tuple[str, int], terminal: list[str]
) -> None:
    LOG.clear()
    with socket.create_connection(server, timeout=SECONDS) as client:
        client.sendall(post(path.encode(), b"a" * 100)[:-50])
    _wait_for(lambda: any(record["status"] == 499 for record in LOG))
    assert terminal == []


def _wait_for(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.002)


@pytest.mark.mended
def test_a_method_that_is_a_text_is_not_logged(server: tuple[str, int]) -> None:
    LOG.clear()
    for method in (MARK.upper(), b"PROPFIND"):
        sent(server, head(method + b" /predict HTTP/1.1"))
    _wait_for(lambda: any(record["method"] == "_OTHER" for record in LOG))
    assert MARK.upper() not in str(LOG).encode()


@pytest.mark.mended
@pytest.mark.parametrize("header", [
    {"baggage": "marker7316"},
    {"baggage": "marker7316=\x01"},
    {"baggage": "a=" + "marker7316" * 1_000},
    {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": f"{'marker7316' * 30}=1,A=1"},
])  # fmt: skip
def test_headers_of_a_trace_are_not_logged(header: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    telemetry = pytest.importorskip("glassformer.serving.telemetry", reason="pip install 'glassformer[otel]'")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

    sends = telemetry.Telemetry(TracerProvider(shutdown_on_exit=False), MeterProvider(shutdown_on_exit=False))
    with TestClient(create_app(served(), telemetry=sends)) as client:
        assert client.get("/health", headers=header).status_code == 200
    assert "marker" not in capfd.readouterr().err


@pytest.mark.mended
def test_explanations_that_one_client_asks_for_beside_answers_keep_nobody_from_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They count as those of `/explain`, of which each client may have a few that wait."""
    go_on = threading.Event()

    def slow(*_: object, **__: object) -> None:
        go_on.wait(SECONDS)
        raise UsageError("no explanation")

    monkeypatch.setattr(ServedModel, "explanation", slow)
    limits = Limits(waiting=6, waiting_of_client=2)
    with running(served(), limits=limits, hosts=["127.0.0.1"]) as url, ExitStack() as clients:
        place = urlsplit(url).hostname or "", urlsplit(url).port or 0
        asking = [clients.enter_context(socket.create_connection(place, timeout=SECONDS)) for _ in range(8)]
        for client in asking:
            client.sendall(predict(b'{"text": "good", "explain": true}'))
        time.sleep(0.03)
        other = clients.enter_context(socket.create_connection(place, timeout=SECONDS))
        other.sendall(predict(GOOD))
        assert select.select([other], [], [], 0.03)[0] == [], "it waits for its turn, and is not refused"
        go_on.set()
        assert other.recv(65536).startswith(b"HTTP/1.1 200 ")


@pytest.mark.mended
def test_a_library_that_panics_leaves_no_request_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of libraries in Rust are no `Exception`."""

    def panic(*_: object) -> None:
        raise pl.exceptions.PanicException("marker7316")

    with running(served(), hosts=["127.0.0.1"]) as url:
        place = urlsplit(url).hostname or "", urlsplit(url).port or 0
        with monkeypatch.context() as patch:
            patch.setattr(ServedModel, "answers", panic)
            answer = sent(place, predict(GOOD))
        assert answer.startswith(b"HTTP/1.1 500 ")
        assert MARK not in answer
        assert sent(place, predict(GOOD)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.mended
def test_a_table_for_which_there_is_no_room_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with TestClient(create_app(served()), raise_server_exceptions=False) as client:
        answer = client.post("/table?name=t.csv", content="text\ngood\n")
    assert answer.status_code == 500
    assert answer.json()["reason"].startswith("the server cannot keep the table while it answers: no such file")


@pytest.mark.mended
@pytest.mark.parametrize("request_", [
    get(b"/predict", b"upgrade: websocket", b"connection: Upgrade", b"sec-websocket-key: AAAA"),
    get(b"/predict", b"upgrade: marker7316", b"connection: Upgrade"),
], ids=["to-a-websocket", "to-another"])  # fmt: skip
def test_a_client_that_asks_for_another_protocol_writes_nothing_to_the_terminal(
    request_: bytes, server: tuple[str, int], terminal: list[str]
) -> None:
    assert sent(server, request_).startswith(b"HTTP/1.1 405 ")
    assert terminal == []


@pytest.mark.mended
def test_a_model_folder_that_becomes_a_link_to_itself_is_said_to_be_one(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.symlink_to(folder.name)
    with TestClient(create_app(served(folder=folder)), raise_server_exceptions=False) as client:
        answer = client.post("/table?name=t.csv", content="text,label\nthin,good\nnot at all,bad\n")
    assert json.loads(answer.text.splitlines()[-1])["reason"].startswith("Too many levels of symbolic links")


@pytest.mark.mended
def test_a_bug_in_the_middle_of_a_table_is_said_in_its_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("marker7316")

    monkeypatch.setattr("glassformer.serving.table_route.table_of_answers", broken)
    with TestClient(create_app(served()), raise_server_exceptions=False) as client:
        last = client.post("/table?name=t.csv", content="text\ngood\n").text.splitlines()[-1]
    assert json.loads(last)["reason"] == "a bug of glassformer: KeyError; the terminal of the server shows more"


@pytest.mark.mended
@pytest.mark.parametrize("changed", [{"shop": "\ud800"}, {"\udfff": 1}], ids=["value", "key"])
def test_half_of_a_pair_in_a_row_is_no_feedback(changed: dict[str, Any], tmp_path: Path) -> None:
    kept = FeedbackFile(tmp_path / "kept.jsonl")
    body = json.dumps({"text": ROW | changed, "label": "good"})
    with TestClient(create_app(served(trained=of_rows()), feedback=kept), raise_server_exceptions=False) as client:
        answer = client.post("/feedback", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, "half of a surrogate pair" in answer.text) == (422, True)
    assert kept.path.read_bytes() == b""
