"""The route that answers a table. It tells how far it is, a line of JSON each, and ends with the result."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from glassformer.data.inputs import shown
from glassformer.data.parts import MARK, file_of
from glassformer.errors import GlassformerError, UsageError
from glassformer.serving.guard import bug_in_words
from glassformer.serving.limits import RefusedError
from glassformer.serving.service import REFUSALS, Service, client_of
from glassformer.serving.tables import (
    ROWS_AT_ONCE,
    ROWS_SHOWN,
    SentTable,
    check_columns,
    compared,
    first_rows,
    kept_for_now,
    labelled_rows,
    measured,
    read_sent,
    table_of_answers,
)
from glassformer.serving.watching import note
from glassformer.targets.answers import Answers

_BODIES, _BODIES_OF_CLIENT = 8, 2
_EXAMPLE = '{"answered": 64, "rows": 100}\n{"answered": 100, "rows": 100}\n{"result": {"rows": 100, "answers": []}}\n'
_RESPONSES = REFUSALS | {
    200: {
        "description": "Lines of JSON: how many rows are answered, then the result, or the reason why there is none.",
        "content": {"application/x-ndjson": {"example": _EXAMPLE}},
    }
}
_BODY = {"required": True, "content": {"text/csv": {"example": "text,label\nnot at all bad,positive\n"}}}


def add_tables(app: FastAPI, service: Service) -> None:
    """Add the route. One table is answered at a time."""
    busy, arriving = asyncio.Lock(), Counter[str | None]()

    @app.post("/table", responses=_RESPONSES, openapi_extra={"requestBody": _BODY})
    async def table(
        request: Request,
        name: Annotated[str, Query(max_length=255, description="The name of the file; its extension is its kind.")],
        baselines: Annotated[
            bool, Query(description="Also train TF-IDF + logistic regression on the training rows, and measure it.")
        ] = False,
        text: Annotated[str | None, Query(description="Column with the texts. By default it is found.")] = None,
        label: Annotated[str | None, Query(description="Column with the labels. By default it is found.")] = None,
    ) -> StreamingResponse:
        """Answer the rows of a table, and measure the answers if it has labels."""
        _refuse_if_busy(busy)
        client = client_of(request)
        if arriving[client] >= _BODIES_OF_CLIENT or arriving.total() >= _BODIES:
            raise RefusedError(429, "other tables are being sent; try again when they are here", retry_after=5)
        arriving[client] += 1
        try:
            content = await request.body()  # before the lock: it may take a minute to arrive, or never do
        finally:
            arriving[client] -= 1
            if not arriving[client]:
                del arriving[client]  # or those of all time would be remembered
        _refuse_if_busy(busy)
        await busy.acquire()
        kept = ExitStack()
        kept.callback(busy.release)
        asked = replace(service, models=dict(service.models))  # a model that is replaced meanwhile answers to the end
        try:
            path = kept.enter_context(kept_for_now(name, content))
            sent = await run_in_threadpool(_read, path, name, asked, text, label)
            note(request, " ".join(asked.models), sent.texts)
        except BaseException:
            kept.close()
            raise
        return _Lines(_lines(asked, sent, baselines=baselines), kept)


def _refuse_if_busy(busy: asyncio.Lock) -> None:
    if busy.locked():
        raise RefusedError(429, "another table is being answered; try again when it is done", retry_after=5)


class _Lines(StreamingResponse):
    """Lines of JSON. At the end, or if nobody reads them any more, `kept` is closed.

    The lines cannot close it: if the client is gone before the first one, they never begin.
    """

    def __init__(self, lines: AsyncIterator[str], kept: ExitStack) -> None:
        super().__init__(lines, media_type="application/x-ndjson")
        self._kept = kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._kept:
            await super().__call__(scope, receive, send)


def _read(path: Path, name: str, service: Service, text: str | None, label: str | None) -> SentTable:
    model = next(iter(service.models.values()))
    try:
        sent = read_sent(path, name, model, service.limits, text=text, label=label)
        check_columns(sent, service.models)
    except UsageError as error:
        said = str(error).replace(str(path), name)  # with the columns that it has
        raise UsageError(said.replace(str(file_of(path)), name.partition(MARK)[0])) from error
    return sent


async def _lines(service: Service, sent: SentTable, *, baselines: bool) -> AsyncIterator[str]:
    """Yield the lines of the answer."""
    parts: dict[str, list[Answers]] = {name: [] for name in service.models}
    rows = len(sent.texts)
    try:
        for start in range(0, rows, ROWS_AT_ONCE):
            texts = sent.texts[start : start + ROWS_AT_ONCE]
            for name, model in service.models.items():
                parts[name].append(await service.worker.go_on(partial(model.predictor.answer, texts, **model.asked)))
            yield _line({"answered": start + len(texts), "rows": rows})
        answers = {name: type(found[0]).joined(found) for name, found in parts.items()}
        yield _line({"result": await run_in_threadpool(_result, service, sent, answers, baselines=baselines)})
    except GlassformerError as error:
        yield _line({"reason": error.message})
    except OSError as error:  # the model folder is gone, the disk is full
        yield _line({"reason": f"{error.strerror}: {error.filename}"})
    except Exception as error:  # the status is sent already
        yield _line({"reason": bug_in_words(error)})
        raise


def _result(service: Service, sent: SentTable, answers: Mapping[str, Answers], *, baselines: bool) -> dict[str, Any]:
    labelled = {name: labelled_rows(sent, model) for name, model in service.models.items()}
    found = {
        name: measured(service.models[name], rows, answers[name], baselines=baselines)
        for name, rows in labelled.items()
        if not isinstance(rows, str)
    }
    both = len(service.models) == len(found) == 2
    return {
        "name": sent.name,
        "rows": len(sent.texts),
        "first_texts": [shown(text) for text in sent.texts[:ROWS_SHOWN]],
        "first_rows": first_rows(sent, next(iter(service.models.values()))),
        "answers": [table_of_answers(sent, model, answers[name]) for name, model in service.models.items()],
        "measured": [each.figures for each in found.values()],
        "not_measured": {name: why for name, why in labelled.items() if isinstance(why, str)},
        "comparison": compared(list(found), list(found.values())) if both else None,
    }


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
