"""A server that answers as an S3 bucket does to reading and listing, and as a web server to a plain GET."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit

OBJECTS = {
    "tickets.csv": b"text,label\nhello,a\nbye,b\n",
    "t\u00e9st 1.csv": b"text,label\nhello,a\nbye,b\n",
    "cyrillic.csv": "text,label\nпривет,a\nпока,b\n".encode("koi8-r"),
    "shards/1.csv": b"text,label\none,a\n",
    "shards/2.csv": b"text,label\ntwo,b\n",
    "shards/_SUCCESS": b"",
    "deep/er/1.csv": b"text,label\none,a\n",
    "large.csv": b"text,label\n" + b"hello,a\n" * 3_000_000,
}
LOGIN = "Basic " + base64.b64encode(b"me:s3cret/pw").decode()


class _Handler(BaseHTTPRequestHandler):
    """`/moved` sends to a server elsewhere; `/private/…` wants `LOGIN`; `/signed/…` wants the query `signature=abc`."""

    seen: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        self.seen.append((self.path, self.headers.get("Authorization")))
        first, _, key = unquote(address.path).lstrip("/").partition("/")
        allowed = {
            "private": self.headers.get("Authorization") == LOGIN,
            "signed": query.get("signature") == ["abc"],
            "bucket": "AWS4-HMAC" in (self.headers.get("Authorization") or ""),
        }
        if first == "moved":
            self.send_response(302)
            self.send_header("Location", key)
            self.end_headers()
        elif not allowed.get(first, True):
            self._send(403, b"<Error><Code>AccessDenied</Code></Error>")
        elif "list-type" in query:
            self._send(200, _listing(query.get("prefix", [""])[0]))
        elif key in OBJECTS:
            self._send(200, OBJECTS[key])
        else:
            self._send(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def _send(self, code: int, body: bytes) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), "ETag": '"1"'}.items():
            self.send_header(name, value)
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


def _listing(prefix: str) -> bytes:
    below = {key.removeprefix(prefix): body for key, body in OBJECTS.items() if key.startswith(prefix)}
    when = "<LastModified>2024-01-01T00:00:00.000Z</LastModified>"
    found = "".join(
        f"<Contents><Key>{prefix}{key}</Key><Size>{len(body)}</Size>{when}</Contents>"
        for key, body in below.items()
        if "/" not in key
    )
    deeper = {key.partition("/")[0] for key in below if "/" in key}
    found += "".join(f"<CommonPrefixes><Prefix>{prefix}{name}/</Prefix></CommonPrefixes>" for name in sorted(deeper))
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode()


@contextmanager
def serving() -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """Give the address of a server, and the path and login of each request that it saw."""
    seen: list[tuple[str, str | None]] = []
    handler = type("Handler", (_Handler,), {"seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


def environment(address: str) -> Mapping[str, str]:
    """The variables that name the server and a login to it."""
    return {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
