"""The routes that take texts: their answers, the reasons for one, what would turn it, and what its heads do."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fastapi import FastAPI, Request

from glassformer.errors import UsageError
from glassformer.explanation.counterfactual import step_of
from glassformer.serving import inside_shapes as inside
from glassformer.serving.direct import answer_directly
from glassformer.serving.limits import CLOSED, RefusedError
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
            null = (
                [] if body.texts is not None else [each for each in ("text", "texts") if each in body.model_fields_set]
            )
            raise UsageError(f"`{null[0]}` is null; send a text" if null else "give `text` or `texts`, and not both")
        texts = [body.text] if body.texts is None else body.texts
        model = named(service.models, body.model)
        if body.review_below is not None and "confidence" not in model.target.columns:
            raise UsageError(f"`review_below`: the answers of {model.name} have no confidence; leave it out")
        asked = [model.read(text) for text in texts if text is not None]
        service.limits.check_texts(asked)
        if body.explain:
            service.limits.check_all_explained(asked)
        note(request, model.name, asked)
        answers = await unless_closed(request, _answered(service, model, asked, body, client_of(request)))
        if "sec-fetch-site" not in request.headers:  # of a browser: the page asks about half of a text too
            service.drift.add(model, answers)
        return {"model": model.name, "answers": [{"readers": None} | answer for answer in answers]}

    answer_directly(app, predict, asked=PredictRequest, answered=Prediction)

    @app.post("/explain", responses=REFUSALS, response_model=Reasons, response_model_exclude_unset=True)
    async def explain(request: Request, body: ExplainRequest) -> dict[str, Any]:
        """Say what each word adds to an answer, and whether this explanation can be trusted."""
        how: dict[str, Any] = {"label": body.label, "method": body.method, "nearest": body.nearest}
        return await looked_into(service, request, body, lambda model, text: model.explanation(text, **how))

    @app.post(
        "/counterfactual", responses=REFUSALS, response_model=inside.Counterfactual, response_model_exclude_unset=True
    )
    async def counterfactual(request: Request, body: inside.CounterfactualRequest) -> dict[str, Any]:
        """Search for the smallest change of words that turns the answer. Other requests are answered meanwhile."""
        model, text = asked_about(service, request, body.model, body.text)
        steps = model.counterfactual(text, label=body.label, above=body.above, below=body.below)
        client = client_of(request)
        found = await service.worker.do(partial(step_of, steps), client=client)
        while found is None:
            if await request.is_disconnected():
                raise RefusedError(CLOSED, "the connection was closed during the search")
            found = await service.worker.go_on(partial(step_of, steps), client=client)
        return {"model": model.name} | found.as_json()

    @app.post("/heads", responses=REFUSALS, response_model=inside.Heads, response_model_exclude_unset=True)
    async def heads(request: Request, body: inside.InsideRequest) -> dict[str, Any]:
        """Say what each attention head adds to an answer, and which words it looks at."""
        return await looked_into(service, request, body, lambda model, text: model.heads(text, label=body.label))

    @app.post("/attention", responses=REFUSALS, response_model=inside.Attention)
    async def attention(request: Request, body: inside.AttentionRequest) -> dict[str, Any]:
        """Say how much attention each word gets from the asked word, by each head."""
        return await looked_into(service, request, body, lambda model, text: model.attention(text, word=body.word))


async def looked_into(
    service: Service, request: Request, body: Any, look: Callable[[ServedModel, str], dict[str, Any]]
) -> dict[str, Any]:
    """Return what a model finds about its answer to the text of a request."""
    model, text = asked_about(service, request, body.model, body.text)
    work = service.worker.do(partial(look, model, text), client=client_of(request))
    return {"model": model.name} | await unless_closed(request, work)


async def _answered(
    service: Service, model: ServedModel, texts: Sequence[str], body: PredictRequest, client: str | None
) -> list[dict[str, Any]]:
    """Answer texts, and add what the request asks for. Other requests are answered between two explanations."""
    answers = await service.worker.answer(model, texts)
    if (least := body.review_below) is not None:
        unsure = (None if answer["confidence"] is None else answer["confidence"] < least for answer in answers)
        answers = [answer | {"needs_review": said} for answer, said in zip(answers, unsure, strict=True)]
    if body.explain:
        explained = await _explained(service, model, texts, client)
        answers = [answer | {"explanation": why} for answer, why in zip(answers, explained, strict=True)]
    return answers


async def _explained(
    service: Service, model: ServedModel, texts: Sequence[str], client: str | None
) -> list[dict[str, Any] | None]:
    """Explain texts. The first one may be refused, as that of `/explain`."""
    found, ask = list[dict[str, Any] | None](), service.worker.do
    for text in texts:
        if not text.strip():
            found.append(None)
            continue
        found.append(await ask(partial(model.explanation, text, label=None, method=None, nearest=False), client=client))
        ask = service.worker.go_on
    return found
