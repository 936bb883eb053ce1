"""A route that is asked much: its body is read and its answer is written without what FastAPI does beside that."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

UNREADABLE = "There was an error parsing the body"  # fastapi's words for bytes that are not UTF-8, or nested too deep
Endpoint = Callable[[Request, Any], Awaitable[dict[str, Any]]]


def answer_directly(app: FastAPI, endpoint: Endpoint, *, asked: type[BaseModel], answered: type[BaseModel]) -> None:
    """Let a route of `app` do without the dependencies of FastAPI, which still describes it.

    Searching for dependencies, forms and streams that the route does not have takes as long as all else that the event
    loop does for a request.

    Args:
        endpoint: what answers the route. It is given the request and its body.
        asked: the body of a request.
        answered: the body of an answer. What `endpoint` leaves out is left out.
    """

    async def direct(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        found = await endpoint(request, _checked(asked, await _document(request)))
        content = answered.model_validate(found).model_dump_json(exclude_unset=True)
        await Response(content, media_type="application/json")(scope, receive, send)

    (route,) = (each for each in app.routes if isinstance(each, APIRoute) and each.endpoint is endpoint)
    route.app = direct


async def _document(request: Request) -> Any:
    """Return the JSON of a body; or its bytes, which no route takes, if it is not called JSON.

    Raises:
        RequestValidationError: it is not JSON.
        HTTPException: it cannot be read.
    """
    try:
        body = await request.body()
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        named_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
        return json.loads(body) if body and named_json else body
    except json.JSONDecodeError as error:
        about = {"type": "json_invalid", "loc": ("body", error.pos), "ctx": {"error": error.msg}}
        raise RequestValidationError([about]) from error
    except HTTPException:  # it was too large or too slow
        raise
    except Exception as error:
        raise HTTPException(400, UNREADABLE) from error


def _checked(asked: type[BaseModel], document: Any) -> BaseModel:
    try:
        return asked.model_validate(document)
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise RequestValidationError([each | {"loc": ("body", *each["loc"])} for each in found]) from error
