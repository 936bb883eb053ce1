"""The routes that look further into an answer: what would turn it, and what its attention heads do."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import FastAPI, Request

from glassformer.explanation.counterfactual import step_of
from glassformer.serving import inside_shapes as shapes
from glassformer.serving.limits import RefusedError
from glassformer.serving.service import CLOSED, REFUSALS, Service, asked_about, client_of, unless_closed


def add_inside(app: FastAPI, service: Service) -> None:
    """Add the routes."""

    @app.post(
        "/counterfactual", responses=REFUSALS, response_model=shapes.Counterfactual, response_model_exclude_unset=True
    )
    async def counterfactual(request: Request, body: shapes.CounterfactualRequest) -> dict[str, Any]:
        """Search for the smallest change of words that turns the answer. Other requests are answered meanwhile."""
        model, text = asked_about(service, request, body.model, body.text)
        steps = model.counterfactual(text, label=body.label, above=body.above, below=body.below)
        found = await service.worker.do(partial(step_of, steps), client=client_of(request))
        while found is None:
            if await request.is_disconnected():
                raise RefusedError(CLOSED, "the connection was closed during the search")
            found = await service.worker.go_on(partial(step_of, steps))
        return {"model": model.name} | found.as_json()

    @app.post("/heads", responses=REFUSALS, response_model=shapes.Heads, response_model_exclude_unset=True)
    async def heads(request: Request, body: shapes.InsideRequest) -> dict[str, Any]:
        """Say what each attention head adds to an answer, and which words it looks at."""
        model, text = asked_about(service, request, body.model, body.text)
        found = await unless_closed(
            request, service.worker.do(lambda: model.heads(text, label=body.label), client=client_of(request))
        )
        return {"model": model.name} | found

    @app.post("/attention", responses=REFUSALS, response_model=shapes.Attention)
    async def attention(request: Request, body: shapes.AttentionRequest) -> dict[str, Any]:
        """Say how much attention each word gets from the asked word, by each head."""
        model, text = asked_about(service, request, body.model, body.text)
        found = await unless_closed(
            request, service.worker.do(lambda: model.attention(text, word=body.word), client=client_of(request))
        )
        return {"model": model.name} | found
