"""The application: routes for requests, and the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from glassformer import __version__
from glassformer.errors import GlassformerError, UsageError, brief
from glassformer.serving.description import describe_guard
from glassformer.serving.direct import UNREADABLE
from glassformer.serving.drift import Drift, add_drift
from glassformer.serving.feedback import FeedbackFile, add_feedback
from glassformer.serving.guard import Guard, bug_in_words, refusal
from glassformer.serving.limits import Limits, RefusedError
from glassformer.serving.open_inference import add_open_inference
from glassformer.serving.page_files import add_page
from glassformer.serving.reloading import Reloader
from glassformer.serving.served_model import ServedModel
from glassformer.serving.service import Service
from glassformer.serving.shapes import (
    About,
    Ready,
    Refusal,
    Status,
)
from glassformer.serving.tab_routes import add_tabs
from glassformer.serving.text_routes import add_texts
from glassformer.serving.watching import Log, Metrics, Watch, add_metrics
from glassformer.serving.worker import Batch, Worker

if TYPE_CHECKING:
    from glassformer.serving.telemetry import Telemetry  # an extra

# FastAPI's own quotes what is refused, and asks for its settings with every request.
_NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def create_app(
    models: Mapping[str, ServedModel],
    *,
    limits: Limits | None = None,
    hosts: Sequence[str] = ("*",),
    api_key: str | None = None,
    log: Log | None = None,
    tell: Callable[[str], None] = lambda _: None,
    in_words: Callable[[str], str] = str,
    feedback: FeedbackFile | None = None,
    large: Sequence[str] = (),
    telemetry: Telemetry | None = None,
) -> FastAPI:
    """Return the application.

    Args:
        hosts: the names by which the server may be addressed. Names of this machine alone keep out a website whose name
            was made to point here (DNS rebinding).
        api_key: the key that requests need. By default they need none.
        log: is given a record of each request, without its texts.
        tell: is told in a sentence if a model was read again, since its folder has changed.
        in_words: turns the reason of a refusal into the words of its reader, where it names a setting of the library.
        feedback: keeps what is sent to `/feedback`. By default nothing is kept.
        large: the paths, beside `/table`, whose bodies may be as large as a table.

    The models stand in `app.state.models`, where others may take their place.
    """
    limits = limits or Limits()
    metrics = Metrics()
    reloader = Reloader(models=dict(models), tell=tell)

    def count(batch: Batch) -> None:
        metrics.count_batch(batch)
        if telemetry is not None:
            telemetry.count_batch(batch)

    worker, drift = Worker(limits, on_batch=count), Drift(reloader.models)
    worker.begin(models.values())
    service = Service(models=reloader.models, limits=limits, worker=worker, drift=drift)
    metrics.registry.register(drift)
    metrics.waiting.set_function(lambda: service.worker.waiting)
    if telemetry is not None:
        telemetry.show_waiting(lambda: service.worker.waiting)

    app = _without_routes(reloader, worker)
    app.state.in_words, app.state.models = in_words, reloader.models
    app.add_middleware(
        Guard,
        most_bytes=limits.body_bytes,
        larger=dict.fromkeys(("/table", *large), limits.table_bytes),
        seconds=limits.body_seconds,
        api_key=api_key,
    )
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    app.add_middleware(Watch, metrics=metrics, log=log, telemetry=telemetry)
    _add_routes(app, service, reloader, feedback)
    add_metrics(app, metrics)
    describe_guard(app, needs_key=api_key is not None)
    return app


def _without_routes(reloader: Reloader, worker: Worker) -> FastAPI:
    """Return an application that reads changed models again while it runs, and refuses in sentences."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(reloader.watch())
        yield
        watching.cancel()
        worker.stop()

    app = FastAPI(
        title="glassformer",
        summary="Answers of text classifiers, and the reasons for them.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        telemetry=_NO_TELEMETRY,
    )
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(GlassformerError, _failed)
    app.add_exception_handler(Exception, _broken)
    return app


def _add_routes(app: FastAPI, service: Service, reloader: Reloader, feedback: FeedbackFile | None) -> None:
    """Add all routes but `/metrics`."""
    add_texts(app, service)
    if tables := find_spec("torch") is not None:  # glassformer-light leaves out what reads and measures tables
        from glassformer.serving.table_route import add_tables

        add_tables(app, service)
    add_tabs(app, service)
    add_open_inference(app, service)
    _add_server(app, service, reloader, {"tables": tables, "feedback": feedback is not None})
    add_feedback(app, service, feedback)
    add_drift(app, service.drift, service.models)
    add_page(app)


def _add_server(app: FastAPI, service: Service, reloader: Reloader, has: Mapping[str, bool]) -> None:
    """Add the routes about the models and the server."""

    @app.get("/model", response_model=About)
    async def model() -> dict[str, Any]:
        """Describe the models and the limits."""
        about = await run_in_threadpool(lambda: [model.about() for model in list(service.models.values())])
        models = [model | {"not_reloaded": reloader.failed.get(model["name"])} for model in about]
        return {"models": models, "limits": asdict(service.limits), **has, "version": __version__}

    @app.get("/health", response_model=Status)
    async def health() -> dict[str, str]:
        """Say that the server runs."""
        return {"status": "ok"}

    @app.get("/ready", response_model=Ready, responses={503: {"model": Refusal, "description": "Busy."}})
    async def ready() -> dict[str, Any]:
        """Say whether a request would be answered now, and which models could not be read again."""
        service.worker.refuse_if_full(503)
        return {"status": "ready", "not_reloaded": list(reloader.failed)}


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    """Say in a sentence what is wrong with the body. What it holds is not repeated: it may not be valid Unicode."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    if first["type"] == "json_invalid":
        return _reason(request, 422, f"the body is not JSON: {first['ctx']['error']} (character {first['loc'][1]})")
    if first["type"] == "unknown_key":
        return _reason(request, 422, first["msg"])
    if first["type"] == "missing" and where:
        return _reason(request, 422, f"`{where}` is missing")
    if not where:
        return _reason(request, 422, "send a JSON object, with the header Content-Type: application/json")
    return _reason(request, 422, f"`{where}`: {first['msg']}")


async def _refused(request: Request, error: Exception) -> JSONResponse:
    """Pass on a reason. Those of the framework are no sentences: `Not Found`, `Method Not Allowed`."""
    assert isinstance(error, HTTPException)
    asked, known = brief(request.scope["path"]), "GET /openapi.json lists the requests"
    said = {
        404: f"there is no {asked} here; {known}",
        405: f"{asked} is not asked with {brief(request.method)}; {known}",
    }
    if error.detail == UNREADABLE:
        said[400] = 'the body cannot be read; send a JSON object in UTF-8, such as {"text": "not at all bad"}'
    answer = _reason(request, error.status_code, said.get(error.status_code, error.detail))
    answer.headers.update(error.headers or {})  # 405 comes with the methods that are allowed
    return answer


async def _failed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, GlassformerError)
    reason = request.app.state.in_words(error.message)
    if isinstance(error, RefusedError):
        return _reason(request, error.status, reason, error.retry_after)
    return _reason(request, 422 if isinstance(error, UsageError) else 500, reason)


async def _broken(request: Request, error: Exception) -> JSONResponse:
    return _reason(request, 500, bug_in_words(error))


def _reason(request: Request, status: int, reason: str, retry_after: int | None = None) -> JSONResponse:
    headers = None if retry_after is None else {"retry-after": str(retry_after)}
    return refusal(request.scope["path"], status, reason, headers)
