"""Listen at an address, and answer until the process is told to stop."""

import asyncio
import ctypes
import gc
import ipaddress
import logging
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from glassformer.data.stopping import watched_signals
from glassformer.errors import UsageError
from glassformer.serving.protocol import BoundedProtocol

_SECONDS_TO_FINISH = 30  # at the end, for the requests that were taken
_SECONDS_WITHOUT_REQUEST = 10  # of a connection: it may have sent half of a request
_SECONDS_UNREAD = 30  # of an answer that the client does not take, or whose client is gone without a word
_MOST_CONNECTIONS = 512
_LOOK_AGAIN = 0.1  # seconds
_SECONDS_OF_A_THREAD = 1e-4  # before another thread may run


@dataclass(frozen=True, kw_only=True)
class Address:
    """A socket that listens, and where."""

    listener: socket.socket
    host: str

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    @property
    def url(self) -> str:
        """The address for a browser on this machine."""
        return self._url({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host))

    @property
    def urls(self) -> str:
        """The address for a browser on this machine, and that for one on another machine if it is another one."""
        elsewhere = f"    from other machines: {self._url(socket.gethostname())}"
        return self.url + (elsewhere if self.host in ("0.0.0.0", "::") else "")

    def _url(self, host: str) -> str:
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    @property
    def is_private(self) -> bool:
        """Whether only programs on this machine reach it."""
        return ipaddress.ip_address(self.listener.getsockname()[0]).is_loopback


def listen(host: str, port: int) -> Address:
    """Listen at an address. Port 0 is any free port.

    Raises:
        UsageError: the port is in use or not allowed, or this machine has no such address.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or each answer waits 40 ms for a packet
    except socket.gaierror as error:
        raise UsageError(f"`host={host!r}`: no such address; 127.0.0.1 is this machine") from error
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise UsageError(f"`port={port}`: cannot listen at {host}, {why}; choose another port") from error
    return Address(listener=listener, host=host)


def allowed_hosts(address: Address) -> list[str]:
    """Return the names by which requests may address the server. Elsewhere than on this machine, any name."""
    return ["localhost", "127.0.0.1", "[::1]", address.host] if address.is_private else ["*"]


def answer_requests(app: ASGIApp, address: Address, *, on_finishing: Callable[[int], None]) -> None:
    """Answer requests until Ctrl-C, SIGTERM or SIGHUP. Then no new ones are taken, and those under way are finished.

    Requests are not logged, as they hold texts.

    Args:
        on_finishing: called at the end with the number of requests to finish, if there are any.
    """
    _share_the_interpreter()
    server_at(address, app, on_finishing=on_finishing).run(sockets=[address.listener])


def _share_the_interpreter() -> None:
    """Keep the two threads of a server from waiting for each other, one with the requests and one with the models.

    A model gives the interpreter away in each of its products of matrices, and takes it back after it. By default it
    would then wait for 5 milliseconds if requests are read meanwhile. What is in memory now stays there, so the garbage
    collector need not go through it; that took a fifth of a second each time.
    """
    sys.setswitchinterval(_SECONDS_OF_A_THREAD)
    gc.collect()
    gc.freeze()


def server_at(address: Address, app: ASGIApp, *, on_finishing: Callable[[int], None]) -> uvicorn.Server:
    """Return a server that closes connections which only cost: see `Server`."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; its connections inherit it
        address.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * _SECONDS_UNREAD)
    config = uvicorn.Config(
        app,
        log_level="error",  # its warnings are about clients, such as one that speaks no HTTP, a line for each
        access_log=False,
        server_header=False,
        http=BoundedProtocol,
        ws="none",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )
    logging.getLogger("uvicorn.error").addFilter(_worth_a_line)
    return Server(config, on_finishing)


class Server(uvicorn.Server):
    """Closes connections that send no whole request, and returns freed memory.

    uvicorn has a time-out only for connections that send nothing more.
    """

    def __init__(self, config: uvicorn.Config, on_finishing: Callable[[int], None]) -> None:
        super().__init__(config)
        self._on_finishing = on_finishing
        self._freed = FreedMemory()
        self._idle: dict[Any, tuple[Any, float]] = {}  # connection → its last request, and when it was first seen idle

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Also SIGHUP, of a closed terminal. uvicorn leaves it out, and a request would take it for its own error."""

        def record(number: int) -> bool:
            self.handle_exit(number, None)
            return False

        with super().capture_signals(), watched_signals(record):
            yield

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # about once a second
            self._close_idle()
        if counter % 50 == 0 and self._freed.is_worth_giving_back:
            await asyncio.to_thread(self._freed.give_back)
        return await super().on_tick(counter)

    def _close_idle(self) -> None:
        now, before = time.monotonic(), self._idle
        self._idle = {}
        for connection in list(self.server_state.connections):
            request = getattr(connection, "cycle", None)
            if request is not None and not request.response_complete:
                continue
            last, since = before.get(connection, (request, now))
            if last is not request:
                since = now
            if now - since > _SECONDS_WITHOUT_REQUEST:
                connection.transport.abort()
            else:
                self._idle[connection] = (request, since)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish the requests that were taken. A second Ctrl-C drops them."""
        if under_way := len(self.server_state.tasks):
            self._on_finishing(under_way)
        finishing = asyncio.ensure_future(super().shutdown(sockets))
        while not (await asyncio.wait({finishing}, timeout=_LOOK_AGAIN))[0]:
            if self.force_exit:  # uvicorn would wait for the connections
                for connection in list(self.server_state.connections):
                    connection.transport.abort()
        await finishing
        if self.force_exit:  # uvicorn leaves this out
            await self.lifespan.shutdown()


def _worth_a_line(record: logging.LogRecord) -> bool:
    """Whether a line of uvicorn helps: not the trace of a cancelled request.

    Of an error, its kind and the lines of code remain. What it says may quote a text.
    """
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        places = "".join(traceback.format_tb(error.__traceback__))
        record.msg, record.args = f"{record.getMessage().strip()}: {type(error).__name__}\n{places}", ()
        record.exc_info = record.exc_text = None
    return not isinstance(error, asyncio.CancelledError)


_GROWN = 32 << 20  # bytes; less is not worth the work
_PAGES = Path("/proc/self/statm")


class FreedMemory:
    """What is freed and still held by glibc, which by itself returns only the end of its heaps.

    Other C libraries return it themselves, and are left as they are.
    """

    def __init__(self) -> None:
        c_library = ctypes.CDLL(None) if sys.platform.startswith("linux") else None
        self._trim = getattr(c_library, "malloc_trim", None)
        self._least = 0 if self._trim is None else resident()

    @property
    def is_worth_giving_back(self) -> bool:
        """Whether this process has grown since memory was last given back."""
        return self._trim is not None and resident() > self._least + _GROWN

    def give_back(self) -> None:
        """Return all pages that hold nothing. It takes milliseconds, in which other threads go on."""
        if self._trim is not None:
            self._trim(0)
            self._least = resident()


def resident() -> int:
    """Return the bytes of memory that this process takes (Linux)."""
    return int(_PAGES.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
