"""The files of the page: HTML, style sheets and ES modules, as they are in the source."""

from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import glassformer.pages

_PAGE = Path(__file__).parent / "page"
_SHARED = Path(glassformer.pages.__file__).parent
_SHARED_FILES = (
    "icon.svg", "page.css", "answer.css", "elements.js", "dom.js", "answer.js", "readers.js", "marked.js", "roving.js",
    "edits.js", "editor.js", "field.js", "fields.js", "words.js", "latest.js", "column.js", "desk.js",
)  # fmt: skip


def add_page(app: FastAPI) -> None:
    """Add the page at `/`, and its files below `/page`."""

    async def index(_: object) -> FileResponse:
        return FileResponse(_PAGE / "index.html")

    async def shared(request: Request) -> FileResponse:
        return FileResponse(_SHARED / Path(request.url.path).name)

    app.router.routes += [
        Route("/", index),
        *(Route(f"/page/{name}", shared) for name in _SHARED_FILES),
        Mount("/page", StaticFiles(directory=_PAGE)),
    ]
