"""What stands between the network and the API: the key, other websites, slow and large bodies, headers of answers."""

import asyncio
from base64 import b64decode
from collections.abc import Mapping
from hashlib import sha256
from hmac import compare_digest

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glassformer.errors import brief
from glassformer.serving.limits import CLOSED

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
    b"content-security-policy": CONTENT_SECURITY_POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",  # without it, the origin of a form would be null
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",  # answers may hold private texts
}
# A browser asks for the key once, and then sends it with every request of the page.
_ASK_FOR_KEY = {"www-authenticate": 'Basic realm="any user name, and the API key as the password", charset="UTF-8"'}
WITHOUT_KEY = ("/health", "/ready", "/v2/health/live", "/v2/health/ready")  # for what watches over the server


class Guard:
    """ASGI middleware: refuses requests without the key (401), those of other websites (403), and bodies that are too
    slow (408), too large (413) or not whole (499).

    A page of another website that a person visits can send requests to a server on this machine. It cannot read the
    answers, but it could keep the model busy.

    Args:
        larger: the most bytes of a body by path. Elsewhere it is `most_bytes`.
        seconds: the longest time in which a body may arrive.
        api_key: the key that requests need, as a bearer token or as the password of basic authentication.
    """

    def __init__(
        self, app: ASGIApp, *, most_bytes: int, larger: Mapping[str, int], seconds: float, api_key: str | None = None
    ) -> None:
        self.app = app
        self.most_bytes = most_bytes
        self.larger = larger
        self.seconds = seconds
        self.digest = None if api_key is None else sha256(api_key.encode()).digest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = dict(message["headers"])
                message["headers"] = [*message["headers"], *(each for each in _HEADERS.items() if each[0] not in given)]
            await send(message)

        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers.get("host"):
            reason = f"requests from {brief(origin)} are not answered, only those of this server's own page"
            await refusal(scope["path"], 403, reason)(scope, receive, send_with_headers)
            return
        if not (scope["path"] in WITHOUT_KEY or self._has_key(headers.get("authorization", ""))):
            reason = "this server asks for a key; send it in the header `Authorization: Bearer KEY`"
            await refusal(scope["path"], 401, reason, _ASK_FOR_KEY)(scope, receive, send_with_headers)
            return
        most = self.larger.get(scope["path"], self.most_bytes)
        length = (headers.get("content-length") or "").lstrip("0")  # thousands of zeros are no number to Python
        if int(length or 0) > most:
            await refusal(scope["path"], 413, _too_large(most))(scope, receive, send_with_headers)
            return
        if scope["method"] not in ("GET", "HEAD"):  # their bodies are not read, and files wait for a client that leaves
            receive = self._counted(receive, most)
        await self.app(scope, receive, send_with_headers)

    def _has_key(self, authorization: str) -> bool:
        """Whether the header holds the key. How long this takes says nothing about the key."""
        return self.digest is None or compare_digest(sha256(_sent_key(authorization)).digest(), self.digest)

    def _counted(self, receive: Receive, most: int) -> Receive:
        """Return the same body, with an error as soon as it is too large or too slow.

        Its length may not be known before.
        """
        total, complete = 0, False
        deadline = asyncio.get_running_loop().time() + self.seconds

        async def counted() -> Message:
            nonlocal total, complete
            if complete:  # what comes now is the end of the connection
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                reason = f"the body of the request did not arrive within {self.seconds:g} seconds"
                raise HTTPException(408, reason, {"connection": "close"}) from None
            if message["type"] == "http.disconnect":
                raise HTTPException(CLOSED, "the connection was closed")
            complete = not message.get("more_body", False)
            total += len(message.get("body", b""))
            if total > most:
                raise HTTPException(413, _too_large(most))
            return message

        return counted


def _sent_key(authorization: str) -> bytes:
    """Return the key in a header, or nothing."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip().encode("latin-1")  # as headers are decoded
    if scheme.lower() == "basic":
        try:
            return b64decode(value).partition(b":")[2]  # any user name will do
        except ValueError:  # binascii.Error, or letters beyond ASCII
            return b""
    return b""


def bug_in_words(error: Exception) -> str:
    """Return a reason that holds no text."""
    return f"a bug of glassformer: {type(error).__name__}; the terminal of the server shows more"


def _too_large(most: int) -> str:
    return f"the request is larger than {most:,} bytes; send less at once"


def refusal(path: str, status: int, reason: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return the answer to a request that is refused. The Open Inference Protocol has its own key for the reason."""
    key = "error" if f"{path}/".startswith("/v2/") else "reason"
    sendable = reason.encode(errors="backslashreplace").decode()  # a key may hold half of a surrogate pair
    return JSONResponse({key: sendable}, status, headers)
