"""A model that answers with a number, served."""

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from glassformer.explanation.explain import explain
from glassformer.prediction.predictor import Predictor
from glassformer.serving.api import create_app
from glassformer.serving.feedback import FeedbackFile
from glassformer.serving.served_model import ServedModel
from glassformer.targets.number.target import NumberAnswers
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
def predictor(models: dict[str, ServedModel]) -> Predictor[NumberAnswers]:
    return Predictor[NumberAnswers].load(models["scores"].folder)


def test_answers_are_those_of_predict(client: TestClient, predictor: Predictor[NumberAnswers]) -> None:
    found = client.post("/predict", json={"texts": [TEXT, " ", "awful song"]}).json()["answers"]
    for answer, expected in zip(found, predictor.answer([TEXT, " ", "awful song"]).records(), strict=True):
        reading = answer.pop("reading")
        assert (reading is None) == (expected["prediction"] is None)
        assert answer == expected
    assert found[0]["interval_low"] < found[0]["prediction"] < found[0]["interval_high"]
    assert set(found[0]["readers"]) == {"counting", "transformer"}
    assert found[1]["prediction"] is None


def test_reasons_are_those_of_explain(client: TestClient, predictor: Predictor[NumberAnswers]) -> None:
    expected = json.loads(json.dumps(explain(predictor, TEXT).as_json()))
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
        ("/predict", {"review_below": 0.9}, "`review_below`: the answers of scores have no confidence"),
        ("/explain", {"label": "good"}, "`label=` is for models that answer with labels; this one"),
        ("/explain", {"nearest": True}, "the model does not keep its training texts"),
        ("/counterfactual", {"above": 0}, "`above=0`: the answer, "),
        ("/counterfactual", {"above": math.nan}, "`above=nan` is not a finite number"),
        ("/counterfactual", {"below": -math.inf}, "`below=-inf` is not a finite number"),
        ("/feedback", {"label": "good"}, "`label='good'` is not a number"),
        ("/feedback", {"label": math.nan}, "`label=nan` is not a number"),
        ("/feedback", {"label": 10**400}, "0` is not a number"),
    ],
)
def test_what_cannot_be_asked_says_so(client: TestClient, path: str, body: dict[str, Any], says: str) -> None:
    sent = json.dumps({"text": TEXT} | body)  # as Python writes NaN too
    refused = client.post(path, content=sent, headers={"content-type": "application/json"})
    assert refused.status_code == 422
    assert says in refused.json()["reason"]


def test_what_is_inside_of_an_answer(client: TestClient) -> None:
    heads = client.post("/heads", json={"text": TEXT}).json()
    answer = client.post("/predict", json={"text": TEXT}).json()["answers"][0]
    assert (heads["prediction"], heads["words"][0]["word"]) == (answer["prediction"], "superb")
    assert "label" not in heads
    assert any(abs(head["share"]) > 1e-6 for head in heads["heads"])
    looks = client.post("/attention", json={"text": TEXT, "word": 0}).json()
    assert len(looks["heads"]) == len(heads["heads"])
    turned = client.post("/counterfactual", json={"text": TEXT, "below": answer["prediction"] - 0.1}).json()
    assert turned["prediction"] < answer["prediction"] - 0.1
    assert turned["interval_low"] < turned["prediction"] < turned["interval_high"]
    assert "confidence" not in turned
    assert client.post("/predict", json={"text": turned["text"]}).json()["answers"][0]["prediction"] == pytest.approx(
        turned["prediction"], abs=1e-4
    )


def test_a_right_number_is_kept(client: TestClient) -> None:
    assert client.post("/feedback", json={"text": TEXT, "label": 3.5}).json() == {"status": "kept"}


def test_tables_are_answered(client: TestClient, predictor: Predictor[NumberAnswers]) -> None:
    lines = client.post("/table", params={"name": "t.csv"}, content=b"text,score\na film,3\n ,2\n").text.splitlines()
    found = json.loads(lines[-1])["result"]
    (answers,) = found["answers"]
    expected = next(predictor.answer(["a film"]).records())
    assert answers["first"][0]["prediction"] == expected["prediction"]
    assert answers["first"][1] == dict.fromkeys(answers["first"][0])
    assert (answers["counts"], answers["unanswered"]) == ({}, 1)
    assert answers["csv"].splitlines()[0].startswith("text,score,prediction,interval_low,interval_high,")
    assert "every row has the number 3" in found["not_measured"]["scores"]


def test_tables_with_numbers_are_measured(models: dict[str, ServedModel], predictor: Predictor[NumberAnswers]) -> None:
    rows = [("superb film", 6.0), ("awful song", 1.5), ("good book", 5.0), ("dull play", 2.0)] * 3
    content = "text,score\n" + "".join(f"{text},{number}\n" for text, number in rows)
    twice = models | {"again": ServedModel(**{**vars(models["scores"]), "name": "again"})}
    with TestClient(create_app(twice)) as client:
        asked = {"name": "t.csv", "text": "text", "label": "score"}
        lines = client.post("/table", params=asked, content=content.encode()).text.splitlines()
    found = json.loads(lines[-1])["result"]
    assert found["not_measured"] == {}
    values, truth = predictor.answer([text for text, _ in rows]).values, np.array([number for _, number in rows])
    ours = found["measured"][0]["contestants"][-1]
    assert ours["mean_absolute_error"]["value"] == pytest.approx(np.abs(values - truth).mean(), abs=1e-4)
    r2 = 1 - ((values - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
    assert ours["r2"]["value"] == pytest.approx(r2, abs=1e-4)
    assert found["comparison"].startswith("No clear winner between scores and again")


def test_every_number_of_a_number_is_shown(client: TestClient) -> None:
    found = client.post("/trace", content="text=a+film")
    assert found.status_code == 200
    assert "Gradients are those of the transformer’s score of score." in found.text


def test_drift_and_metrics_go_on(client: TestClient) -> None:
    client.post("/predict", json={"texts": [TEXT] * 100})
    (drift,) = client.get("/drift").json()
    answer = next(each for each in drift["figures"] if each["name"] == "answer")
    assert answer["moved"] is True, "the same text again and again is not like the held-out rows"
    assert "differ from the held-out rows of training by more than chance explains: answer" in drift["sentence"]
    assert 'glassformer_texts_total{model="scores"}' in client.get("/metrics").text
    assert client.get("/ready").json()["status"] == "ready"
