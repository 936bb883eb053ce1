"""The routes that look further into an answer, and the page of the snapshots."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from glassformer.cli.serve import in_words
from glassformer.explanation.explain import explain
from glassformer.prediction.predictor import Predictor
from glassformer.serving.api import create_app
from glassformer.serving.limits import Limits
from tests.explanation.test_explain import two_readers
from tests.prediction.samples import SMALL as SMALL_MODEL
from tests.prediction.samples import small_trained_model
from tests.serving.samples import TEXT, served
from tests.serving.test_api import reason

SMALL = Limits(explained_characters=300)
LONG = "the plot is thin but " * 10  # two windows and more


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(served(), limits=SMALL)) as found:
        yield found


def test_what_turns_an_answer_is_what_explain_finds(client: TestClient) -> None:
    text = "not good film good"
    found = client.post("/counterfactual", json={"text": text}).json()
    predictor = Predictor(two_readers())
    expected = explain(predictor, text, counterfactual=True, faithfulness=False).counterfactual
    assert expected is not None
    assert found["changes"]
    assert (found["text"], found["prediction"], found["answers"]) == (
        expected.text,
        expected.prediction,
        expected.answers,
    )
    assert found["sentence"] == expected.sentence
    before, after = predictor.answer([text, found["text"]]).records()
    assert after["prediction"] == found["prediction"] != before["prediction"]
    assert found["confidence"] == pytest.approx(after["confidence"], abs=1e-5)
    assert found["probability"] == pytest.approx(after["probabilities"][before["prediction"]], abs=1e-5)
    for change in found["changes"]:
        assert text[change["start"] : change["end"]] == change["before"]


def test_an_answer_that_cannot_be_turned_is_said_to_be_so() -> None:
    trained = small_trained_model()
    for weight in trained.model.parameters():
        weight.data.zero_()
    head = next(weight for name, weight in reversed(list(trained.model.named_parameters())) if weight.ndim == 1)
    head.data[0] = 5.0
    with TestClient(create_app(served(trained=trained))) as client:
        found = client.post("/counterfactual", json={"text": "the plot"}).json()
    assert (found["changes"], found["text"]) == ([], "the plot")
    assert 0 < found["answers"] <= found["budget"]
    assert "No change of words was found" in found["sentence"]


def test_texts_are_answered_while_a_search_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is sent during the first step of a search is answered before the second step."""
    models = served()
    predictor = models["reviews"].predictor
    logits, answer = predictor.logits, predictor.answer
    begun, go_on = threading.Event(), threading.Event()
    log: list[str] = []

    def step(texts: Any) -> Any:
        log.append("step")
        begun.set()
        assert go_on.wait(20)
        return logits(texts)

    def answered(texts: Any, **asked: Any) -> Any:
        log.extend(texts)
        return answer(texts, **asked)

    monkeypatch.setattr(predictor, "logits", step)
    monkeypatch.setattr(predictor, "answer", answered)
    with TestClient(create_app(models, limits=Limits(waiting=2))) as client:

        def ask(path: str, text: str) -> None:
            assert client.post(path, json={"text": text}).status_code == 200

        threads = [
            threading.Thread(target=ask, args=("/counterfactual", "the plot is thin but i loved it " * 5)),
            threading.Thread(target=ask, args=("/predict", "typed")),
        ]
        threads[0].start()
        assert begun.wait(20)
        threads[1].start()
        for _ in range(200):
            if client.get("/ready").status_code == 503:
                break
        go_on.set()
        for thread in threads:
            thread.join()
    assert "step" in log[log.index("typed") :]


def test_heads_are_those_of_explain(client: TestClient) -> None:
    found = client.post("/heads", json={"text": TEXT}).json()
    expected = explain(Predictor(two_readers()), TEXT, heads=True, faithfulness=False)
    assert (found["label"], found["rival"]) == (expected.label, expected.rival)
    assert [word["word"] for word in found["words"]] == [word.word for word in expected.words]
    assert [(head["layer"], head["head"]) for head in found["heads"]] == [(1, 1), (1, 2)]
    for head, ours in zip(found["heads"], expected.heads, strict=True):
        assert head["share"] == pytest.approx(ours.share)
        assert head["attention"] == pytest.approx(ours.attention)
    other = client.post("/heads", json={"text": TEXT, "label": found["rival"]}).json()
    assert other["label"] == found["rival"]


