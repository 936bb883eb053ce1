"""The application of the desk: that of `serve` for the model of the last round, and routes of its own below `/desk`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import FileResponse, JSONResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from glassformer.data.files import is_no_room
from glassformer.data.parts import PartError
from glassformer.desk.labelling_routes import add_labelling, add_looking
from glassformer.desk.measuring import asked_of
from glassformer.desk.project import Project
from glassformer.desk.project_routes import TABLE_PATH, Asked, add_opening, add_project, add_rounds
from glassformer.desk.rounds import Command, Rounds
from glassformer.desk.store import GoneError
from glassformer.desk.tickets import Tickets
from glassformer.prediction.answering import Answering
from glassformer.prediction.load_answering import load_answering
from glassformer.serving.api import create_app
from glassformer.serving.limits import Limits
from glassformer.serving.served_model import ServedModel, version_of

START = "/desk"
_DEVICE = "cpu"
_MOST_BYTES = 200_000_000  # of a table that is dropped on the page


@dataclass(frozen=True, kw_only=True)
class Desk:
    """A desk that can answer requests. `models` holds that of the last round, if there is one."""

    app: Tickets
    rounds: Rounds
    models: MutableMapping[str, ServedModel]


def create_desk(
    project: Project,
    command: Command,
    *,
    hosts: Sequence[str] = ("*",),
    in_words: Callable[[str], str] = str,
    on_used: Callable[[str], None] = lambda _: None,
) -> Desk:
    """Return the desk of a project. The model of the last round answers at once, if there is one.

    Args:
        command: see `Rounds`.
        hosts, in_words: see `create_app`.
        on_used: see `Tickets`.
    """
    app = create_app({}, limits=Limits(table_bytes=_MOST_BYTES), hosts=hosts, in_words=in_words, large=(TABLE_PATH,))
    models: MutableMapping[str, ServedModel] = app.state.models

    def on_model(predictor: Answering, folder: Path) -> None:
        with project.store.change():  # nothing else is chosen meanwhile
            asked, version = asked_of(project.store.facts, predictor), version_of(folder)
            models["desk"] = ServedModel(
                name="desk", folder=folder, predictor=predictor, version=version, device=_DEVICE, asked=asked
            )

    rounds = Rounds(project=project, on_model=on_model, command=command)
    if (folder := rounds.take_up()) is not None:
        on_model(load_answering(folder, device=_DEVICE), folder)
    for add in (add_opening, add_project, add_rounds):
        add(app, Asked(project, rounds, models, in_words))
    add_labelling(app, project, rounds)
    add_looking(app, project.store)
    add_desk_page(app, START)
    app.add_exception_handler(PartError, _of_several)
    app.add_exception_handler(sqlite3.DatabaseError, _not_kept)
    app.add_exception_handler(OSError, _not_kept)
    app.add_exception_handler(OverflowError, _no_number)
    # All desks of a machine share their cookies, whatever their ports.
    cookie = f"desk-{sha256(str(project.folder.resolve()).encode()).hexdigest()[:12]}"
    return Desk(app=Tickets(app, start=START, name=cookie, on_used=on_used), rounds=rounds, models=models)


async def _of_several(_: Request, error: Exception) -> JSONResponse:
    """Refuse a file of several tables with their names, so that the page can ask for one."""
    assert isinstance(error, PartError)
    return JSONResponse({"reason": error.message, "parts": dict(error.parts)}, 422)


async def _no_number(_: Request, __: Exception) -> JSONResponse:
    """Refuse a number that the file of a project cannot hold."""
    return JSONResponse({"reason": "there is no text of so large a number in this project"}, 422)


async def _not_kept(_: Request, error: Exception) -> JSONResponse:
    """Say that a change is not on the disk. Nothing of it is."""
    why = getattr(error, "strerror", None) or error
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the other bits say more
    if isinstance(error, (sqlite3.IntegrityError, sqlite3.ProgrammingError)):  # a bug
        raise error
    if isinstance(error, GoneError):
        return JSONResponse({"reason": f"nothing was kept: {why}"}, 500)
    if code == sqlite3.SQLITE_BUSY:
        busy = "another program holds the labels of the project; close them there, and try again"
        return JSONResponse({"reason": f"nothing was kept: {busy}"}, 503)
    no_disk = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_READONLY)  # most of what is due to a full disk is another one
    if is_no_room(error) or (isinstance(error, sqlite3.OperationalError) and code not in no_disk):
        return JSONResponse({"reason": f"nothing was kept: {why}; free some space, and try again"}, 507)
    return JSONResponse({"reason": f"a file of the project cannot be read or written: {why}"}, 500)


_PAGE = Path(__file__).parent / "page"


def add_desk_page(app: FastAPI, start: str) -> None:
    """Add the page at `start`, and its files below `/desk/page`. What all pages share lies below `/page`."""

    async def index(_: object) -> FileResponse:
        return FileResponse(_PAGE / "index.html")

    app.router.routes += [Route(start, index), Mount("/desk/page", StaticFiles(directory=_PAGE))]
