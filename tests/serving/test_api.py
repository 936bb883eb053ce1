import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from glassformer.models.build import parameter_count
from glassformer.prediction.predictor import Predictor
from glassformer.serving.api import create_app
from glassformer.serving.guard import CONTENT_SECURITY_POLICY
from glassformer.serving.limits import Limits
from glassformer.serving.served_model import ServedModel
from tests.evaluation.samples import sample_evaluation
from tests.explanation.test_explain import two_readers
from tests.prediction.keeping import keeping
from tests.prediction.samples import small_trained_model
from tests.serving.samples import TEXT, served

SMALL = Limits(body_bytes=2_000, texts=3, characters=200, explained_characters=100)


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(served(), limits=SMALL)) as found:
        yield found


def reason(answer: Any, status: int) -> str:
    """The reason of a refusal, which is all that its body holds."""
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["reason"]
    return str(answer.json()["reason"])


def test_answers_are_those_of_the_model(client: TestClient) -> None:
    texts = [TEXT, "not at all", " "]
    found = client.post("/predict", json={"texts": texts}).json()
    assert found["model"] == "reviews"
    expected = list(Predictor(two_readers()).answer(texts).records())
    assert [{key: answer[key] for key in expected[0]} for answer in found["answers"]] == expected
    assert found["answers"][2]["prediction"] is None
    alone = client.post("/predict", json={"text": TEXT}).json()["answers"]
    assert alone[0]["prediction"] == found["answers"][0]["prediction"]


def test_an_answer_of_several_levels_has_its_path() -> None:
    trained = two_readers(labels=("good > fine", "good > great", "bad > dull"), levels=" > ")
    with TestClient(create_app(served(trained=trained))) as client:
        first, empty = client.post("/predict", json={"texts": [TEXT, " "]}).json()["answers"]
    expected, _ = Predictor(trained).answer([TEXT, " "]).records()
    assert (first["path"], first["path_probability"]) == (expected["path"], expected["path_probability"])
    assert (empty["path"], empty["path_probability"]) == (None, None)


def test_it_is_said_how_a_text_was_read(client: TestClient) -> None:
    def reading(text: str) -> Any:
        return client.post("/predict", json={"text": text}).json()["answers"][0]["reading"]

    short = reading("the plot is wooden")
    assert short == {"tokens": 4, "windows": 1, "note": None, "unknown_words": ["wooden"], "more_unknown_words": 0}
    long = reading("the plot " * 20)
    assert (long["tokens"], long["windows"]) == (40, 2)
    assert long["note"].startswith("The transformer read 40 tokens in 2 overlapping windows of 24")
    assert reading(" ".join(map(str, range(60))))["more_unknown_words"] == 40
    texts = ["the plot is wooden", " ", "the plot " * 20]
    together = client.post("/predict", json={"texts": texts}).json()["answers"]
    assert [answer["reading"] for answer in together] == [short, None, long]


def test_a_model_that_counts_alone_reads_no_tokens() -> None:
    with TestClient(create_app(served(trained=two_readers(transformer=0.0)))) as client:
        assert client.post("/predict", json={"text": TEXT}).json()["answers"][0]["reading"] is None


def test_a_text_that_is_cut_is_said_to_be() -> None:
    trained = small_trained_model()
    tokenizer = trained.config.tokenizer.model_copy(update={"max_tokens": 4})
    cut = type(trained)(
        config=trained.config.model_copy(update={"tokenizer": tokenizer}),
        model=trained.model,
        tokenizer=type(trained.tokenizer).train([TEXT], tokenizer),
        metrics={},
    )
    with TestClient(create_app(served(trained=cut))) as client:
        notes = [
            client.post("/predict", json={"text": text}).json()["answers"][0]["reading"]["note"]
            for text in ("The plot is thin", TEXT)
        ]
    assert notes == [None, "The transformer read only the first 4 tokens of the text."]


def test_reasons_add_up_and_say_whether_to_trust_them(client: TestClient) -> None:
    found = client.post("/explain", json={"text": TEXT}).json()
    assert sum(word["total"] for word in found["words"]) + found["without_known_words"] + found[
        "unexplained"
    ] == pytest.approx(found["margin"])
    assert found["readers"] == ["counting", "transformer"]
    assert found["trusted"] is (found["faithfulness"]["score"] >= 0.9)
    assert ("can be trusted" in found["verdict"]) is found["trusted"]
    other = client.post("/explain", json={"text": TEXT, "label": found["rival"]}).json()
    assert other["label"] == found["rival"]
    assert client.post("/explain", json={"text": "thin plot"}).json()["trusted"] is None


