"""Commands read manipulated ONNX exports.

Each ends in one sentence, quickly and with little memory.
"""

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from fastapi.testclient import TestClient
from onnx import TensorProto, helper

from glassformer.exporting.onnx import write_onnx
from glassformer.serving.api import create_app
from glassformer.serving.feedback import FeedbackFile
from glassformer.serving.served_model import load_models
from tests.attacks.answer import answered, nothing_lost
from tests.cli.terminal import glassformer
from tests.explanation.test_explain import two_readers
from tests.support import unchecked_shapes


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    with unchecked_shapes():
        write_onnx(two_readers(), folder, precision="float32")
    return folder


@pytest.fixture
def folder(export: Path, tmp_path: Path) -> Path:
    return shutil.copytree(export, tmp_path / "model")


Nodes = Sequence[onnx.NodeProto]
INPUTS = [("token_ids", TensorProto.INT64), ("attention_mask", TensorProto.BOOL)]


def model_of(
    nodes: Nodes, weights: Sequence[onnx.TensorProto] = (), *, width: int, kind: int = TensorProto.FLOAT
) -> onnx.ModelProto:
    """A model with the inputs and outputs of an export. With the width 0, its output is one number."""
    given = [helper.make_tensor_value_info(name, kind, ["batch", "seq"]) for name, kind in INPUTS]
    logits = helper.make_tensor_value_info("logits", kind, ["batch", width] if width else [])
    graph = helper.make_graph(nodes, "graph", given, [logits], list(weights))
    domains = [helper.make_opsetid("", 18), helper.make_opsetid("odd", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=10)


def endless_loop() -> onnx.NodeProto:
    truth = helper.make_tensor_value_info("go_on", TensorProto.BOOL, [])
    turn = helper.make_tensor_value_info("turn", TensorProto.INT64, [])
    body = helper.make_graph(
        [helper.make_node("Identity", ["given"], ["go_on"])],
        "body",
        [turn, helper.make_tensor_value_info("given", TensorProto.BOOL, [])],
        [truth],
    )
    return helper.make_node("Loop", ["", "yes"], [], body=body)


def elsewhere() -> onnx.TensorProto:
    tensor = onnx.numpy_helper.from_array(np.ones(3, np.float32), "weights")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    return tensor


def with_function(model: onnx.ModelProto) -> onnx.ModelProto:
    node = helper.make_node("Identity", ["x"], ["y"])
    model.functions.append(helper.make_function("odd", "f", ["x"], ["y"], [node], [helper.make_opsetid("", 18)]))
    return model


def grown(weight: onnx.TensorProto) -> onnx.TensorProto:
    weight.dims[:] = [1 << 40]
    return weight


def of_dimensions(number: int) -> onnx.TensorProto:
    return onnx.TensorProto(dims=[3] * number, data_type=TensorProto.FLOAT, name="w")


def of_attributes(number: int) -> onnx.NodeProto:
    return onnx.NodeProto(op_type="Add", attribute=[onnx.AttributeProto(name="a")] * number)


def of(*names: str) -> Nodes:
    return [helper.make_node(name.rpartition(".")[2], ["x"], ["y"], domain=name.rpartition(".")[0]) for name in names]


ONES = onnx.numpy_helper.from_array(np.ones(3, np.float32), "weights")
BOMB = [
    helper.make_node("Cast", ["token_ids"], ["numbers"], to=TensorProto.FLOAT),
    helper.make_node("ReduceSum", ["numbers"], ["one"], keepdims=0),
    helper.make_node("Expand", ["one", "shape"], ["large"]),
    helper.make_node("ReduceSum", ["large"], ["sum"], keepdims=0),
    helper.make_node("Add", ["numbers", "sum"], ["logits"]),
]
SHAPE = onnx.numpy_helper.from_array(np.array([10**9]), "shape")


def cast(kind: int) -> Nodes:
    return [helper.make_node("Cast", ["token_ids"], ["logits"], to=kind)]


HOSTILE: dict[str, tuple[onnx.ModelProto, tuple[str, ...]]] = {
    "loop-without-end": (model_of([endless_loop()], width=2), ("operator 'Loop'",)),
    "if": (model_of(of("If"), width=2), ("operator 'If'",)),
    "scan": (model_of(of("Add", "Scan"), width=2), ("operator 'Scan'",)),
    "domain-of-others": (model_of(of("odd.Add"), width=2), ("operator 'odd.Add'",)),
    "operator-of-microsoft": (model_of(of("com.microsoft.Attention"), width=2), ("com.microsoft.Attention",)),
    "graph-in-an-operator": (
        model_of([helper.make_node("Add", ["x"], ["y"], body=model_of([], width=2).graph)], width=2),
        ("graph inside Add",),
    ),
    "function": (with_function(model_of(of("odd.f"), width=2)), ("functions",)),
    "weights-in-another-file": (model_of([], [elsewhere()], width=2), ("another file",)),
    "weights-of-4-TB": (model_of([], [grown(onnx.numpy_helper.from_array(np.ones(3), "w"))], width=2), ("weights",)),
    "weights-of-300000-dimensions": (model_of([], [of_dimensions(300_000)], width=2), ("more than 100 dimensions",)),
    "step-of-100000-attributes": (model_of([of_attributes(100_000)], width=2), ("more than 100 attributes",)),
    "no-graph": (onnx.ModelProto(ir_version=10), ("no graph",)),
    "an-input-that-is-missing": (model_of(of("Neg"), width=2), ("damaged",)),
    "logits-of-one-number": (
        model_of([*BOMB[:1], helper.make_node("ReduceSum", ["numbers"], ["logits"], keepdims=0)], width=0),
        ("does not match config.json",),
    ),
    "logits-that-are-words": (
        model_of(cast(TensorProto.STRING), width=3, kind=TensorProto.STRING),
        ("no logits of each text",),
    ),
    "logits-of-another-width-than-it-says": (model_of(cast(TensorProto.FLOAT), width=3), ("no logits of each text",)),
}
BROKE = {name for name in HOSTILE if name.startswith(("logits", "weights-of-300000", "step-of"))}


@pytest.mark.usefixtures("unsealed")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.mended] if name in BROKE else []) for name in HOSTILE]
)
def test_a_hostile_graph_is_refused(name: str, folder: Path) -> None:
    model, words = HOSTILE[name]
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    begun = time.perf_counter()
    with nothing_lost(folder):
        answered(glassformer("predict", folder, "a good film"), "model.onnx", *words, code=1)
    assert time.perf_counter() - begun < 5


