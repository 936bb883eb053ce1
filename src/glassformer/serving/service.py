"""What all routes share."""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request

from glassformer.serving.drift import Drift
from glassformer.serving.limits import CLOSED, Limits, RefusedError
from glassformer.serving.served_model import ServedModel, named
from glassformer.serving.watching import note
from glassformer.serving.worker import Worker

Result = TypeVar("Result")

_A_MOMENT = 0.25  # seconds
_REASONS = {
    400: "The body cannot be read.",
    401: "The server asks for a key, and the request has none or another one.",
    403: "The request comes from another website.",
    404: "There is no such model.",
    408: "The body of the request arrived too slowly.",
    413: "The request is too large.",
    422: "The request cannot be understood, or a text is too long.",
    429: "Too many requests wait. `Retry-After` says when to try again.",
    503: "The request has waited for too long.",
}
REFUSAL = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}
"""The body of a refusal, also of a route that answers with something else than JSON."""
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": said, "content": REFUSAL} for status, said in _REASONS.items()
}
_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
ERRORS = {status: said | {"content": {"application/json": {"schema": _ERROR}}} for status, said in REFUSALS.items()}
"""The refusals of the Open Inference Protocol."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """The models by name, the limits on requests, the thread that asks the models, and their last answers.

    A model may be replaced at any time: see `Reloader`.
    """

    models: Mapping[str, ServedModel]
    limits: Limits
    worker: Worker
    drift: Drift


def client_of(request: Request) -> str | None:
    """Return the address that a request comes from."""
    return request.client and request.client.host


def asked_about(service: Service, request: Request, model: str | None, row: Any) -> tuple[ServedModel, str]:
    """Return the model that a request is for, and what it reads of the row that it is to look into."""
    found = named(service.models, model)
    text = found.read(row)
    service.limits.check_explained(text)
    note(request, found.name, [text])
    return found, text


async def unless_closed(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Wait for work. If the client closes the connection meanwhile, cancel it: nobody reads the answer any more.

    Whether it has closed is looked at after a moment: it takes a task, and most answers come before.
    """
    task, leaving = asyncio.current_task(), list[asyncio.Task[None]]()
    assert task is not None

    async def closed() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        task.cancel()

    look = asyncio.get_running_loop().call_later(_A_MOMENT, lambda: leaving.append(asyncio.ensure_future(closed())))
    try:
        return await work
    except asyncio.CancelledError:
        if any(each.done() for each in leaving):
            task.uncancel()
            raise RefusedError(CLOSED, "the connection was closed") from None
        raise
    finally:
        look.cancel()
        for each in leaving:
            each.cancel()