def test_places_of_words_count_characters(client: TestClient) -> None:
    text = "🙂 the plot 👩‍👩‍👧 loved"
    found = client.post("/explain", json={"text": text}).json()["words"]
    assert [text[word["start"] : word["end"]] for word in found] == [word["word"] for word in found]


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/predict", {}, "give `text` or `texts`, and not both"),
        ("/predict", {"text": "a", "texts": ["b"]}, "give `text` or `texts`, and not both"),
        ("/predict", {"texts": ["a"] * 4}, "4 texts are more than 3"),
        ("/predict", {"text": "a" * 201}, "the text has 201 characters, more than the 200 that are read here"),
        ("/predict", {"texts": ["a", "b" * 300]}, "text 2 has 300 characters"),
        ("/predict", {"text": 3}, "`text`: Input should be a valid string"),
        (
            "/predict",
            {"txt": "a"},
            "`txt` is no key of this request; its keys are text, texts, model, review_below, explain",
        ),
        ("/explain", {"txt": "a"}, "`txt` is no key of this request; its keys are text, label, method, nearest, model"),
        ("/explain", {}, "`text` is missing"),
        ("/predict", {"text": None}, "`text` is null; send a text"),
        ("/predict", {"texts": None}, "`texts` is null; send a text"),
        ("/predict", ["a"], "send a JSON object"),
        ("/explain", {"text": "a" * 101}, "`glassformer explain` explains texts of any length"),
        ("/explain", {"text": " "}, "the text is empty"),
        ("/explain", {"text": "a", "label": "superb"}, "`label='superb'`: the model has no such label"),
        ("/explain", {"text": "a", "method": "magic"}, "`method='magic'`: no such method"),
    ],
)
def test_what_is_not_understood_is_refused_with_a_reason(client: TestClient, path: str, body: Any, says: str) -> None:
    assert says in reason(client.post(path, json=body), 422)


def test_what_does_not_exist_is_refused_with_a_sentence(client: TestClient) -> None:
    for path in ("/answer", "/page/nothing.js"):
        assert reason(client.get(path), 404) == f"there is no {path} here; GET /openapi.json lists the requests"
    for path in ("/predict", "/explain", "/counterfactual"):
        unknown = client.post(path, json={"text": "a", "model": "other"})
        assert reason(unknown, 404) == "there is no model 'other' here, only reviews"
    wrong = client.get("/predict")
    assert reason(wrong, 405) == "/predict is not asked with GET; GET /openapi.json lists the requests"
    assert wrong.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"text": ', "the body is not JSON: Expecting value (character 9)"),
        (b'{"text": "a \\ud83d"}', "character 3 of the text is half of a surrogate pair"),
        (b"", "send a JSON object"),
    ],
)
def test_bytes_that_are_no_json_are_refused(client: TestClient, body: bytes, says: str) -> None:
    answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert says in reason(answer, 422)


@pytest.mark.parametrize("body", [b'{"text": "\xff"}', b"[" * 1_900], ids=["not UTF-8", "nested"])
def test_bytes_that_cannot_be_read_are_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert (
        "the body is not JSON" in answer.text or "the body cannot be read; send a JSON object in UTF-8" in answer.text
    )
    assert reason(answer, answer.status_code)
    assert answer.status_code in (400, 422)


def test_json_has_to_be_called_json(client: TestClient) -> None:
    """A website could send text/plain without being asked whether it may."""
    said = reason(client.post("/predict", content=json.dumps({"text": "a"})), 422)
    assert said == "send a JSON object, with the header Content-Type: application/json"


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_too_large_is_not_read(client: TestClient, announced: bool) -> None:
    body = json.dumps({"text": "a" * 3_000}).encode()
    answer = client.post(
        "/predict", content=body if announced else iter([body]), headers={"content-type": "application/json"}
    )
    assert reason(answer, 413) == "the request is larger than 2,000 bytes; send less at once"


def test_other_websites_are_not_answered() -> None:
    with TestClient(create_app(served(), hosts=["localhost"]), base_url="http://localhost") as client:
        assert client.get("/health").status_code == 200
        assert client.get("/health", headers={"origin": "http://localhost"}).status_code == 200
        asked = client.post("/predict", json={"text": "a"}, headers={"origin": "http://evil.example"})
        assert "http://evil.example" in reason(asked, 403)
        assert client.get("/model", headers={"host": "evil.example"}).status_code == 400


def test_every_answer_forbids_what_comes_from_elsewhere(client: TestClient) -> None:
    for answer in (client.get("/"), client.get("/nothing"), client.post("/predict", json={}), client.get("/health")):
        assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in CONTENT_SECURITY_POLICY


def test_every_number_of_an_answer_is_a_page_of_its_own(client: TestClient) -> None:
    answer = client.post("/trace", data={"text": "<the> plot", "model": "reviews"})
    assert answer.status_code == 200
    assert "Every number of an answer" in answer.text
    assert "&lt;the&gt; plot" in answer.text
    assert "sandbox allow-scripts" in answer.headers["content-security-policy"], "it cannot ask the server"
    for form, status, reason in (
        ({"text": " "}, 422, "the text is empty"),
        ({"text": "a" * 101}, 422, "the text has 101 characters"),
        ({"text": "a", "model": "<b>"}, 404, "there is no model &#39;&lt;b&gt;&#39; here"),
    ):
        refused = client.post("/trace", data=form)
        assert refused.status_code == status
        assert reason in refused.text


