"""What can be done with a table or a model: each is tried for every kind of target and of inputs."""

import csv
import json
import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi.testclient import TestClient

from glassformer import TextClassifier, TextRegressor
from glassformer.errors import UsageError
from glassformer.estimators.text_estimator import TextEstimator
from glassformer.exporting.export import FORMATS
from glassformer.prediction.exported import MODEL_FILE
from glassformer.serving.api import create_app
from glassformer.serving.feedback import FeedbackFile
from glassformer.serving.served_model import ServedModel
from tests.checkpoints import write_checkpoint
from tests.exporting.test_web import runtime
from tests.matrix.samples import ALONE, OPTIONS, QUICK, SHORT, SMALL, WORDS, Cell, RefusedError
from tests.support import unchecked_shapes

Try = Callable[[Cell], None]


@dataclass(frozen=True, kw_only=True)
class Thing:
    """Something to do.

    Attributes:
        name: as the table of the docs shows it.
        command: the command that does it. None: it is done from Python.
        slow: whether it takes seconds.
    """

    name: str
    command: str | None
    run: Try
    slow: bool = False


THINGS_TO_DO: dict[str, Thing] = {}
"""What the matrix tries, by name."""


def tried(name: str, command: str | None, *, slow: bool = False) -> Callable[[Try], Try]:
    def add(run: Try) -> Try:
        THINGS_TO_DO[name] = Thing(name=name, command=command, run=run, slow=slow)
        return run

    return add


def config_of(folder: Path) -> Any:
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def answer(cell: Cell, folder: Path) -> Any:
    """The answer of a model to a text, which is of the right kind."""
    (found,) = cell.run("predict", folder, cell.text, "--json").document["answers"]
    cell.check(found["prediction"])
    return found


def answers_well(cell: Cell, folder: Path) -> None:
    """Assert that a model answers a text as it should."""
    assert answer(cell, folder)


def both_say_why(cell: Cell, folder: Path) -> None:
    """Assert that both readers of a model have a share in its answer to a text."""
    words = cell.run("explain", folder, cell.text, "--json").document["words"]
    assert {word["word"].lower() for word in words} > {"a", "good"}
    for reader in ("counting", "transformer"):
        assert any(word[reader] for word in words), reader


@tried("train", "train")
def train(cell: Cell) -> None:
    for folder, counting in ((cell.both, True), (cell.alone, False)):
        config = config_of(folder)
        assert config["target"]["kind"] == cell.target
        assert (folder / "counting.json").is_file() == counting
        read = config.get("inputs", {"texts": ["text"], "columns": []})
        assert read["texts"] == OPTIONS[cell.inputs].get("text", ["text"])
        assert [column["name"] for column in read["columns"]] == OPTIONS[cell.inputs].get("columns", [])


@tried("train --minutes", "train")
def minutes(cell: Cell) -> None:
    said = cell.run("train", cell.table, "--out", cell.out / "m", *cell.flags, *SMALL, *QUICK, "--minutes", "0.0001")
    assert "the model will answer by counting and the body alone" in said.err
    answers_well(cell, cell.out / "m")


@tried("train --pretrain", "train")
def pretrain(cell: Cell) -> None:
    cell.train(cell.out / "m", *ALONE, "--set", "pretraining.max_steps=2")
    assert config_of(cell.out / "m")["data"]["pretraining"]["texts"] > 20
    answers_well(cell, cell.out / "m")


@tried("train --set model.body=english", "train")
def body(cell: Cell) -> None:
    assert config_of(cell.both)["recipe"]["model"]["body"] == "english"
    assert "body" in config_of(cell.both)["readers"]
    answers_well(cell, cell.both)


@tried("train --set model.body=hf:FOLDER", "train")
def encoder(cell: Cell) -> None:
    folder, made = cell.out / "encoder", cell.out / "m"
    write_checkpoint(folder, "bert", "Model", num_hidden_layers=1)
    cell.train(made, *SHORT, "--set", "model.counting=auto", "--set", f"model.body=hf:{folder}")
    assert "encoder" in config_of(made)["readers"]
    answers_well(cell, made)


