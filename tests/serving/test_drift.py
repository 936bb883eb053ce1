"""The recent answers beside those to held-out rows."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from glassformer.evaluation.drift import FEWEST
from glassformer.prediction.predictor import Predictor
from glassformer.serving.api import create_app
from glassformer.serving.drift import RECENT, Drift
from glassformer.serving.served_model import ServedModel
from glassformer.targets.labels.held_out import HeldOutAnswers
from glassformer.targets.number.held_out import share_of, unseen_figures
from tests.explanation.test_explain import two_readers
from tests.serving.samples import TEXT, served
from tests.serving.test_watching import counted

TEXTS = ["good plot", "not good", "bad", "fine", "the plot was wooden"] * 40


def knowing() -> dict[str, ServedModel]:
    """A model that knows its answers to the texts above."""
    trained = two_readers()
    answers = Predictor(trained).answer(TEXTS)
    usual = HeldOutAnswers.of(answers, **unseen_figures(np.linspace(0, 0.5, 30, dtype=np.float32), 0.49))
    return served(trained=replace(trained, metrics={"held_out_answers": usual.model_dump()}))


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(create_app(knowing())) as found:
        yield found


def test_a_share_varies_as_a_coin_does() -> None:
    assert share_of(0.2).mean == 0.2
    assert share_of(0.2).sd == pytest.approx(0.4)


def shown(client: TestClient) -> Any:
    (found,) = client.get("/drift").json()
    return found


def test_texts_like_the_held_out_rows_do_not_drift(client: TestClient) -> None:
    assert shown(client)["sentence"].startswith("So far 0 texts were answered.")
    client.post("/predict", json={"texts": [*TEXTS[:55], ""]})
    assert shown(client)["texts"] == 55
    assert {figure["moved"] for figure in shown(client)["figures"]} == {None}
    client.post("/predict", json={"texts": TEXTS[:145]})
    found = shown(client)
    assert (found["model"], found["texts"], found["held_out_rows"]) == ("reviews", 200, 200)
    assert found["sentence"] == "The last 200 texts are answered like the held-out rows of training."
    figures = {figure["name"]: figure for figure in found["figures"]}
    assert list(figures)[:4] == ["answer bad", "answer fine", "answer good", "confidence"]
    assert all(figure["recent"] == pytest.approx(figure["held_out"], abs=1e-5) for figure in found["figures"][:4])
    assert sum(figures[f"answer {label}"]["recent"] for label in ("bad", "fine", "good")) == pytest.approx(1, abs=1e-5)


def test_other_texts_drift_and_the_figures_are_those_of_the_answers(client: TestClient) -> None:
    (answer,) = client.post("/predict", json={"text": TEXT}).json()["answers"]
    client.post("/predict", json={"texts": [TEXT] * (FEWEST - 1)})
    found = shown(client)
    assert "differ from the held-out rows of training by more than chance explains: answer" in found["sentence"]
    figures = {figure["name"]: figure for figure in found["figures"]}
    assert figures[f"answer {answer['prediction']}"]["recent"] == 1
    assert figures[f"answer {answer['prediction']}"]["moved"] is True
    assert figures["confidence"]["recent"] == pytest.approx(answer["confidence"], abs=1e-6)
    prometheus = counted(client)
    assert prometheus["glassformer_drift_texts", "reviews"] == FEWEST
    assert prometheus["glassformer_drift", f"answer {answer['prediction']}", "reviews", "recent texts"] == 1
    usual = figures["confidence"]["held_out"]
    assert prometheus["glassformer_drift", "confidence", "reviews", "held-out rows"] == usual


def test_what_the_page_asks_about_does_not_count(client: TestClient) -> None:
    client.post("/predict", json={"text": "a"}, headers={"sec-fetch-site": "same-origin"})
    assert shown(client)["texts"] == 0


def test_a_model_that_does_not_know_says_so() -> None:
    with TestClient(create_app(served())) as client:
        client.post("/predict", json={"text": "good"})
        found = shown(client)
        assert found["held_out_rows"] is None
        assert "train it again" in found["sentence"]
        assert {(figure["held_out"], figure["moved"]) for figure in found["figures"]} == {(None, None)}
        assert ("glassformer_drift", "confidence", "reviews", "held-out rows") not in counted(client)


def test_only_the_last_answers_of_this_model_count() -> None:
    models = knowing()
    drift, (model,) = Drift(models), models.values()
    record = {"prediction": "good", "confidence": 0.9, "unseen_share": 0.1, "unlike_training": False}
    drift.add(model, [record | {"prediction": "bad"}] * 10 + [record] * RECENT)
    texts, _, figures = drift.compare(model)
    assert texts == RECENT
    assert {figure.name: figure.recent for figure in figures} == {
        "answer bad": 0, "answer fine": 0, "answer good": 1, "confidence": 0.9,
        "words and word pairs not seen in training": 0.1, "unlike the training data": 0,
    }  # fmt: skip
    again = ServedModel(name=model.name, folder=model.folder, predictor=model.predictor)
    assert drift.compare(again)[0] == 0


def test_several_labels_per_text_are_counted_each() -> None:
    models = knowing()
    drift, (model,) = Drift(models), models.values()
    record = {"confidence": 0.9, "unseen_share": None, "unlike_training": None}
    drift.add(model, [record | {"prediction": ["good", "bad"]}, record | {"prediction": []}])
    shares = {figure.name: figure.recent for figure in drift.compare(model)[2]}
    assert shares == {"answer bad": 0.5, "answer fine": 0, "answer good": 0.5, "confidence": 0.9}
