"""HTTP as uvicorn speaks it with httptools, with bounds on what it holds for a client."""

import asyncio
import sys
from typing import Any

from httptools import HttpParserUpgrade
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST_BYTES = 1 << 16  # that are no body: a head, or what stands between two pieces of a body and after the last one
_MOST_AHEAD = 16  # requests that a client sends before the answer to an earlier one
_TOO_LONG = "The headers of the request are too long."


class BoundedProtocol(HttpToolsProtocol):
    """A connection. It is closed if its client sends too much that is no body, or too many requests ahead.

    uvicorn itself takes heads of any length with httptools, and adds what comes after a body to the headers of its
    request. And it loses the body of a request that offers to go on with HTTP/2, as those of many Java clients do. Such
    a connection is left to h11, which ignores the offer.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._in_head = False
        self._bytes = 0  # since the last piece of a body or the last end of a request
        self._data = b""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(Joining(transport))  # type: ignore[arg-type] # it passes on all else

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        self._data = data
        super().data_received(data)
        self._data = b""
        if self._bytes > _MOST_BYTES and not self.transport.is_closing():
            self.send_400_response(_TOO_LONG)

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        held = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        hosts = sum(name == b"host" for name, _ in self.headers)
        if held > _MOST_BYTES or len(self.pipeline) >= _MOST_AHEAD or hosts > 1:
            raise ValueError  # the parser stops, and the connection is closed
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what was sent, unless the client would take this for the answer to an earlier request."""
        earlier = self._is_answering and (self.cycle.response_started or not self.cycle.more_body)
        if earlier or self.pipeline:
            self.transport.abort()
        else:
            super().send_400_response(_TOO_LONG if self._bytes > _MOST_BYTES else msg)

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _should_upgrade(self) -> bool:
        return True

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to h11, beginning with the request that asks for another protocol."""
        if self._is_answering:
            self.transport.abort()
            return
        asked = sys.exception()
        assert isinstance(asked, HttpParserUpgrade)
        body_begins = int(asked.args[0])
        request_line = b" ".join(
            (self.parser.get_method(), self.url, b"HTTP/" + self.parser.get_http_version().encode())
        )
        head = b"\r\n".join((request_line, *(b": ".join(header) for header in self.headers), b"", b""))
        self.connections.discard(self)
        other = H11Protocol(self.config, self.server_state, self.app_state)
        other.connection_made(self.transport)
        self.transport.set_protocol(other)
        other.data_received(head + self._data[body_begins:])


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
