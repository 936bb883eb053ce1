"""The files of the desk's page."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

_PAGE = Path(__file__).parent / "page"


def add_desk_page(app: FastAPI, start: str) -> None:
    """Add the page at `start`, and its files below `/desk/page`. What all pages share lies below `/page`."""

    async def index(_: object) -> FileResponse:
        return FileResponse(_PAGE / "index.html")

    app.router.routes += [Route(start, index), Mount("/desk/page", StaticFiles(directory=_PAGE))]
