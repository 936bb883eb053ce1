"""The pages that open in a tab of their own: every number of an answer, and the snapshots that training took."""

from functools import partial
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Query, Request
from fastapi.responses import FileResponse, HTMLResponse
from markupsafe import Markup

from glassformer.errors import UsageError
from glassformer.pages.html import rendered
from glassformer.serving.guard import OWN_PAGE
from glassformer.serving.limits import RefusedError
from glassformer.serving.served_model import ServedModel, named
from glassformer.serving.service import REFUSAL, REFUSALS, Service, client_of, unless_closed
from glassformer.serving.watching import note

_REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"description": said["description"], "content": {"text/html": {}} | REFUSAL}
    for status, said in REFUSALS.items()
}
_NO_LAPSE = REFUSALS | {
    404: {"content": REFUSAL, "description": "There is no such model, or its training took no snapshots."}
}
_FORM = {"application/x-www-form-urlencoded": {"example": "text=not+at+all+bad&model=reviews"}}


def add_tabs(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    description: dict[str, Any] = {"requestBody": {"required": True, "content": _FORM}}

    @app.post("/trace", response_class=HTMLResponse, responses=_REFUSED, openapi_extra=description)
    async def trace(request: Request) -> HTMLResponse:
        """Return a page with every number between a text and its answer."""
        try:
            form = parse_qs((await request.body()).decode(errors="replace"), keep_blank_values=True)
            text = form.get("text", [""])[0].replace("\r\n", "\n")  # forms send line breaks in this way
            model = named(service.models, form.get("model", [None])[0])
            inputs = model.predictor.trained.config.inputs
            text = model.read(text if inputs is None else inputs.read(text))  # a row comes as JSON
            service.limits.check_explained(text)
            note(request, model.name, [text])
            found = await unless_closed(
                request, service.worker.do(partial(_traced, model, text), client=client_of(request))
            )
            return HTMLResponse(found, headers=OWN_PAGE)
        except (RefusedError, UsageError) as error:
            status = error.status if isinstance(error, RefusedError) else 422
            return HTMLResponse(_refusal(request.app.state.in_words(error.message)), status, headers=OWN_PAGE)

    @app.get("/time-lapse", response_class=HTMLResponse, responses=_NO_LAPSE)
    async def time_lapse(
        model: Annotated[str | None, Query(description="The name of the model. Default: the first one.")] = None,
    ) -> FileResponse:
        """Return a page that shows the transformer while it learned."""
        asked = named(service.models, model)
        if asked.time_lapse is None:
            raise RefusedError(404, f"the model {asked.name} has no snapshots; train it again with `snapshots=`")
        return FileResponse(asked.time_lapse, media_type="text/html", headers=OWN_PAGE)


def _traced(model: ServedModel, text: str) -> str:
    predictor = model.whole
    from glassformer.tracing.trace import trace as trace_text
    from glassformer.tracing.writing import render

    return render(trace_text(predictor, text))


def _refusal(reason: str) -> str:
    return rendered("pages/page", title="There is no trace", kind="trace", headline=Markup("<p>{}</p>").format(reason))
