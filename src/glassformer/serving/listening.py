"""Listen at an address, and answer until the process is told to stop."""

from __future__ import annotations

import ipaddress
import os
import socket
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from glassformer.errors import UsageError

_SECONDS_TO_FINISH = 3


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
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
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
    except socket.gaierror as error:
        raise UsageError(f"`host={host!r}`: no such address; 127.0.0.1 is this machine") from error
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise UsageError(f"`port={port}`: cannot listen at {host}, {why}; choose another port") from error
    return Address(listener=listener, host=host)


def allowed_hosts(address: Address) -> list[str]:
    """Return the names by which requests may address the server. Elsewhere than on this machine, any name."""
    return ["localhost", "127.0.0.1", "[::1]", address.host] if address.is_private else ["*"]


def answer_requests(app: FastAPI, address: Address) -> None:
    """Answer requests until Ctrl-C or SIGTERM. Requests are not logged, as they hold texts."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=_SECONDS_TO_FINISH
    )
    uvicorn.Server(config).run(sockets=[address.listener])
