"""HTTP as uvicorn speaks it with httptools, with bounds on what it holds for a client."""

import asyncio
import sys
from functools import partial
from typing import Any

from httptools import HttpParserUpgrade, HttpRequestParser
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

_MOST_BYTES = 1 << 16  # that are no body: a head, or what stands between two pieces of a body and after the last one
_MOST_HEADERS = 500  # of a request, and of all that wait for the answer to an earlier one: each takes much more memory
_MOST_AHEAD = 16  # requests that a client sends before the answer to an earlier one
_HOSTS = {"1.0": (0, 1), "1.1": (1,)}  # version of HTTP → how many a request names
_TOO_LONG = "The headers of the request are too long."


class BoundedProtocol(HttpToolsProtocol):
    """A connection. It is closed if its client sends too much that is no body, or too many requests ahead.

    uvicorn itself takes heads of any length with httptools, and adds what comes after a body to the headers of its
    request. It sends chunks to clients of HTTP/1.0, which know none. And it loses the body of a request that offers to
    go on with HTTP/2, as those of many Java clients do.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._in_body = False
        self._bytes = 0  # since the last piece of a body or the last end of a request
        self._data = b""
        self._is_refused = False  # what comes then is not read
        self._started: RequestResponseCycle | None = None  # `cycle` may be a request ahead

    def connection_made(self, transport: Any) -> None:
        super().connection_made(Joining(transport))  # type: ignore[arg-type] # it passes on all else

    def connection_lost(self, exc: Exception | None) -> None:
        if self._started is not None and not self._started.response_complete:
            self._started.disconnected = True
            self._started.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._bytes += len(data)
        self._data = data
        super().data_received(data)
        self._data = b""
        if self._bytes > _MOST_BYTES and not self.transport.is_closing():
            self.send_400_response(_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_body:  # a trailer
            return
        if len(self.headers) >= _MOST_HEADERS:
            raise ValueError  # the parser stops, and the connection is closed
        super().on_header(name, value.rstrip(b" \t"))

    def on_headers_complete(self) -> None:
        held = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        ahead = sum(len(list(cycle.scope["headers"])) for cycle, _ in self.pipeline)
        hosts = sum(name == b"host" for name, _ in self.headers)
        if held > _MOST_BYTES or len(self.pipeline) >= _MOST_AHEAD or ahead > _MOST_HEADERS:
            raise ValueError
        if hosts not in _HOSTS.get(self.parser.get_http_version(), ()):
            raise ValueError
        super().on_headers_complete()
        self._in_body = True

    def on_body(self, body: bytes) -> None:
        self._bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._bytes = 0
        self._in_body = False
        if not (self.parser.should_upgrade() or self.parser.should_keep_alive()):
            # A trailer may say so, and the parser then reads no further request.
            self.cycle.keep_alive = False
            if self.cycle.response_complete:
                self.transport.close()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what was sent, unless the client would take this for the answer to an earlier request."""
        self._is_refused = True
        if self._in_body and (self.pipeline or self.cycle.response_started):
            self.transport.abort()
        elif self.cycle is not None and not (self._in_body or self.cycle.response_complete):
            self.cycle.keep_alive = False  # what came before is answered, and the connection closed
        else:
            is_long = self._bytes > _MOST_BYTES or len(self.headers or ()) >= _MOST_HEADERS
            super().send_400_response(_TOO_LONG if is_long else msg)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGIApp) -> None:  # type: ignore[override]
        self._started = cycle
        if cycle.scope["http_version"] == "1.0":
            cycle.waiting_for_100_continue = cycle.chunked_encoding = False
            app = partial(_without_chunks, app, cycle)
        super()._start_asgi_task(cycle, app)  # type: ignore[arg-type]

    def _should_upgrade(self) -> bool:
        return True

    def handle_websocket_upgrade(self) -> None:
        """Read the request once more, without its offer of another protocol."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        if method == b"CONNECT":  # another protocol follows, whatever its headers say
            self.send_400_response("Invalid HTTP request received.")
            return
        asked = sys.exception()
        assert isinstance(asked, HttpParserUpgrade)
        body_begins = int(asked.args[0])
        headers = (b": ".join(header) for header in self.headers if header[0] != b"upgrade")
        head = b"\r\n".join((b" ".join((method, self.url, b"HTTP/" + version)), *headers, b"", b""))
        self.parser = HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self.data_received(head + self._data[body_begins:])


async def _without_chunks(
    app: ASGIApp, cycle: RequestResponseCycle, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer a client of HTTP/1.0. Where an answer of unknown length ends, the connection is closed."""

    async def sent(message: Message) -> None:
        cycle.expected_content_length = len(message.get("body", b""))  # of this piece
        await send(message)

    await app(scope, receive, sent)


class Joining:
    """A transport that sends the headers of an answer together with its body.

    uvicorn writes them one after the other. Each time they are sent, the thread of the models takes the interpreter,
    and the client is woken.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._held = transport, b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Hold the first part for the second one, but only until the event loop has another turn."""
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held + data)
        elif data:
            self._held = bytes(data)
            asyncio.get_running_loop().call_soon(self.write, b"")

    def close(self) -> None:
        self.write(b"")
        self._transport.close()
