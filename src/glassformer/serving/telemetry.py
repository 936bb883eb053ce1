"""Traces and metrics by OpenTelemetry, where the standard variables `OTEL_…` say. None of them holds a text."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.propagate import extract
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from starlette.datastructures import Headers
from starlette.types import Scope

from glassformer import __version__
from glassformer.errors import UsageError
from glassformer.serving.worker import Batch

_DEFAULT = "otlp_proto_http"
_SECONDS_TO_STOP = 2.5
_BY_SHORT_NAME = {"": _DEFAULT, "otlp": _DEFAULT}


class Telemetry:
    """Makes a span of each request, and counts what `Metrics` counts."""

    def __init__(self, traces: TracerProvider, metrics: MeterProvider) -> None:
        for name in ("baggage", "trace"):  # their warnings quote the headers of requests
            logging.getLogger(f"opentelemetry.{name}").setLevel(logging.ERROR)
        self._providers = traces, metrics
        self._tracer = traces.get_tracer("glassformer", __version__)
        meter = self._meter = metrics.get_meter("glassformer", __version__)
        self._seconds = meter.create_histogram("http.server.request.duration", "s", "Of a request, refused ones too.")
        self._texts = meter.create_counter("glassformer.texts", "{text}", "Texts answered by /predict.")
        self._batch_requests = meter.create_histogram("glassformer.batch.requests", "{request}", "Answered together.")
        self._batch_texts = meter.create_histogram("glassformer.batch.texts", "{text}", "Answered together.")
        self._batch_seconds = meter.create_histogram("glassformer.batch.duration", "s", "The model's time for a batch.")

    @classmethod
    def from_environment(cls) -> Telemetry:
        """Return what sends to where the variables say: by default by OTLP to port 4318 of this machine.

        Raises:
            UsageError: a variable names an exporter that is not installed.
        """
        spans, metrics, about = _exporter("traces"), _exporter("metrics"), _resource()
        traces = TracerProvider(resource=about, shutdown_on_exit=False)  # `stop` does
        if spans is not None:
            traces.add_span_processor(BatchSpanProcessor(spans))
        readers = [] if metrics is None else [PeriodicExportingMetricReader(metrics)]
        return cls(traces, MeterProvider(readers, about, shutdown_on_exit=False))

    def stop(self) -> None:
        """Send the rest. A collector that does not answer is waited for at most `_SECONDS_TO_STOP` seconds."""
        ends = time.monotonic() + _SECONDS_TO_STOP
        sending = [threading.Thread(target=provider.shutdown, daemon=True) for provider in self._providers]
        for each in sending:
            each.start()
        for each in sending:
            each.join(max(0.0, ends - time.monotonic()))

    def show_waiting(self, waiting: Callable[[], int]) -> None:
        """Show how many requests wait."""

        def observed(_: CallbackOptions) -> list[Observation]:
            return [Observation(waiting())]

        self._meter.create_observable_gauge(
            "glassformer.waiting", [observed], "{request}", "Requests that wait or are being answered."
        )

    def begin(self, scope: Scope) -> Span:
        """Begin the span of a request, in the trace of its client if it names one."""
        context = extract(dict(Headers(scope=scope)))
        return self._tracer.start_span("HTTP", context, SpanKind.SERVER)

    def end(self, span: Span, record: Mapping[str, Any]) -> None:
        """End the span with the record of its request (see `Watch`), and count the request."""
        about = {
            "http.request.method": record["method"],
            "http.route": record["route"],
            "http.response.status_code": record["status"],
        }
        asked = {f"glassformer.{name}": record[name] for name in ("model", "texts", "characters") if name in record}
        span.update_name(f"{record['method']} {record['route']}")
        span.set_attributes(about | asked)
        if record["status"] >= 500:
            span.set_status(StatusCode.ERROR)
        span.end()
        self._seconds.record(record["seconds"], about)

    def count_batch(self, batch: Batch) -> None:
        """Count what was answered together."""
        texts, model = sum(map(len, batch.answers)), {"glassformer.model": batch.model.name}
        self._texts.add(texts, model)
        self._batch_requests.record(len(batch.answers), model)
        self._batch_texts.record(texts, model)
        self._batch_seconds.record(batch.seconds, model)


def _resource() -> Resource:
    """Return what the variables say of this server. Its name is glassformer if they do not say another one."""
    found = Resource.create()
    unnamed = str(found.attributes[SERVICE_NAME]).startswith("unknown_service")
    return found.merge(Resource({SERVICE_NAME: "glassformer"})) if unnamed else found


def _exporter(kind: str) -> Any:
    """Return the exporter that `OTEL_TRACES_EXPORTER` or `OTEL_METRICS_EXPORTER` names. None: nothing is sent."""
    variable = f"OTEL_{kind.upper()}_EXPORTER"
    named = os.environ.get(variable, "")
    if named == "none":
        return None
    group = f"opentelemetry_{kind}_exporter"
    found = list(entry_points(group=group, name=_BY_SHORT_NAME.get(named, named)))
    if not found:
        raise UsageError(
            f"the variable {variable} is {named!r}, and there is no such exporter here, only none, "
            f"{', '.join(sorted(entry_points(group=group).names))}"
        )
    return found[0].load()()
