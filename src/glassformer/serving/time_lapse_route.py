"""The route of the page with the snapshots that training took. It is opened by a link, in a tab of its own."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Query
from fastapi.responses import FileResponse, HTMLResponse

from glassformer.serving.guard import OWN_PAGE
from glassformer.serving.limits import RefusedError
from glassformer.serving.served_model import named
from glassformer.serving.service import REFUSAL, REFUSALS, Service

_RESPONSES = REFUSALS | {404: {"content": REFUSAL, "description": "Training took no snapshots."}}


def add_time_lapses(app: FastAPI, service: Service) -> None:
    """Add the route."""

    @app.get("/time-lapse", response_class=HTMLResponse, responses=_RESPONSES)
    async def time_lapse(
        model: Annotated[str | None, Query(description="The name of the model. Default: the first one.")] = None,
    ) -> FileResponse:
        """Return a page that shows the transformer while it learned."""
        asked = named(service.models, model)
        if asked.time_lapse is None:
            raise RefusedError(404, f"the model {asked.name} has no snapshots; train it again with `snapshots=`")
        return FileResponse(asked.time_lapse, media_type="text/html", headers=OWN_PAGE)
