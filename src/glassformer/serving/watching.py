"""What a server counts for Prometheus, and the record of each request. Neither holds a text."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from http import HTTPMethod
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glassformer.serving.worker import Batch

if TYPE_CHECKING:
    from glassformer.serving.telemetry import Telemetry  # an extra

Log = Callable[[dict[str, Any]], None]
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """What is counted."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter(
            "glassformer_requests", "Requests, refused ones too.", ["route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "glassformer_request_seconds",
            "From the headers of a request to the end of its answer.",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.texts = Counter("glassformer_texts", "Texts answered by /predict.", ["model"], registry=registry)
        self.batch_requests = Histogram(
            "glassformer_batch_requests", "Requests answered together.", buckets=_COUNTS, registry=registry
        )
        self.batch_texts = Histogram(
            "glassformer_batch_texts", "Texts answered together.", buckets=_COUNTS, registry=registry
        )
        self.batch_seconds = Histogram(
            "glassformer_batch_seconds", "The model's time for a batch.", buckets=_SECONDS, registry=registry
        )
        self.waiting = Gauge("glassformer_waiting", "Requests that wait or are being answered.", registry=registry)

        self._of = cache(lambda route, status: (self.requests.labels(route, str(status)), self.seconds.labels(route)))

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        requests, took = self._of(route, status)
        requests.inc()
        took.observe(seconds)

    def count_batch(self, batch: Batch) -> None:
        """Count what was answered together."""
        texts = sum(map(len, batch.answers))
        self.texts.labels(batch.model.name).inc(texts)
        self.batch_requests.observe(len(batch.answers))
        self.batch_texts.observe(texts)
        self.batch_seconds.observe(batch.seconds)


class Watch:
    """ASGI middleware: counts each request, and gives its record to `log` and `telemetry`."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, log: Log | None, telemetry: Telemetry | None = None) -> None:
        self.app = app
        self.metrics = metrics
        self.log = log
        self.telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500
        span = None if self.telemetry is None else self.telemetry.begin(scope)
        scope[_ASKED] = asked = dict[str, Any]()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - begun
            # A path or method that does not exist may be a text. Nor are there ever too many of them to count.
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.count_request(route, status, seconds)
            method = scope["method"] if scope["method"] in HTTPMethod.__members__ else "_OTHER"
            record = {"method": method, "route": route, "status": status}
            record |= {"seconds": round(seconds, 6)} | asked
            if self.log is not None:
                self.log({"time": datetime.now(UTC).isoformat(timespec="milliseconds")} | record)
            if self.telemetry is not None and span is not None:
                self.telemetry.end(span, record)


_ASKED = "glassformer.asked"


def note(request: Request, model: str, texts: Sequence[str]) -> None:
    """Note for the record of a request which model is asked about how much text."""
    request.scope[_ASKED] |= {"model": model, "texts": len(texts), "characters": sum(map(len, texts))}


def add_metrics(app: FastAPI, metrics: Metrics) -> None:
    """Add the route."""

    @app.get("/metrics", response_class=PlainTextResponse)
    async def shown() -> PlainTextResponse:
        """Return what is counted, in the text format of Prometheus."""
        return PlainTextResponse(generate_latest(metrics.registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)
