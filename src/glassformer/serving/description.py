"""What the OpenAPI description says of the guard: the key that requests need, and refusals that any route gives."""

from typing import Any

from fastapi import FastAPI

from glassformer.serving.guard import WITHOUT_KEY
from glassformer.serving.service import ERRORS, REFUSALS

_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "The API key."},
    "basic": {"type": "http", "scheme": "basic", "description": "Any user name, and the API key as the password."},
}


def describe_guard(app: FastAPI, *, needs_key: bool) -> None:
    """Let the description of an application say what its guard asks for and refuses."""
    of_routes = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is not None:
            return app.openapi_schema
        description = of_routes()
        for path, methods in description["paths"].items():
            refusals = ERRORS if f"{path}/".startswith("/v2/") else REFUSALS
            asks = needs_key and path not in WITHOUT_KEY
            for operation in methods.values():
                for status in ("401", "403") if asks else ("403",):
                    operation["responses"].setdefault(status, refusals[int(status)])
                if asks:
                    operation["security"] = [{name: []} for name in _SCHEMES]
        if needs_key:
            description["components"]["securitySchemes"] = _SCHEMES
        return description

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's documentation has it
