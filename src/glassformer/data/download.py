"""Download a file by https, and show how far it is."""

from __future__ import annotations

import base64
import http.client
import string
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO
from urllib.parse import quote, urlsplit, urlunsplit

from glassformer.errors import GlassformerError

CHUNK = 2**18  # bytes
_AS_WRITTEN = string.punctuation  # an address may be written with other letters and spaces, and sent without
_LOCAL = ("localhost", "127.0.0.1", "::1")

Progress = Callable[[int, int | None], None]


def fetch(url: str, target: Path, progress: Progress, *, otherwise: str, login: tuple[str, str] | None = None) -> None:
    """Download `url` to `target`. Messages leave out its query, which may be secret.

    Args:
        progress: called with the bytes so far and the bytes in total (None if the server does not announce them).
        login: a user and a password, which are sent to this server alone.

    Raises:
        GlassformerError: the server cannot be reached, refuses, stops early, or sends elsewhere by http.
    """
    parts = urlsplit(url)
    shown = urlunsplit(parts._replace(query=""))
    plain = parts._replace(path=quote(parts.path, _AS_WRITTEN), query=quote(parts.query, _AS_WRITTEN))
    request = urllib.request.Request(urlunsplit(plain), headers={"User-Agent": "glassformer"})
    if login is not None:
        basic = base64.b64encode(":".join(login).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {basic}")
    try:
        with urllib.request.build_opener(_Redirect).open(request, timeout=60) as answer, target.open("wb") as file:
            announced = answer.headers.get("Content-Length")
            save(iter(partial(answer.read, CHUNK), b""), file, int(announced) if announced else None, progress)
    except (OSError, http.client.HTTPException) as error:
        target.unlink(missing_ok=True)
        raise GlassformerError(f"{shown} could not be downloaded: {error}. {otherwise}") from error


def save(chunks: Iterable[bytes], file: BinaryIO, total: int | None, progress: Progress) -> None:
    """Write chunks as they arrive. Raises `OSError` if there are not as many bytes as were announced, if any were."""
    done = 0
    for chunk in chunks:
        file.write(chunk)
        done += len(chunk)
        progress(done, total)
    if total is not None and done != total:
        raise OSError(f"the connection ended after {done:,} of {total:,} bytes")


def is_safe(url: str) -> bool:
    """Whether nobody between here and the server can read or change what is sent."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL)


class _Redirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect from https to http."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if not is_safe(newurl):
            raise urllib.error.URLError(f"the server sends to {urlsplit(newurl).scheme}://, which is not safe")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
