"""Version 2 of the Open Inference Protocol: by plain HTTP, and by Triton's client where it is installed."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from glassformer.serving.api import create_app
from glassformer.serving.limits import Limits
from tests.browser.serving import running
from tests.serving.samples import ROW, TEXT, of_numbers, of_rows, served

KEY = "key"
INFER = "/v2/models/reviews/infer"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    app = create_app(served(), limits=Limits(body_bytes=2_000, texts=3, characters=200), api_key=KEY)
    with TestClient(app, headers={"authorization": f"Bearer {KEY}"}) as found:
        yield found


def tensor(name: str, values: list[Any], datatype: str = "BYTES", **more: Any) -> dict[str, Any]:
    return {"name": name, "shape": [len(values)], "datatype": datatype, "data": values} | more


def outputs(answer: Any) -> dict[str, list[Any]]:
    assert answer.status_code == 200, answer.text
    return {output["name"]: output["data"] for output in answer.json()["outputs"]}


def test_a_server_and_its_models_describe_themselves(client: TestClient) -> None:
    assert client.get("/v2").json()["name"] == "glassformer"
    for path in ("/v2/health/live", "/v2/health/ready"):
        assert client.get(path, headers={"authorization": ""}).status_code == 200  # of what watches over it
    assert client.get("/v2/models/reviews/ready").json() == {"name": "reviews", "ready": True}
    about = client.get("/v2/models/reviews").json()
    assert about["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    assert {output["name"]: output["datatype"] for output in about["outputs"]} == {
        "prediction": "BYTES",
        **dict.fromkeys(["confidence", "probability_bad", "probability_fine", "probability_good"], "FP64"),
        "unseen_share": "FP64",
        "unlike_training": "BOOL",
    }


def test_answers_are_those_of_predict(client: TestClient) -> None:
    expected = client.post("/predict", json={"texts": [TEXT, " "]}).json()["answers"]
    answer = client.post(INFER, json={"id": "7", "inputs": [tensor("text", [[TEXT], [" "]], shape=[2, 1])]})
    assert (answer.json()["id"], answer.json()["model_name"]) == ("7", "reviews")
    found = outputs(answer)
    assert found["prediction"] == [each["prediction"] for each in expected]
    assert found["confidence"] == [each["confidence"] for each in expected]
    assert found["probability_good"] == [expected[0]["probabilities"]["good"], None]
    wanted = {"inputs": [tensor("text", [TEXT])], "outputs": [{"name": "confidence"}]}
    answer = client.post(INFER, json=wanted)
    assert outputs(answer) == {"confidence": [expected[0]["confidence"]]}
    assert "id" not in answer.json()
    assert client.get("/drift").json()[0]["texts"] >= 2  # like those of /predict


def test_rows_of_several_inputs_are_tensors_of_their_own() -> None:
    with TestClient(create_app(served(trained=of_rows()))) as client:
        sent = [tensor(name, [ROW[name]], "FP64" if name == "price" else "BYTES") for name in ROW]
        assert {found["name"]: found["datatype"] for found in client.get("/v2/models/reviews").json()["inputs"]} == {
            each["name"]: each["datatype"] for each in sent
        }
        (expected,) = client.post("/predict", json={"text": ROW}).json()["answers"]
        assert outputs(client.post(INFER, json={"inputs": sent}))["confidence"] == [expected["confidence"]]
        price = {"name": "price", "shape": [1], "datatype": "INT32", "parameters": {"binary_data_size": 4}}
        header = json.dumps({"inputs": [*sent[:-1], price]}).encode()
        packed = client.post(
            INFER,
            content=header + struct.pack("<i", 4),
            headers={"inference-header-content-length": str(len(header))},
        )
        assert outputs(packed)["confidence"] == [expected["confidence"]]
        for kind, words in (
            ("FP64", "`price`: value 1 is no FP64"),
            ("BOOL", "`price`: the datatype is FP64, not BOOL"),
        ):
            truth = {"inputs": [*sent[:-1], tensor("price", [True], kind)]}  # it would be read as missing
            assert client.post(INFER, json=truth).json()["error"] == words
        said = client.post(INFER, json={"inputs": sent[:2]}).json()["error"]
        assert said == "`inputs`: the model reviews reads review, reply, shop, price; send a tensor for each"


@pytest.mark.parametrize(
    ("datatype", "fit", "odd"),
    [
        ("INT8", (127, -128, 3.0, None), (128, -129, 1.5, 10**400, float("inf"))),
        ("UINT8", (0, 255), (-1, 256, float("nan"))),
        ("INT64", (2**63 - 1, -(2**63)), (2**63,)),
        ("UINT64", (2**64 - 1,), (2**64, -1)),
        ("FP16", (65_504, 65_519.0, -65_519, float("inf"), float("nan")), (65_520, 65_536, -1e6)),
        ("FP32", (1e38, 3.4028235e38, -3.4028235e38), (3.4028236e38, 1e39, 10**400)),
        ("FP64", (1e308, 10**308), (10**309, -(10**400))),
    ],
)
def test_numbers_are_of_their_datatype(datatype: str, fit: tuple[float, ...], odd: tuple[float, ...]) -> None:
    with TestClient(create_app(served(trained=of_rows()))) as client:
        for value in (*fit, *odd):
            sent = [tensor(name, [ROW[name]]) for name in ROW if name != "price"] + [tensor("price", [value], datatype)]
            answer = client.post(INFER, content=json.dumps({"inputs": sent}))
            said = answer.json().get("error")
            assert (answer.status_code, said) == (
                (200, None) if value in fit else (422, f"`price`: value 1 is no {datatype}")
            ), value


def test_a_model_of_a_number_answers_with_its_interval(tmp_path: Path) -> None:
    with TestClient(create_app(of_numbers(tmp_path / "scores"))) as client:
        found = outputs(client.post("/v2/models/scores/infer", json={"inputs": [tensor("text", [TEXT])]}))
        (expected,) = client.post("/predict", json={"text": TEXT}).json()["answers"]
        for name in ("prediction", "interval_low", "interval_high"):
            assert found[name] == [expected[name]]
        kinds = {output["name"]: output["datatype"] for output in client.get("/v2/models/scores").json()["outputs"]}
        assert kinds["prediction"] == "FP64"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"inputs": [tensor("text", ["a"] * 4)]}, 422, "4 texts are more than 3; send them in several requests"),
        ({"inputs": [tensor("text", ["a" * 201])]}, 422, "the text has 201 characters, more than the 200"),
        ({"inputs": [tensor("text", ["a" * 3_000])]}, 413, "the request is larger than 2,000 bytes"),
        ({"inputs": [tensor("words", ["a"])]}, 422, "`inputs`: the model reviews reads text; send a tensor for each"),
        ({"inputs": [tensor("text", ["a"]), tensor("text", ["a"])]}, 422, "send a tensor for each"),
        ({"inputs": [tensor("text", ["a"], shape=[2])]}, 422, "`text`: the shape [2] does not fit 1 value;"),
        ({"inputs": [tensor("text", [1])]}, 422, "`text`: value 1 is no BYTES"),
        ({"inputs": [tensor("text", [1.0], "FP32")]}, 422, "`text`: the datatype is BYTES, not FP32"),
        ({"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES"}]}, 422, "`text`: `data` is missing"),
        ({"inputs": [tensor("text", ["a"])], "outputs": [{"name": "b"}]}, 422, "the model reviews has no 'b', only"),
        ({"inputs": [tensor("text", ["a"])], "input": 1}, 422, "`input` is no key of this request; its keys are"),
        ({"inputs": [tensor("text", ["a"], "TEXT")]}, 422, "`inputs.0.datatype`: Input should be 'BYTES'"),
        ({}, 422, "`inputs` is missing"),
    ],
)
def test_what_cannot_be_answered_is_refused_as_the_protocol_says(
    client: TestClient, body: Any, status: int, said: str
) -> None:
    answer = client.post(INFER, json=body)
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    assert said in answer.json()["error"]


def test_other_refusals(client: TestClient) -> None:
    unknown = client.get("/v2/models/other")
    assert (unknown.status_code, unknown.json()["error"]) == (404, "there is no model 'other' here, only reviews")
    assert "asks for a key" in client.post(INFER, headers={"authorization": ""}).json()["error"]
    assert client.post(INFER, content=b"{").json()["error"].startswith("the body is not JSON: Expecting")
    packed = {"name": "text", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": 6}}
    header = json.dumps({"inputs": [packed]}).encode()
    for bytes_sent, length in ((b"\x09\0\0\0ab", len(header)), (b"ab", len(header)), (b"\x02\0\0\0\xff\xff", 9_999)):
        headers = {"inference-header-content-length": str(length)}
        answer = client.post(INFER, content=header + bytes_sent, headers=headers)
        assert answer.status_code == 422, answer.text
    content = b'{"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["a"]}]}'
    headers = {"inference-header-content-length": str(len(content))}
    said = client.post(INFER, content=content + b"x", headers=headers).json()["error"]
    assert said == "1 byte follows the JSON, and no `binary_data_size` claims it"


def test_tritons_client_is_answered() -> None:
    http = pytest.importorskip("tritonclient.http", reason="pip install 'tritonclient[http]' to ask with it")
    with running(served(), api_key=KEY) as url:
        client = http.InferenceServerClient(url.removeprefix("http://").rstrip("/"))
        headers = {"Authorization": f"Bearer {KEY}"}
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("reviews", headers=headers)
        assert client.get_model_metadata("reviews", headers=headers)["inputs"][0]["name"] == "text"
        texts = np.array([TEXT, "not at all", ""], dtype=object)
        predictions = []
        for binary in (True, False):
            sent = http.InferInput("text", [3], "BYTES")
            sent.set_data_from_numpy(texts, binary_data=binary)
            found = client.infer("reviews", [sent], headers=dict(headers))  # it writes into them
            predictions.append(found.as_numpy("prediction").tolist())
            assert np.isnan(found.as_numpy("probability_good")).tolist() == [False, False, True]
        assert predictions[0] == predictions[1]
        assert predictions[0][0] == "bad"
        with pytest.raises(http.InferenceServerException, match="there is no model"):
            client.infer("other", [sent], headers=headers)
        client.close()