@pytest.mark.usefixtures("unsealed")
def test_a_graph_that_needs_gigabytes_gets_none(folder: Path) -> None:
    width = len(json.loads((folder / "config.json").read_text())["target"]["labels"])
    bomb = model_of(BOMB, [SHAPE], width=width).SerializeToString()
    (folder / "model.onnx").write_bytes(bomb)
    answered(glassformer("predict", folder, "a good film"), "model.onnx", "more than 2 GiB of memory", code=1)


@pytest.mark.usefixtures("unsealed")
@pytest.mark.parametrize("expanded", ["one", pytest.param("weight", marks=pytest.mark.mended)])
def test_a_run_that_takes_too_long_is_ended(expanded: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps on weights alone do not depend on a text. ONNX Runtime took them as it loaded the file, without a limit."""
    monkeypatch.setattr("glassformer.prediction.exported._MOST_SECONDS", 0.2)
    width = len(json.loads((folder / "config.json").read_text())["target"]["labels"])
    large = onnx.numpy_helper.from_array(np.array([1_000, 1_000]), "shape")
    weight = onnx.numpy_helper.from_array(np.array(1, np.float32), "weight")
    steps = [helper.make_node("MatMul", [f"x{step}", "x0"], [f"x{step + 1}"]) for step in range(1_000)]
    nodes = [*BOMB[:2], helper.make_node("Expand", [expanded, "shape"], ["x0"]), *steps]
    nodes += [helper.make_node("ReduceSum", ["x1000"], ["sum"], keepdims=0), BOMB[-1]]
    (folder / "model.onnx").write_bytes(model_of(nodes, [large, weight], width=width).SerializeToString())
    answered(glassformer("predict", folder, "a good film"), "model.onnx", "took longer than 0.2 seconds", code=1)


@pytest.mark.usefixtures("unsealed")
@pytest.mark.parametrize("cut", [1, 100, 1_000, -1])
def test_a_file_that_is_cut_short_is_refused(cut: int, folder: Path) -> None:
    file = folder / "model.onnx"
    file.write_bytes(file.read_bytes()[:cut])
    answered(glassformer("predict", folder, "a good film"), "model.onnx", code=1)


@pytest.mark.mended
@pytest.mark.usefixtures("unsealed")
def test_a_window_without_end_is_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_seq_len": 10**30}))
    answered(glassformer("predict", folder, "a good film"), "config.json", "max_seq_len", "damaged", code=1)


ODD_RECORDS: dict[str, tuple[dict[str, Any], str]] = {
    "data-a-list": ({"made_of": {"data": [1]}}, "made_of.data"),
    "created-a-number": ({"made_of": {"created": 7}}, "made_of.created"),
    "group-a-list": ({"made_of": {"recipe": {"validation": {"group": ["a"]}}}}, "made_of.recipe.validation.group"),
    "label-column-a-list": ({"made_of": {"data": {"label_column": ["a"]}}}, "made_of.data.label_column"),
    "share-of-9": ({"held_out_answers": {"rows": 9, "labels": {"good": 9}, "confidence": None}}, "labels.good"),
    "share-below-0": (
        {"held_out_answers": {"rows": 9, "labels": {}, "confidence": None, "unlike_training": -1}}, "unlike_training"
    ),
}  # fmt: skip


@pytest.mark.mended
@pytest.mark.usefixtures("unsealed")
@pytest.mark.parametrize("name", ODD_RECORDS)
def test_odd_records_are_refused_before_anything_reads_them(name: str, folder: Path) -> None:
    records, words = ODD_RECORDS[name]
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | records))
    answered(glassformer("predict", folder, "a good film"), "config.json", words, "damaged", code=1)


@pytest.mark.mended
@pytest.mark.usefixtures("unsealed")
def test_a_server_needs_no_records_of_an_export(folder: Path, tmp_path: Path) -> None:
    """Also what is kept as usual may be of any size."""
    config = json.loads((folder / "config.json").read_text())
    usual = {"rows": 9, "labels": {}, "confidence": {"mean": 0.5, "sd": 1e200}}
    (folder / "config.json").write_text(json.dumps(config | {"made_of": {}, "held_out_answers": usual}))
    models = load_models([folder], device="cpu")
    with TestClient(create_app(models, feedback=FeedbackFile(tmp_path / "kept.jsonl"))) as client:
        assert client.post("/predict", json={"texts": ["good"] * 100}).status_code == 200
        assert client.post("/feedback", json={"text": "good", "label": "good"}).status_code == 200
        assert [client.get(path).status_code for path in ("/model", "/drift", "/metrics")] == [200] * 3
    assert json.loads((tmp_path / "kept.jsonl").read_text())["label"] == "good"


@pytest.mark.usefixtures("unsealed")
def test_a_name_that_is_no_utf_8_leaves_the_output_clean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ONNX Runtime cannot say its name, and printed that to standard output. Found by changing bytes at random."""
    content = model_of(of("Neg"), width=2).SerializeToString()
    (folder / "model.onnx").write_bytes(content.replace(b"logits", b"logit\xe6"))
    answered(glassformer("predict", folder, "a good film"), "model.onnx", code=1)
    assert "EP Error" not in capsys.readouterr().out