@tried("train --rules", "train")
def rules(cell: Cell) -> None:
    file = cell.out / "rules.txt"
    says: tuple[Any, str, str] = {"number": (3.5, "3.5 always", "+1")}.get(cell.target, ("good", "good always", "good"))
    file.write_text(f'"number 7" -> {says[1]}\n/fa+ir/ -> {says[2]}\n')
    cell.train(cell.out / "m", "--set", "model.body=none", "--set", "model.counting=auto", "--rules", file)
    row = cell.rows(7, 1)[0]
    text = str(row["text"]) if cell.inputs == "one text" else json.dumps(row)
    (found,) = cell.run("predict", cell.out / "m", text, "--json").document["answers"]
    assert says[0] in ([found["prediction"]] if cell.target != "several" else found["prediction"])
    asked = () if cell.target == "number" else ("--label", "good")
    explained = cell.run("explain", cell.out / "m", text, *asked, "--json").document
    assert explained["rules"][0]["effect"] == "decides"
    answers_well(cell, cell.out / "m")


@tried("train --init", "train")
def init(cell: Cell) -> None:
    cell.run("train", cell.table, "--out", cell.out / "m", *cell.flags, *SHORT, *ALONE, "--init", cell.alone)
    assert config_of(cell.out / "m")["init"]
    answers_well(cell, cell.out / "m")


@tried("train --group", "train")
def group(cell: Cell) -> None:
    table, other = cell.out / "grouped.csv", cell.out / "test.csv"
    authors = [f"author {number % 8}" for number in range(60)]
    pl.read_csv(cell.table).with_columns(author=pl.Series(authors)).write_csv(table)
    pl.read_csv(cell.new("new.csv")).with_columns(writer=pl.Series(authors[4:16])).write_csv(other)
    said = replace(cell, table=table).train(cell.out / "m", *ALONE, "--group", "author")
    assert "held out, 2 of 8 groups of 'author'" in said.err
    said = cell.run("evaluate", cell.out / "m", other, "--group", "writer", "--out", cell.out / "e")
    assert "measured rows have a group that was in training" in said.err
    with refusing():
        fitted = estimator(cell).fit(rows_in_memory(cell), cell.learned, groups=authors)
    assert fitted.predictor_.trained.config.remembered.recipe.validation.group == "group"


@tried("train --add", "train")
def add(cell: Cell) -> None:
    cell.run("train", "--init", cell.alone, "--add", cell.new("more.csv"), "--out", cell.out / "m", *SHORT[:2])
    data, before = (config_of(folder)["data"] for folder in (cell.out / "m", cell.alone))
    assert data["rows"] + data["validation_rows"] == before["rows"] + before["validation_rows"] + 12
    answers_well(cell, cell.out / "m")


@tried("train --keep-texts", "train")
def keep_texts(cell: Cell) -> None:
    found = cell.run("explain", cell.alone, cell.text, "--nearest", "--json").document
    assert any(near["similarity"] > 0 for near in found["nearest"]["texts"])


@tried("train --snapshots", "train")
def snapshots(cell: Cell) -> None:
    page = (cell.alone / "snapshots" / "time-lapse.html").read_text(encoding="utf-8")
    assert cell.rows(0, 1)[0]["text"].split()[-1] in page


@tried("evaluate", "evaluate")
def evaluate(cell: Cell) -> None:
    found = cell.run("evaluate", cell.both, cell.new("test.csv"), "--out", cell.out / "e", "--json").document
    main = found["metrics"]["r2" if cell.target == "number" else "accuracy"]
    assert main["low"] <= main["value"] <= main["high"]
    assert (cell.out / "e" / "report.html").is_file()


@tried("compare", "compare")
def compare(cell: Cell) -> None:
    found = cell.run("compare", cell.both, cell.alone, cell.new("test.csv"), "--json").document
    assert found["rows"] == 12


