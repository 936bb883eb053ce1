"""Spans and metrics of OpenTelemetry, which hold no text."""

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from glassformer.data.installed import pip_install
from glassformer.errors import UsageError
from glassformer.serving.api import create_app
from glassformer.serving.limits import Limits
from tests.cli.terminal import glassformer, misused
from tests.serving.samples import served

telemetry = pytest.importorskip("glassformer.serving.telemetry", reason="pip install 'glassformer[otel]'")
SECRET = "my salary is a secret"
CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def kept() -> Any:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    return InMemorySpanExporter()


@pytest.fixture
def reader() -> Any:
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    return InMemoryMetricReader()


@pytest.fixture
def client(kept: Any, reader: Any) -> Iterator[TestClient]:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    traces = TracerProvider(shutdown_on_exit=False)
    traces.add_span_processor(SimpleSpanProcessor(kept))
    sends = telemetry.Telemetry(traces, MeterProvider([reader], shutdown_on_exit=False))
    with TestClient(
        create_app(served(), limits=Limits(texts=3), telemetry=sends), raise_server_exceptions=False
    ) as found:
        yield found


def counted(reader: Any) -> dict[str, list[Any]]:
    """The points of each metric."""
    (of_resource,) = reader.get_metrics_data().resource_metrics
    (of_scope,) = of_resource.scope_metrics
    return {metric.name: list(metric.data.data_points) for metric in of_scope.metrics}


def test_each_request_is_a_span_without_its_texts(
    client: TestClient, kept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = {"traceparent": f"00-{CALLER}-00f067aa0ba902b7-01"}
    client.post("/predict", json={"texts": [SECRET, "b"]}, headers=parent)
    client.get(f"/{SECRET}?text={SECRET}")
    monkeypatch.setattr("glassformer.serving.served_model.ServedModel.answers", lambda *_: int(SECRET))
    client.post("/predict", json={"text": SECRET})
    asked, unknown, broken = kept.get_finished_spans()
    assert [span.name for span in (asked, unknown, broken)] == ["POST /predict", "GET other", "POST /predict"]
    assert format(asked.context.trace_id, "032x") == CALLER
    assert asked.kind.name == "SERVER"
    assert dict(asked.attributes) == {
        "http.request.method": "POST",
        "http.route": "/predict",
        "http.response.status_code": 200,
        "glassformer.model": "reviews",
        "glassformer.texts": 2,
        "glassformer.characters": len(SECRET) + 1,
    }
    assert (unknown.status.status_code.name, broken.status.status_code.name) == ("UNSET", "ERROR")
    assert "salary" not in "".join(span.to_json() for span in (asked, unknown, broken))


def test_metrics_are_those_of_prometheus(client: TestClient, reader: Any) -> None:
    client.post("/predict", json={"texts": ["a", "b", ""]})
    client.post("/predict", json={"texts": ["a"] * 4})
    found = counted(reader)
    requests = {point.attributes["http.response.status_code"]: point for point in found["http.server.request.duration"]}
    assert (requests[200].count, requests[422].count) == (1, 1)
    assert requests[200].attributes["http.route"] == "/predict"
    assert [(point.value, dict(point.attributes)) for point in found["glassformer.texts"]] == [
        (3, {"glassformer.model": "reviews"})
    ]
    assert found["glassformer.batch.requests"][0].sum == 1
    assert found["glassformer.batch.texts"][0].sum == 3
    assert found["glassformer.batch.duration"][0].sum > 0
    assert found["glassformer.waiting"][0].value == 0


def test_variables_say_where_spans_and_metrics_go(monkeypatch: pytest.MonkeyPatch) -> None:
    posted = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append((self.path, self.headers["x-team"], self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=words")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "reviews-server")
        sends = telemetry.Telemetry.from_environment()
        with TestClient(create_app(served(), telemetry=sends)) as client:
            client.post("/predict", json={"text": "a"})
        sends.stop()
        server.shutdown()
    sent = {path: (team, body) for path, team, body in posted}
    assert {path: team for path, (team, _) in sent.items()} == {"/v1/traces": "words", "/v1/metrics": "words"}
    assert all(b"reviews-server" in body for _, body in sent.values())
    assert b"POST /predict" in sent["/v1/traces"][1]


def test_a_collector_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(threading.enumerate())
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "4")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        sends = telemetry.Telemetry.from_environment()
        with TestClient(create_app(served(), telemetry=sends)) as client:
            client.post("/predict", json={"text": "a"})
        began = time.monotonic()
        sends.stop()
        assert time.monotonic() - began < 3
    for sending in set(threading.enumerate()) - before:
        sending.join(30)  # it tries again at random times, which no other test may see
        assert not sending.is_alive()


@pytest.mark.parametrize(("variable", "given", "name"), [
    ("OTEL_SERVICE_NAME", "reviews", "reviews"), ("OTEL_RESOURCE_ATTRIBUTES", "service.name=reviews", "reviews"),
    ("OTEL_RESOURCE_ATTRIBUTES", "team=words", "glassformer"),
])  # fmt: skip
def test_the_server_has_a_name_and_changes_no_variable(
    variable: str, given: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("TRACES", "METRICS"):
        monkeypatch.setenv(f"OTEL_{kind}_EXPORTER", "none")
    monkeypatch.setenv(variable, given)
    before = dict(os.environ)
    made = telemetry.Telemetry.from_environment()
    for provider in made._providers:
        about = getattr(provider, "resource", None) or provider._sdk_config.resource
        assert about.attributes["service.name"] == name
        assert "telemetry.sdk.name" in about.attributes
    assert dict(os.environ) == before


def test_nothing_is_sent_if_a_variable_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "carrier-pigeon")
    with pytest.raises(UsageError, match="the variable OTEL_METRICS_EXPORTER is 'carrier-pigeon', and there is no"):
        telemetry.Telemetry.from_environment()


def test_without_the_extra_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "glassformer.serving.telemetry", None)
    misused(glassformer("serve", tmp_path, "--otel"), f"--otel needs an extra: {pip_install('otel')}")


def test_providers_of_the_process_get_nothing_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """FastAPI finds them by itself, and would tell them what it refuses. Its logs quote errors, which quote texts."""
    from opentelemetry import _logs, trace
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, logs = InMemorySpanExporter(), InMemoryLogRecordExporter()
    traces, logger = TracerProvider(shutdown_on_exit=False), LoggerProvider(shutdown_on_exit=False)
    traces.add_span_processor(SimpleSpanProcessor(spans))
    logger.add_log_record_processor(SimpleLogRecordProcessor(logs))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: traces)
    monkeypatch.setattr(_logs, "get_logger_provider", lambda: logger)
    with TestClient(create_app(served()), raise_server_exceptions=False) as client:
        assert client.post("/explain", json={"text": SECRET, "label": {"of": SECRET}}).status_code == 422
        assert client.post("/predict", json={"text": [SECRET]}).status_code == 422
    assert spans.get_finished_spans() == ()
    assert logs.get_finished_logs() == ()
