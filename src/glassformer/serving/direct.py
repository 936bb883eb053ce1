"""A route that is asked much is answered behind our own middleware alone, without what FastAPI does beside it."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

_JSON = "application/json"
UNREADABLE = "There was an error parsing the body"  # fastapi's words for bytes that are not UTF-8, or nested too deep
Endpoint = Callable[[Request, Any], Awaitable[dict[str, Any]]]


def answer_directly(api: FastAPI, endpoint: Endpoint, *, asked: type[BaseModel], answered: type[BaseModel]) -> None:
    """Answer a route of `api` behind its own middleware alone. FastAPI still describes the route.

    Its middleware and the search for the route, for dependencies, forms and streams take as long as all else that the
    event loop does for a request.

    Args:
        endpoint: what answers the route. It is given the request and its body.
        asked: the body of a request.
        answered: the body of an answer. What `endpoint` leaves out is left out.
    """
    (route,) = (each for each in api.routes if isinstance(each, APIRoute) and each.endpoint is endpoint)

    async def direct(scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = route  # by which the request is counted
        request = Request(scope, receive, send)
        try:
            found = await endpoint(request, _checked(asked, await _document(request)))
            answer = Response(answered.model_validate(found).model_dump_json(exclude_unset=True), media_type=_JSON)
        except Exception as error:
            kind = next(kind for kind in type(error).__mro__ if kind in {*api.exception_handlers, Exception})
            refuse: Any = api.exception_handlers[kind]
            await (await refuse(request, error))(scope, receive, send)
            if kind is Exception:
                raise  # a bug, which the terminal of the server shows
        else:
            await answer(scope, receive, send)

    build = api.build_middleware_stack

    def built() -> ASGIApp:
        """Return the application, once all middleware is known."""
        rest = build()
        first: ASGIApp = direct
        for middleware in reversed(api.user_middleware):
            first = middleware.cls(first, *middleware.args, **middleware.kwargs)

        async def both(scope: Scope, receive: Receive, send: Send) -> None:
            asks = scope["type"] == "http" and (scope["path"], scope["method"]) == (route.path, "POST")
            await (first if asks else rest)(scope, receive, send)

        return both

    api.build_middleware_stack = built  # type: ignore[method-assign]


async def _document(request: Request) -> Any:
    """Return the JSON of a body; or its bytes, which no route takes, if it is not called JSON.

    Raises:
        RequestValidationError: it is not JSON.
        HTTPException: it cannot be read.
    """
    try:
        body = await request.body()
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        named_json = kind == _JSON or (kind.startswith("application/") and kind.endswith("+json"))
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
