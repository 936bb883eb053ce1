"""Who may use the desk: whoever opens the address that the terminal shows. The address works once."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send


class Tickets:
    """ASGI middleware: gives the browser that brings the ticket a cookie, and refuses requests without it (403).

    Other users of this machine can reach the address of the desk too. The ticket stands in the opened address, where a
    history keeps it, so it works once; the cookie stays with the browser.

    Args:
        on_used: is called with the query of a new address when a used ticket is brought again.
    """

    def __init__(self, app: ASGIApp, *, start: str, name: str, on_used: Callable[[str], None]) -> None:
        self.app = app
        self.start = start
        self.name = name
        self.on_used = on_used
        self._session = secrets.token_urlsafe(32)
        self._ticket, self._used = secrets.token_urlsafe(16), set[str]()

    @property
    def query(self) -> str:
        """The query of the address to open. It works once."""
        return f"?ticket={self._ticket}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        brought = parse_qs(scope["query_string"].decode("latin-1")).get("ticket", [""])[0]
        if self._has_cookie(Headers(scope=scope).get("cookie", "")):
            here = RedirectResponse(self.start, 303)
            await (here if brought else self.app)(scope, receive, send)
            return
        await self._answer_to(brought)(scope, receive, send)

    def _answer_to(self, brought: str) -> Response:
        if secrets.compare_digest(brought.encode(), self._ticket.encode()):
            self._used.add(self._ticket)
            self._ticket = secrets.token_urlsafe(16)
            answer = RedirectResponse(self.start, 303)
            answer.set_cookie(self.name, self._session, httponly=True, samesite="strict")  # until the browser is closed
            return answer
        if brought in self._used:
            self.on_used(self.query)
            return PlainTextResponse("This address was opened already. The terminal of the desk shows a new one.", 403)
        return PlainTextResponse("Open the address that the terminal of the desk shows.", 403)

    def _has_cookie(self, header: str) -> bool:
        try:
            found = SimpleCookie(header).get(self.name)
        except CookieError:
            return False
        return found is not None and secrets.compare_digest(found.value.encode(), self._session.encode())
