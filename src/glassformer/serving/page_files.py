"""The files of the page: HTML, style sheets and ES modules, as they are in the source."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import glassformer.pages

_PAGE = Path(__file__).parent / "page"
_SHARED = Path(glassformer.pages.__file__).parent


def add_page(app: FastAPI) -> None:
    """Add the page at `/`, and its files below `/page`."""

    async def index(_: object) -> FileResponse:
        return FileResponse(_PAGE / "index.html")

    async def shared_style(_: object) -> FileResponse:
        return FileResponse(_SHARED / "page.css")

    app.router.routes += [
        Route("/", index),
        Route("/page/page.css", shared_style),
        Mount("/page", StaticFiles(directory=_PAGE)),
    ]