@pytest.mark.parametrize("text", [TEXT, "🙂 الفيلم جميل 👩‍👩‍👧", LONG])
def test_attention_from_a_word_is_at_most_all_of_it(client: TestClient, text: str) -> None:
    last = len(client.post("/heads", json={"text": text}).json()["words"]) - 1
    for word in (0, last):
        found = client.post("/attention", json={"text": text, "word": word}).json()
        assert found["word"] == word
        assert len(found["heads"]) == 2
        for head in found["heads"]:
            assert len(head["attention"]) == len(found["words"]) == last + 1
            assert 0 < np.sum(head["attention"]) <= 1 + 1e-5


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/counterfactual", {"text": " "}, "the text is empty"),
        ("/counterfactual", {"text": "a" * 301}, "`glassformer explain` explains texts of any length"),
        ("/counterfactual", {"text": "a", "budget": 9_999}, "`budget` is no key of this request"),
        ("/counterfactual", {"text": "a", "label": "superb"}, "`label='superb'`: the model has no such label"),
        ("/heads", {"text": " "}, "the text is empty"),
        ("/heads", {"text": "a" * 301}, "the text has 301 characters"),
        ("/attention", {"text": "a"}, "`word` is missing"),
        ("/attention", {"text": "a" * 301, "word": 0}, "the text has 301 characters"),
        ("/attention", {"text": "thin plot", "word": 2}, "`word=2`: the text has 2 words, numbered from 0"),
        ("/attention", {"text": "thin plot", "word": -1}, "`word=-1`: the text has 2 words"),
        ("/attention", {"text": "thin plot", "word": "plot"}, "`word`: Input should be a valid integer"),
        ("/attention", {"text": "thin plot", "word": True}, "`word`: Input should be a valid integer"),
    ],
)
def test_what_is_not_understood_is_refused_with_a_reason(client: TestClient, path: str, body: Any, says: str) -> None:
    assert says in reason(client.post(path, json=body), 422)


@pytest.mark.parametrize("kind", ["counting alone", "no heads"])
def test_a_model_without_heads_says_so(kind: str) -> None:
    trained = (
        two_readers(transformer=0.0)
        if kind == "counting alone"
        else small_trained_model(model=SMALL_MODEL.model_copy(update={"n_layers": 0}))
    )
    with TestClient(create_app(served(trained=trained))) as client:
        assert client.get("/model").json()["models"][0]["has_heads"] is False
        for path, body in (("/heads", {"text": TEXT}), ("/attention", {"text": TEXT, "word": 0})):
            assert reason(client.post(path, json=body), 422) == "the model reviews answers without attention heads"
        assert client.post("/counterfactual", json={"text": "not good film good"}).status_code == 200


def test_the_time_lapse_is_there_if_training_took_snapshots(tmp_path: Path) -> None:
    with TestClient(create_app(served(folder=tmp_path), in_words=in_words)) as client:
        assert client.get("/model").json()["models"][0]["has_time_lapse"] is False
        assert "train it again with --snapshots" in reason(client.get("/time-lapse"), 404)
        assert "`label='x'`: the model has no" in reason(client.post("/heads", json={"text": TEXT, "label": "x"}), 422)
        assert "there is no model" in reason(client.get("/time-lapse", params={"model": "other"}), 404)
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots" / "time-lapse.html").write_text("<h1>It learns</h1>", encoding="utf-8")
    with TestClient(create_app(served(folder=tmp_path))) as client:
        assert client.get("/model").json()["models"][0]["has_time_lapse"] is True
        answer = client.get("/time-lapse", params={"model": "reviews"})
        assert answer.text == "<h1>It learns</h1>"
        assert answer.headers["content-type"].startswith("text/html")
        assert "sandbox allow-scripts" in answer.headers["content-security-policy"], "it cannot ask the server"
        assert "'self'" not in answer.headers["content-security-policy"]


def test_the_description_has_examples_that_hold_what_answers_hold(client: TestClient) -> None:
    shapes = client.get("/openapi.json").json()["components"]["schemas"]
    for path, shape, request in (
        ("/counterfactual", "Counterfactual", "InsideRequest"),
        ("/heads", "Heads", "InsideRequest"),
        ("/attention", "Attention", "AttentionRequest"),
    ):
        (body,) = shapes[request]["examples"]
        found, (example,) = client.post(path, json=body).json(), shapes[shape]["examples"]
        assert found.keys() == example.keys()
        for name, listed in example.items():
            if isinstance(listed, list) and found[name]:
                assert found[name][0].keys() == listed[0].keys()


def test_a_search_ends_when_nobody_waits_for_it() -> None:
    models = served()
    body = json.dumps({"text": "the plot is thin but i loved it " * 8}).encode()
    received = iter([{"type": "http.request", "body": body}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(received, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/counterfactual",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"host", b"localhost")],
    }
    asyncio.run(create_app(models)(scope, receive, send))
    assert sent[0]["status"] == 499
