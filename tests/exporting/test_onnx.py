import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.errors import GlassformerError, UsageError
from glassformer.explanation.explain import explain
from glassformer.exporting.onnx import write_onnx
from glassformer.models.build import AnyModelConfig, build_model
from glassformer.models.published.sentiment140 import Sentiment140Config
from glassformer.models.published.vinh_recurrent import VinhRecurrentConfig
from glassformer.prediction.exported import ExportedPredictor
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.serving.served_model import ServedModel
from tests.explanation.test_attribution import ours
from tests.explanation.test_explain import two_readers
from tests.prediction.samples import small_trained_model
from tests.support import randomise, unchecked_shapes
from tests.trained import Trained

TEXTS = ["The plot is thin, but i loved it", "it", "", "zzz", "not again " * 30, "and at all"]


@pytest.fixture(autouse=True, scope="module")
def without_checks_of_shapes() -> Iterator[None]:
    with unchecked_shapes():
        yield


def exported(trained: TrainedModel, folder: Path, **settings: Any) -> ExportedPredictor:
    folder.mkdir(exist_ok=True)
    write_onnx(trained, folder, **({"precision": "float32"} | settings))
    return ExportedPredictor.load(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of both readers."""
    folder = tmp_path_factory.mktemp("export")
    exported(two_readers(), folder)
    return folder


@pytest.fixture(scope="module")
def both(folder: Path) -> tuple[Predictor, ExportedPredictor]:
    trained = two_readers()
    export = ExportedPredictor.load(folder)
    as_in_a_folder = replace(trained, readers=export.trained.readers)  # with weights in float16
    return Predictor(as_in_a_folder), export


def test_it_gives_the_logits_and_records_of_the_model(both: tuple[Predictor, ExportedPredictor]) -> None:
    model, export = both
    assert export.reader_logits(TEXTS).keys() == model.reader_logits(TEXTS).keys()
    for name, logits in model.reader_logits(TEXTS).items():
        assert export.reader_logits(TEXTS)[name] == pytest.approx(logits, abs=1e-4)
    ours, theirs = model.answer(TEXTS), export.answer(TEXTS)
    assert theirs.predictions() == ours.predictions()
    assert theirs.unknown == ours.unknown
    for record, expected in zip(theirs.records(), ours.records(), strict=True):
        assert record["probabilities"] == (
            pytest.approx(expected["probabilities"], abs=1e-4) if expected["probabilities"] else None
        )


WITHOUT = """
import sys
for name in ("torch", "polars", "scipy", "sklearn", "jaxtyping", "onnx"):
    sys.modules[name] = None
"""
LIGHT = f"""{WITHOUT}
import io, json, shlex
from contextlib import redirect_stderr, redirect_stdout
from glassformer.cli.main import main
found = []
for arguments in sys.argv[1:]:
    sys.argv, code = ["glassformer", *shlex.split(arguments)], 0
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    for said in (out, err):
        said.flush()
    found.append([code, *(said.buffer.getvalue().decode() for said in (out, err))])
print(json.dumps(found))
"""
"""Run several commands: their codes, and what each writes to both streams."""
SERVED = f"""{WITHOUT}
import json
from pathlib import Path
from fastapi.testclient import TestClient
from glassformer.serving.api import create_app
from glassformer.serving.served_model import load_models
with TestClient(create_app(load_models([Path(sys.argv[1])], device="auto"))) as client:
    text = {{"text": "the plot is thin"}}
    print(json.dumps({{
        "predict": client.post("/predict", json=text).json(),
        "explain": client.post("/explain", json=text).json(),
        "heads": client.post("/heads", json=text).json(),
        "counterfactual": client.post("/counterfactual", json=text).status_code,
        "trace": client.post("/trace", data=text).text,
        "table": client.post("/table", params={{"name": "t.csv"}}).status_code,
        "model": client.get("/model").json(),
    }}))
"""


SAID = [
    ("predict {} 'the plot is thin' --json", 0, '"prediction": '),
    ("explain {} 'the plot is thin' --counterfactual", 0, "by deletion of words"),
    ("predict {} --file new.csv", 2, "Polars, which is not installed: pip install 'glassformer-light[tab"),
    ("predict nothere x", 2, "nothere: no such model folder"),
    ("predict new.csv x", 2, "new.csv is a file, and a model folder is needed here"),
    ("predict empty x", 2, "empty holds no exported model: it has no config.json"),
    ("predict sentiment-en 'the plot is thin' --json", 0, '"prediction": '),
    ("explain sentiment-en x", 2, "error: sentiment-en needs PyTorch, which is not installed here; export it"),
    ("train new.csv --out model", 2, "`glassformer train` needs PyTorch, which glassformer-light leaves"),
    ("evaluate --help", 0, "Measure a model"),
    ("version --devices", 0, "cpu (the choice of --device auto)"),
]


def test_it_answers_where_nothing_else_is_installed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("text,label\nthe plot,good\n")
    (tmp_path / "empty").mkdir()
    light = tmp_path / "glassformer_light-1.0.dist-info" / "METADATA"
    light.parent.mkdir()
    light.write_text("Metadata-Version: 2.1\nName: glassformer-light\nVersion: 1.0\n")
    command = [sys.executable, "-c", LIGHT, *(arguments.format(folder) for arguments, _, _ in SAID)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    for (arguments, code, says), (found, out, err) in zip(SAID, json.loads(done.stdout), strict=True):
        assert found == code, err
        assert says in (err if code else out), arguments
        assert "Traceback" not in err


def test_it_is_served_where_nothing_else_is_installed(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVED, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["predict"]["answers"][0]["prediction"] in ("bad", "fine", "good")
    assert found["explain"]["method"] == "shapley"
    assert "answers without attention heads" in found["heads"]["reason"]
    assert found["counterfactual"] == 200
    assert "was exported, so it only answers and explains" in found["trace"]
    assert (found["table"], found["model"]["tables"]) == (404, False)
    (model,) = found["model"]["models"]
    assert model["exported"]
    assert model["parameters"] > 0


def test_progress_goes_to_the_end(both: tuple[Predictor, ExportedPredictor]) -> None:
    shares: list[float] = []
    both[1].answer(TEXTS, on_progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_it_explains_by_reading_again(both: tuple[Predictor, ExportedPredictor]) -> None:
    model, export = (explain(each, TEXTS[0]) for each in both)
    assert export.method == "shapley"
    assert [word.total for word in export.words] == pytest.approx([word.total for word in model.words], abs=1e-3)
    assert set(export.agreement) == {"occlusion", "leave-one-out"}
    assert explain(both[1], TEXTS[4]).method == "occlusion"
    with pytest.raises(UsageError, match="an exported model only answers; ask the model folder"):
        explain(both[1], TEXTS[0], heads=True)
    with pytest.raises(UsageError, match="exported model only answers; choose shapley, occlusion, leave-one-out"):
        explain(both[1], TEXTS[0], method="rollout")


@pytest.mark.parametrize(
    "config",
    [
        ours(attention="causal", pooling="last", positions="sinusoidal", residual="post-norm"),
        ours(
            embedding="one-hot", d_model=20, positions="rotary-on-embeddings", feed_forward="relu", pooling="attention"
        ),
        Sentiment140Config(d_model=8, n_layers=1, n_heads=2, d_ff=12, max_seq_len=10),
    ],
    ids=["causal", "one-hot", "sentiment140"],
)
def test_each_design_reads_any_number_of_windows_of_any_width(config: AnyModelConfig, tmp_path: Path) -> None:
    trained = of_design(config)
    export = exported(trained, tmp_path)
    for windows, width in ((1, 1), (4, 7), (2, 10)):
        token_ids = np.random.default_rng(0).integers(0, trained.config.vocab_size, (windows, width))
        mask = np.arange(width) < np.arange(1, windows + 1)[::-1, None] * width // windows
        assert export.read(token_ids, mask) == pytest.approx(Predictor(trained).read(token_ids, mask), abs=1e-4)


def of_design(config: Any) -> TrainedModel:
    trained = small_trained_model()
    torch.manual_seed(3)
    model = randomise(build_model(config, trained.config.vocab_size, 3), std=0.3).eval()
    changed = trained.config.model_copy(update={"model": config})
    return TrainedModel(config=changed, model=model, tokenizer=trained.tokenizer, metrics={})


def test_a_design_that_onnx_does_not_express_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="VinhRecurrent\\) cannot be exported to ONNX"):
        write_onnx(of_design(VinhRecurrentConfig(max_seq_len=10)), tmp_path, precision="float32")


def test_a_model_whose_transformer_is_not_asked_has_none(reviews: Trained, tmp_path: Path) -> None:
    trained = load_model(reviews.folder, CLASSIFIER)
    assert trained.config.asked == ("counting", "body")
    export = exported(trained, tmp_path, precision="int8")  # its table is not found from here, and not needed
    assert not (tmp_path / "model.onnx").exists()
    assert export.logits(TEXTS) == pytest.approx(Predictor(trained).logits(TEXTS))
    assert not ServedModel(name="", folder=tmp_path, predictor=export).depends_on_batch
    with pytest.raises(UsageError, match="without a transformer"):
        export.alone("transformer", ["film"])


def test_int8_is_checked_on_held_out_rows(attending: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(attending.table.parent)
    trained = load_model(attending.folder, CLASSIFIER)
    export = exported(trained, tmp_path / "int8", precision="int8")
    checked = export.trained.config.checked
    assert checked["rows"] > 0
    assert checked["same_labels"] >= 0.995
    floats = exported(trained, tmp_path / "float32")
    size = {name: (tmp_path / name / "model.onnx").stat().st_size for name in ("int8", "float32")}
    assert size["int8"] < size["float32"]
    assert export.alone("transformer", ["good film"]) != pytest.approx(
        floats.alone("transformer", ["good film"]), abs=1e-7
    )
    served = (ServedModel(name="", folder=tmp_path, predictor=each) for each in (export, floats))
    assert [each.depends_on_batch for each in served] == [True, False]
    monkeypatch.setattr("glassformer.targets.labels.exporting.LEAST_AGREEMENT", 1.1)
    (tmp_path / "refused").mkdir()
    with pytest.raises(UsageError, match=r"int8 would change the answers: on \d+ validation rows, "):
        write_onnx(trained, tmp_path / "refused", precision="int8")


def test_int8_needs_rows_to_check_it_on(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="on validation rows, which a model folder does not hold"):
        write_onnx(small_trained_model(), tmp_path, precision="int8")


def test_an_export_that_computes_something_else_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.exporting.onnx.TOLERANCE", 0.0)
    with pytest.raises(GlassformerError, match="does not compute the same"):
        write_onnx(small_trained_model(), tmp_path, precision="float32")
