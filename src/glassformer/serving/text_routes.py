"""The routes that take texts: their answers, and the reasons for one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import FastAPI, Request

from glassformer.errors import UsageError
from glassformer.serving.served_model import ServedModel, named
from glassformer.serving.service import REFUSALS, Service, asked_about, client_of, unless_closed
from glassformer.serving.shapes import ExplainRequest, Prediction, PredictRequest, Reasons
from glassformer.serving.watching import note


def add_texts(app: FastAPI, service: Service) -> None:
    """Add the routes."""

    @app.post("/predict", responses=REFUSALS, response_model=Prediction, response_model_exclude_unset=True)
    async def predict(request: Request, body: PredictRequest) -> dict[str, Any]:
        """Answer one text or several."""
        if (body.text is None) == (body.texts is None):
            raise UsageError("give `text` or `texts`, and not both")
        texts = [body.text] if body.texts is None else body.texts
        model = named(service.models, body.model)
        if body.review_below is not None and "confidence" not in model.target.columns:
            raise UsageError(f"`review_below`: the answers of {model.name} have no confidence; leave it out")
        asked = [model.read(text) for text in texts if text is not None]
        service.limits.check_texts(asked)
        if body.explain:
            service.limits.check_all_explained(asked)
        note(request, model.name, asked)
        answers = await unless_closed(request, _answered(service, model, asked, body))
        if "sec-fetch-site" not in request.headers:  # of a browser: the page asks about half of a text too
            service.drift.add(model, answers)
        return {"model": model.name, "answers": [{"readers": None} | answer for answer in answers]}

    @app.post("/explain", responses=REFUSALS, response_model=Reasons, response_model_exclude_unset=True)
    async def explain(request: Request, body: ExplainRequest) -> dict[str, Any]:
        """Say what each word adds to an answer, and whether this explanation can be trusted."""
        model, text = asked_about(service, request, body.model, body.text)
        explained = partial(model.explanation, text, label=body.label, method=body.method, nearest=body.nearest)
        return {"model": model.name} | await unless_closed(
            request, service.worker.do(explained, client=client_of(request))
        )


async def _answered(
    service: Service, model: ServedModel, texts: Sequence[str], body: PredictRequest
) -> list[dict[str, Any]]:
    """Answer texts, and add what the request asks for. Other requests are answered between two explanations."""
    answers = await service.worker.answer(model, texts)
    if (least := body.review_below) is not None:
        unsure = (None if answer["confidence"] is None else answer["confidence"] < least for answer in answers)
        answers = [answer | {"needs_review": said} for answer, said in zip(answers, unsure, strict=True)]
    if body.explain:
        explained = [await _explained(service, model, text) if text.strip() else None for text in texts]
        answers = [answer | {"explanation": why} for answer, why in zip(answers, explained, strict=True)]
    return answers


async def _explained(service: Service, model: ServedModel, text: str) -> dict[str, Any]:
    return await service.worker.go_on(partial(model.explanation, text, label=None, method=None, nearest=False))
