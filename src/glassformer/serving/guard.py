"""What stands between the network and the API: limits on bodies, other websites, and the headers of every answer."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
# For a page that is one file with its style and scripts inside, whose hashes it may name itself. The sandbox keeps it
# from asking this server anything.
OWN_PAGE = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts"
}
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # without it, the origin of a form would be null
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",  # answers may hold private texts
}


class Guard:
    """ASGI middleware: refuses bodies that are too large (413) and requests of other websites (403).

    A page of another website that a person visits can send requests to a server on this machine. It cannot read the
    answers, but it could keep the model busy.
    """

    def __init__(self, app: ASGIApp, *, most_bytes: int, larger: Mapping[str, int]) -> None:
        self.app = app
        self.most_bytes = most_bytes
        self.larger = larger  # path → bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers_of_answer = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers_of_answer.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            refusal = _refusal(403, f"requests from {origin} are not answered, only those of this server's own page")
            await refusal(scope, receive, send_with_headers)
            return
        most = self.larger.get(scope["path"], self.most_bytes)
        if int(headers.get("content-length") or 0) > most:
            await _refusal(413, _too_large(most))(scope, receive, send_with_headers)
            return
        await self.app(scope, self._counted(receive, most), send_with_headers)

    def _counted(self, receive: Receive, most: int) -> Receive:
        """Return the same body, with an error as soon as it is too large: its length may not be known before."""
        total = 0

        async def counted() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > most:
                raise HTTPException(413, _too_large(most))
            return message

        return counted


def _too_large(most: int) -> str:
    return f"the request is larger than {most:,} bytes; send less at once"


def _refusal(status: int, reason: str) -> JSONResponse:
    return JSONResponse({"reason": reason}, status)