def test_model_says_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# A card\n", encoding="utf-8")
    (tmp_path / "evaluation").mkdir()
    (tmp_path / "evaluation" / "metrics.json").write_text("{}")  # of another program
    with TestClient(create_app(served(folder=tmp_path))) as client:
        found = client.get("/model").json()
    (model,) = found["models"]
    assert (model["name"], model["labels"], model["card"]) == ("reviews", ["bad", "fine", "good"], "# A card\n")
    assert (model["window"], model["measured"]) == (24, None)
    config = two_readers().config
    assert model["parameters"] == parameter_count(config.model, config.vocab_size, config.n_classes)
    assert found["limits"]["texts"] == Limits().texts


def test_a_card_that_links_to_another_file_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("private", encoding="utf-8")
    (tmp_path / "model").mkdir()
    try:
        (tmp_path / "model" / "README.md").symlink_to(tmp_path / "own.txt")
    except OSError:
        pytest.skip("no links here")
    with TestClient(create_app(served(folder=tmp_path / "model"))) as client:
        assert client.get("/model").json()["models"][0]["card"] == ""


def test_figures_that_are_too_good_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "evaluation").mkdir()
    measured = []
    for too_good in (None, "all figures are too good"):
        evaluation = sample_evaluation(30).model_copy(update={"too_good": too_good})
        (tmp_path / "evaluation" / "metrics.json").write_text(evaluation.model_dump_json(), encoding="utf-8")
        with TestClient(create_app(served(folder=tmp_path))) as client:
            measured.append(client.get("/model").json()["models"][0]["measured"])
    assert measured[0]["rows"] == 30
    assert measured[1] is None


def test_too_many_requests_are_told_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request is being answered and one waits, so a third one is refused."""
    begun, go_on = threading.Event(), threading.Event()
    predictor = Predictor(two_readers())
    answer = predictor.answer

    def slowly(texts: Any, **asked: Any) -> Any:
        begun.set()
        assert go_on.wait(20)
        return answer(texts, **asked)

    model = ServedModel(name="reviews", folder=Path("nowhere"), predictor=predictor)
    app = create_app({"reviews": model}, limits=Limits(waiting=2))
    monkeypatch.setattr(predictor, "answer", slowly)
    answers: list[int] = []
    with TestClient(app) as client:

        def ask() -> None:
            answers.append(client.post("/predict", json={"text": "a"}).status_code)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        threads[0].start()
        assert begun.wait(20)
        assert client.get("/ready").json() == {"status": "ready", "not_reloaded": []}
        threads[1].start()
        for _ in range(200):
            if client.get("/ready").status_code == 503:
                break
        refused = client.post("/predict", json={"text": "a"})
        assert "2 requests wait already" in reason(refused, 429)
        assert refused.headers["retry-after"] == "1"
        assert client.get("/health").json() == {"status": "ok"}
        go_on.set()
        for thread in threads:
            thread.join()
        assert client.get("/ready").status_code == 200
    assert answers == [200, 200]


def test_the_description_has_examples_that_hold_what_answers_hold(client: TestClient) -> None:
    shapes = client.get("/openapi.json").json()["components"]["schemas"]
    example = shapes["Prediction"]["examples"][0]
    found = client.post("/predict", json={"text": TEXT}).json()
    assert example.keys() == found.keys()
    assert example["answers"][0].keys() == found["answers"][0].keys()
    assert example["answers"][0]["reading"].keys() == found["answers"][0]["reading"].keys()
    why = client.post("/explain", json={"text": TEXT}).json()
    assert shapes["Reasons"]["examples"][0].keys() <= why.keys()
    for path, operation in client.get("/openapi.json").json()["paths"].items():
        for method in operation.values():
            assert method["description"], path
    for request in ("PredictRequest", "ExplainRequest"):
        for body in shapes[request]["examples"]:
            asked = client.post("/predict" if request == "PredictRequest" else "/explain", json=body)
            assert asked.status_code == 200, asked.text


def test_the_nearest_training_texts_are_returned_on_request(client: TestClient) -> None:
    assert client.get("/model").json()["models"][0]["keeps_texts"] is False
    assert "does not keep its training texts" in reason(
        client.post("/explain", json={"text": TEXT, "nearest": True}), 422
    )
    with TestClient(create_app(served(trained=keeping(two_readers())))) as other:
        assert other.get("/model").json()["models"][0]["keeps_texts"] is True
        found = other.post("/explain", json={"text": "i loved it", "nearest": True}).json()["nearest"]
        assert [near["row"] for near in found["itself"]] == [11, 14]
        assert len(found["texts"]) == 3
        assert other.post("/explain", json={"text": TEXT}).json()["nearest"] is None
