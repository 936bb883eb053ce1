"""A model that answers with a number, served."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from glassformer.explanation.number import explain_number
from glassformer.prediction.number import NumberPredictor
from glassformer.serving.api import create_app
from glassformer.serving.feedback import FeedbackFile
from glassformer.serving.served_model import ServedModel
from tests.serving.samples import of_numbers

TEXT = "superb film"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ServedModel]:
    return of_numbers(tmp_path_factory.mktemp("scores") / "model")


@pytest.fixture(scope="module")
def client(models: dict[str, ServedModel], tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    feedback = FeedbackFile(tmp_path_factory.mktemp("feedback") / "kept.jsonl")
    with TestClient(create_app(models, feedback=feedback)) as found:
        yield found


@pytest.fixture(scope="module")
def predictor(models: dict[str, ServedModel]) -> NumberPredictor:
    return NumberPredictor.load(models["scores"].folder)


def test_answers_are_those_of_predict(client: TestClient, predictor: NumberPredictor) -> None:
    found = client.post("/predict", json={"texts": [TEXT, " ", "awful song"]}).json()["answers"]
    for answer, expected in zip(found, predictor.answer([TEXT, " ", "awful song"]).records(), strict=True):
        reading = answer.pop("reading")
        assert (reading is None) == (expected["prediction"] is None)
        assert answer == expected
    assert found[0]["interval_low"] < found[0]["prediction"] < found[0]["interval_high"]
    assert set(found[0]["readers"]) == {"counting", "transformer"}
    assert found[1]["prediction"] is None


def test_reasons_are_those_of_explain(client: TestClient, predictor: NumberPredictor) -> None:
    expected = explain_number(predictor, TEXT).as_json()
    assert client.post("/explain", json={"text": TEXT}).json() == {"model": "scores"} | expected
    found = client.post("/predict", json={"text": TEXT, "explain": True}).json()["answers"][0]
    assert found["explanation"] == expected


def test_the_model_says_what_it_answers(client: TestClient) -> None:
    (about,) = client.get("/model").json()["models"]
    assert about["target"] == "score"
    assert 1 <= about["lowest"] < about["base"] < about["highest"] <= 7
    assert "labels" not in about
    assert about["card"].startswith("# A model of a number")


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/predict", {"review_below": 0.9}, "an answer with a number has an interval, and no confidence"),
        ("/explain", {"label": "good"}, "`label` is for models that answer with labels; scores answers with a number"),
        ("/explain", {"nearest": True}, "`nearest` is for models that answer with labels"),
        ("/counterfactual", {}, "the model scores answers with a number"),
        ("/heads", {}, "the model scores answers with a number"),
        ("/attention", {"word": 0}, "the model scores answers with a number"),
        ("/feedback", {"label": 3}, "feedback is kept for labels, and this model answers with a number"),
    ],
)
def test_what_is_for_labels_says_so(client: TestClient, path: str, body: dict[str, Any], says: str) -> None:
    refused = client.post(path, json={"text": TEXT} | body)
    assert refused.status_code == 422
    assert says in refused.json()["reason"]


def test_tables_and_traces_say_what_to_do(client: TestClient) -> None:
    refused = client.post("/table", params={"name": "t.csv"}, content=b"text\na film\n")
    assert (refused.status_code, "`glassformer predict` answers them" in refused.text) == (422, True)
    refused = client.post("/trace", content="text=a+film")
    assert refused.status_code == 422
    assert "answers with a number" in refused.text


def test_drift_and_metrics_go_on(client: TestClient) -> None:
    client.post("/predict", json={"texts": [TEXT] * 3})
    (drift,) = client.get("/drift").json()
    assert "This model answers with a number" in drift["sentence"]
    assert 'glassformer_texts_total{model="scores"}' in client.get("/metrics").text
    assert client.get("/ready").json()["status"] == "ready"
