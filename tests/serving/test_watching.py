"""What is counted for Prometheus, and the record of each request."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from glassformer.serving.api import create_app
from glassformer.serving.limits import Limits
from tests.serving.samples import served

SECRET = "my salary is a secret"


@pytest.fixture
def log() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def client(log: list[dict[str, Any]]) -> Iterator[TestClient]:
    app = create_app(served(), limits=Limits(texts=3), log=log.append)
    with TestClient(app, raise_server_exceptions=False) as found:
        yield found


def counted(client: TestClient) -> dict[tuple[str, ...], float]:
    """Every sample of /metrics, by its name and the values of its labels."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_requests_texts_and_batches_are_counted(client: TestClient) -> None:
    client.post("/predict", json={"texts": ["a", "b", ""]})
    client.post("/predict", json={"text": "a"})
    client.post("/predict", json={"texts": ["a"] * 4})
    client.post("/explain", json={"text": "not good"})
    client.get(f"/{SECRET}")
    client.get("/predict")
    found = counted(client)
    assert found["glassformer_requests_total", "/predict", "200"] == 2
    assert found["glassformer_requests_total", "/predict", "422"] == 1
    assert found["glassformer_requests_total", "/predict", "405"] == 1
    assert found["glassformer_requests_total", "/explain", "200"] == 1
    assert found["glassformer_requests_total", "other", "404"] == 1
    assert found["glassformer_texts_total", "reviews"] == 4
    assert found["glassformer_batch_texts_sum",] == 4
    assert found["glassformer_batch_requests_count",] == 2
    assert found["glassformer_batch_seconds_count",] == 2
    assert found["glassformer_waiting",] == 0
    assert found["glassformer_request_seconds_count", "/predict"] == 4
    assert found["process_resident_memory_bytes",] > 0
    assert not any("salary" in part for key in found for part in key)


def test_each_request_has_a_record_without_its_texts(client: TestClient, log: list[dict[str, Any]]) -> None:
    client.post("/predict", json={"texts": [SECRET, "b"]})
    client.post("/explain", json={"text": SECRET, "label": SECRET})
    client.post("/trace", data={"text": SECRET})
    client.post(f"/table?name={SECRET}.csv", content=f"text\n{SECRET}\n{SECRET}\n")
    client.get(f"/{SECRET}?text={SECRET}")
    assert [(each["method"], each["route"], each["status"]) for each in log] == [
        ("POST", "/predict", 200),
        ("POST", "/explain", 422),
        ("POST", "/trace", 200),
        ("POST", "/table", 200),
        ("GET", "other", 404),
    ]
    asked = [(each["model"], each["texts"], each["characters"]) for each in log[:-1]]
    length = len(SECRET)
    assert asked == [
        ("reviews", 2, length + 1),
        ("reviews", 1, length),
        ("reviews", 1, length),
        ("reviews", 2, 2 * length),
    ]
    assert all(each["time"].endswith("+00:00") and each["seconds"] > 0 for each in log)
    assert "salary" not in str(log)


def test_a_bug_is_recorded_as_one(
    client: TestClient, log: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.serving.served_model.ServedModel.answers", lambda *_: 1 / 0)
    assert client.post("/predict", json={"text": "a"}).status_code == 500
    assert log[0]["status"] == 500
    assert counted(client)["glassformer_requests_total", "/predict", "500"] == 1


def test_what_is_refused_at_the_door_is_counted_too(log: list[dict[str, Any]]) -> None:
    with TestClient(create_app(served(), api_key="key", log=log.append)) as client:
        client.post("/predict", json={"text": "a"})
        found = TestClient(client.app, headers={"authorization": "Bearer key"})
        assert client.get("/metrics").status_code == 401
        assert counted(found)["glassformer_requests_total", "other", "401"] == 2
    assert [each["status"] for each in log] == [401, 401, 200]