@tried("predict", "predict")
def predict(cell: Cell) -> None:
    answers_well(cell, cell.both)
    lines = "\n".join(cell.text for _ in range(2)).encode()
    for line in cell.run("predict", cell.both, "--jsonl", stdin=lines).out.splitlines():
        cell.check(json.loads(line)["prediction"])


@tried("predict --file", "predict")
def predict_file(cell: Cell) -> None:
    cell.run("predict", cell.both, "--file", cell.new("new.csv", labelled=False), "--out", cell.out / "a.jsonl")
    lines = (cell.out / "a.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 12
    for line in lines:
        cell.check(json.loads(line)["prediction"])


def shards(cell: Cell, *engine: object) -> None:
    folder = cell.out / "shards"
    folder.mkdir()
    for number in range(2):
        cell.new(f"shards/{number}.csv", 12 * number, labelled=False)
    cell.run("predict", cell.both, "--file", folder, "--out", cell.out / "answers", *engine)
    answered = [pl.read_csv(file) for file in sorted((cell.out / "answers").glob("*.csv"))]
    assert [frame["prediction"].len() for frame in answered] == [12, 12]


@tried("predict FOLDER", "predict")
def predict_shards(cell: Cell) -> None:
    shards(cell)


@tried("predict --engine ray", "predict", slow=True)
def predict_with_ray(cell: Cell) -> None:
    shards(cell, "--engine", "ray", "--workers", 1)


@tried("explain", "explain")
def explain(cell: Cell) -> None:
    both_say_why(cell, cell.both)
    found = cell.run("explain", cell.alone, cell.text, "--json").document
    assert {word["word"].lower() for word in found["words"]} > {"a", "good"}


@tried("explain --file", "explain")
def explain_file(cell: Cell) -> None:
    new = cell.new("new.csv", count=3, labelled=False)
    cell.run("explain", cell.both, "--file", new, "--out", cell.out / "why.csv")
    assert len(pl.read_csv(cell.out / "why.csv")) == 3


@tried("explain --counterfactual", "explain")
def counterfactual(cell: Cell) -> None:
    found = cell.run("explain", cell.both, cell.text, "--counterfactual", "--json").document
    assert found["counterfactual"]


@tried("trace", "trace")
def trace(cell: Cell) -> None:
    page = cell.out / "trace.html"
    found = cell.run("trace", cell.alone, cell.text, "--html", page, "--json").document
    assert page.stat().st_size > 10_000
    assert found["asked"] == ["transformer"]


@tried("learn-word", "learn-word")
def learn_word(cell: Cell) -> None:
    words = ("learn-word", cell.alone, "superb", "--definition", "a good film", "--out", cell.out / "m")
    assert [word["word"] for word in cell.run(*words, "--json").document["words"]] == ["superb"]
    answers_well(cell, cell.out / "m")


@tried("costs", "costs")
def costs(cell: Cell) -> None:
    model = shutil.copytree(cell.both, cell.out / "m")
    wanted = "bad" if answer(cell, model)["prediction"] != "bad" else "good"
    assert cell.run("costs", model, f"{wanted}=1e9", "review=1e-9", "--json").document["costs"]
    found = answer(cell, model)
    assert wanted in ([found["prediction"]] if cell.target != "several" else found["prediction"])
    assert found["needs_review"] is True
    assert cell.run("verify", model).out


@tried("audit", "audit")
def audit(cell: Cell) -> None:
    found = cell.run("audit", cell.both, "--out", cell.out, "--json").document
    assert {finding["level"] for finding in found["findings"]} >= {"good"}
    assert (cell.out / "audit.html").is_file()


@tried("doctor", "doctor", slow=True)
def doctor(cell: Cell) -> None:
    found = cell.run("doctor", cell.table, *cell.flags, *SMALL, *QUICK, "--json").document
    assert found["findings"]


@tried("labels", "labels")
def labels(cell: Cell) -> None:
    cell.run("labels", cell.table, *cell.flags, "--out", cell.out / "check.csv")
    with (cell.out / "check.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        assert 1 <= int(line["row"]) <= 60
    chosen = [line | {"new_label": line["label"]} for line in lines[:1]]
    if chosen:
        pl.DataFrame(chosen).write_csv(cell.out / "filled.csv")
        mended = cell.out / "mended.csv"
        cell.run("labels", cell.table, *cell.flags, "--apply", cell.out / "filled.csv", "--out", mended)
        assert len(pl.read_csv(mended)) == 60


@tried("labels --next", "labels")
def labels_next(cell: Cell) -> None:
    more = cell.new("more.csv", labelled=False)
    cell.run("labels", cell.table, *cell.flags, "--next", 3, more, "--out", cell.out / "next.csv")
    chosen = pl.read_csv(cell.out / "next.csv")
    assert len(chosen) == 3
    assert not any(chosen["label"])


@tried("search", "search", slow=True)
def search(cell: Cell) -> None:
    flags = (*cell.flags, *SMALL, *QUICK, *ALONE, "--set", "training.epochs=1", "--over", "dropout=.1,.3")
    found = cell.run("search", cell.table, "--minutes", 5, "--out", cell.out / "s", *flags, "--json").document
    assert len(found["trials"]) == 2
    assert (cell.out / "s" / "search.html").is_file()


@tried("compare-variants", "compare-variants", slow=True)
def compare_variants(cell: Cell) -> None:
    flags = (*cell.flags, *SMALL, "--vary", "norm=rms,layer", "--seeds", 2, "--steps", 2, "--device", "cpu")
    found = cell.run("compare-variants", cell.table, "--out", cell.out / "v", *flags, "--json").document
    assert len(found["variants"]) == 2
    assert (cell.out / "v" / "report.html").is_file()


@tried("distil", "distil")
def distil(cell: Cell) -> None:
    texts = cell.new("texts.csv", count=30, labelled=False)
    flags = ("--into", "tiny", *SMALL, *SHORT)
    cell.run("distil", cell.both, texts, "--labelled", cell.table, "--out", cell.out / "m", *flags)
    if (learned := config_of(cell.out / "m")["target"]["kind"]) != cell.target:
        raise RefusedError(f"the student learned {learned}")
    answers_well(cell, cell.out / "m")


def export(to: str) -> Try:
    def run(cell: Cell) -> None:
        more = ("--runtime", runtime(cell.out / "package")) if to == "web" else ()
        folder = cell.both if to != "transformers" else cell.alone
        with unchecked_shapes():
            cell.run("export", folder, "--format", to, "--out", cell.out / "e", *more)
        if to == "transformers":
            assert (cell.out / "e" / "model.safetensors").is_file()
        elif to == "web":
            assert f'data-file="{MODEL_FILE}"' in (cell.out / "e" / "index.html").read_text(encoding="utf-8")
        else:
            ours, theirs = (answer(cell, folder)["readers"] for folder in (cell.both, cell.out / "e"))
            assert theirs == pytest.approx(ours, abs=1e-4 if to == "onnx" else 0.1)
            both_say_why(cell, cell.out / "e")

    return run


for _format in FORMATS:
    tried(f"export {_format}", "export")(export(_format))


@contextmanager
def served(cell: Cell) -> Iterator[TestClient]:
    model = ServedModel.load("model", cell.both, device="cpu")
    with TestClient(create_app({"model": model}, feedback=FeedbackFile(cell.out / "kept.jsonl"))) as client:
        yield client


def found_in(answer: Any) -> Any:
    """What a server answered, which may refuse in a sentence."""
    if answer.status_code == 422:
        raise RefusedError(answer.json()["reason"])
    assert answer.status_code == 200, answer.text
    return answer.json() if answer.headers["content-type"] == "application/json" else answer.text


def asked(cell: Cell) -> Any:
    return {"text": cell.given}


@tried("serve", "serve")
def serve(cell: Cell) -> None:
    with served(cell) as client:
        cell.check(found_in(client.post("/predict", json=asked(cell)))["answers"][0]["prediction"])
        assert found_in(client.post("/explain", json=asked(cell)))["words"]


@tried("serve table", "serve")
def serve_table(cell: Cell) -> None:
    with served(cell) as client:
        body = cell.new("new.csv").read_bytes()
        said = found_in(client.post("/table", content=body, params={"name": "new.csv"}))
    result = json.loads(said.splitlines()[-1])["result"]
    assert len(pl.read_csv(result["answers"][0]["csv"].encode())) == 12
    if not result["measured"]:
        raise RefusedError("the table is answered and not measured")


@tried("serve drift", "serve")
def serve_drift(cell: Cell) -> None:
    with served(cell) as client:
        found_in(client.post("/predict", json=asked(cell)))
        (drift,) = found_in(client.get("/drift"))
    assert drift["texts"] == 1
    assert drift["figures"]


@tried("serve feedback", "serve")
def serve_feedback(cell: Cell) -> None:
    with served(cell) as client:
        right: Any = {"several": ["good"], "number": 4.5}.get(cell.target, "good")
        found_in(client.post("/feedback", json=asked(cell) | {"label": right}))
    (kept,) = map(json.loads, (cell.out / "kept.jsonl").read_text(encoding="utf-8").splitlines())
    assert kept["label"] == right
    assert {name: kept[name] for name in cell.row} == cell.row
    cell.run("train", "--init", cell.alone, "--add", cell.out / "kept.jsonl", "--out", cell.out / "m", *SHORT[:2])
    before, after = (config_of(each)["data"] for each in (cell.alone, cell.out / "m"))
    assert after["rows"] + after["validation_rows"] == before["rows"] + before["validation_rows"] + 1


def estimator(cell: Cell, **more: Any) -> TextEstimator:
    usual: dict[str, Any] = {"preset": "tiny", "epochs": 1, "device": "cpu", **OPTIONS[cell.inputs]}
    assignments = [flag.split("=") for flag in (*SMALL, *QUICK) if "." in flag]
    settings = {name: float(value) if "." in value else int(value) for name, value in assignments}
    kind = TextRegressor if cell.target == "number" else TextClassifier
    order: dict[str, Any] = {"order": list(WORDS)} if cell.target == "ordered" else {}
    return kind(**usual, **order, settings=settings | {"model.counting": "none"}, **more)


def rows_in_memory(cell: Cell, first: int = 0, count: int = 60) -> list[Any]:
    found = [{name: value for name, value in row.items() if name != "label"} for row in cell.rows(first, count)]
    return [row["text"] for row in found] if cell.inputs == "one text" else found


@contextmanager
def refusing() -> Iterator[None]:
    try:
        yield
    except (UsageError, AttributeError) as error:
        raise RefusedError(str(error)) from error


@tried("Python", None)
def python(cell: Cell) -> None:
    X = rows_in_memory(cell)  # noqa: N806 (scikit-learn's)
    with refusing():
        fitted = estimator(cell).fit(X, cell.learned)
        answers, why = fitted.predict(X[:3]), fitted.explain(X[0])
    assert len(answers) == 3
    assert why.words
    again = pickle.loads(pickle.dumps(fitted))
    assert list(map(str, again.predict(X[:3]))) == list(map(str, answers))
    assert type(fitted).load(fitted.save(cell.out / "m")).explain(X[0]).words == why.words


@tried("Python add", None)
def python_add(cell: Cell) -> None:
    with refusing():
        fitted = estimator(cell).fit(rows_in_memory(cell), cell.learned)
        fitted.add(rows_in_memory(cell, 1_000, 12), cell.learned[:12])
    data = fitted.predictor_.trained.config.data
    assert data["rows"] + data["validation_rows"] == 72
