"""The commands of the README, the tutorial and the first guides, run as written, on tables of the names they use."""

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from fastapi.testclient import TestClient

from glassformer import TextClassifier
from glassformer.data import polarity
from glassformer.data.rows import iterate_rows
from glassformer.desk.project import Project
from glassformer.prediction.shipped import folder_of
from glassformer.serving.api import create_app
from glassformer.serving.served_model import load_models
from tests.cli.terminal import Outcome, glassformer
from tests.fits import quick as quick

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
TUTORIAL = ROOT / "docs" / "tutorial" / "index.md"
HOW_TO = ("train", "evaluate", "predict", "recipes-and-data")
NEEDS_DOWNLOADS = ("data get", "train imdb")
WAITS_FOR_CTRL_C = ("glassformer serve ", "glassformer desk ")
MIN_STEPS = "training.min_steps_per_epoch"
FEW_STEPS = ("--set", f"{MIN_STEPS}=5", "--set", "training.epochs=1")
FEWER = {"train": FEW_STEPS, "doctor": ("--set", "model.preset=tiny")}


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, flags=re.MULTILINE | re.DOTALL)
    assert found, f"README.md has no section {title!r}"
    return found.group(1)


def commands(text: str) -> list[str]:
    """The commands of a page that can be run here."""
    lines = re.findall(r"^    (\S.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), flags=re.MULTILINE)
    left_out = (*NEEDS_DOWNLOADS, *WAITS_FOR_CTRL_C)
    return [line.partition("   #")[0].strip() for line in lines if not any(skip in line for skip in left_out)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables of the pages, small ones, and a model of them."""
    folder = tmp_path_factory.mktemp("desk")
    frame = polarity.generate("train").frame.select("text", "label")
    frame[:40].write_csv(folder / "reviews.csv")
    days = pl.Series([f"2026-{1 + day // 28:02}-{1 + day % 28:02}" for day in range(40)])
    frame[:40].with_columns(created=days).write_csv(folder / "dated-reviews.csv")
    frame[40:60].write_csv(folder / "test.csv")
    frame[60:70].select("text").write_csv(folder / "new.csv")
    (folder / "shards").mkdir()
    for shard in range(2):
        frame[70 + shard : 72 + shard].select("text").write_parquet(folder / "shards" / f"{shard}.parquet")
    (folder / "texts.txt").write_text("\n".join(frame[70:74]["text"]) + "\n", encoding="utf-8")
    out = glassformer("train", folder / "reviews.csv", "--preset", "tiny", "--out", folder / "runs/reviews", *FEW_STEPS)
    assert out.code == 0, out.err
    return folder


@pytest.fixture
def desk(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, with two models, as the current one."""
    shutil.copytree(trained, tmp_path / "desk")
    monkeypatch.chdir(tmp_path / "desk")
    shutil.copytree("runs/reviews", "runs/other")
    return tmp_path / "desk"


@pytest.mark.slow
def test_commands_run_as_written(desk: Path) -> None:
    """On a budget of few steps."""
    shutil.rmtree(desk / "runs")
    ran = commands(section("Five minutes with your own table"))
    assert len(ran) >= 8
    run_all(ran)
    assert pl.read_csv(desk / "answers.csv").columns[:3] == ["text", "prediction", "confidence"]
    assert (desk / "runs/reviews/evaluation/report.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("page", HOW_TO)
def test_commands_of_a_page_run_as_written(page: str, desk: Path) -> None:
    if page == "train":
        shutil.rmtree(desk / "runs")
    ran = commands((ROOT / "docs" / "how-to" / f"{page}.md").read_text(encoding="utf-8"))
    assert len(ran) >= 2
    run_all(ran)


@pytest.mark.slow
def test_the_tutorial_runs_as_written(desk: Path) -> None:
    page = TUTORIAL.read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    run_statement(program, {})
    for name in ("opinions-train.csv", "opinions-test.csv"):
        pl.read_csv(name)[:120].write_csv(name)
    ran = [command for command in commands(page) if not command.startswith("pip ")]  # the extras are installed
    assert len(ran) >= 10
    run_all(ran)
    assert pl.read_csv("opinions-answers.csv").columns[-1] == "needs_review"
    for made in ("runs/opinions/report.html", "runs/opinions/audit.html", "trace.html"):
        assert (desk / made).is_file(), made


@pytest.mark.slow
def test_the_fifteen_minutes_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workbook is opened by the desk, and a model of it answers the request of the page."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/how-to/fifteen-minutes.md").read_text(encoding="utf-8")
    ran = [shlex.split(command) for command in commands(page)]
    (example,) = (arguments for program, *arguments in ran if program == "python")
    runpy.run_path(str(ROOT / example[0]), run_name="__main__")
    (desk,) = re.findall(r"^    glassformer desk (\S+)$", page, flags=re.MULTILINE)
    project = Project.open(tmp_path / "tickets-desk")
    project.take(tmp_path / desk)
    assert sorted(project.store.counts()) == ["delivery", "payment", "return"]
    assert sum(project.store.counts().values()) == 60
    asked = [command for command in commands(page) if command.startswith("glassformer ")]
    assert len(asked) == 4
    run_all(asked)
    assert "needs_review" in next(iterate_rows(Path("answers.xlsx"), rows_per_batch=100)).columns
    assert next(iterate_rows(Path("tickets-to-label.xlsx"), rows_per_batch=100)).height == 50
    (said,) = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    with TestClient(create_app(load_models([Path("runs/tickets")], device="cpu"))) as client:
        (answer,) = client.post("/predict", json=json.loads(re.findall(r"-d '(.*?)'", page)[0])).json()["answers"]
    (shown,) = json.loads(said)["answers"]
    assert shown.keys() <= answer.keys()
    assert shown["probabilities"].keys() == answer["probabilities"].keys()


def run_all(ran: list[str]) -> None:
    for command in ran:
        outcome = run(command)
        assert outcome.code == 0, f"{command}\n{outcome.err}"
        said = outcome.err if "--html" in command else outcome.out  # a page is written, and named
        assert said.strip(), command


def run(command: str) -> Outcome:
    """Run a command in this process, which has imported torch, or in a shell if it needs one."""
    if "|" not in command:
        program, *arguments = shlex.split(command)
        assert program == "glassformer"
        return glassformer(*arguments, *FEWER.get(arguments[0], ()))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, shell=True, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)


def test_a_server_answers_as_written() -> None:
    page = section("Over HTTP")
    (asked,), (said,) = re.findall(r"-d '(.*?)'", page), re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    with TestClient(create_app(load_models([folder_of("sentiment-en")], device="cpu"))) as client:
        answer = client.post("/predict", json=json.loads(asked))

    def rounded(text: str) -> object:
        return json.loads(text, parse_float=lambda number: round(float(number), 4))

    assert rounded(answer.text) == rounded(said)


def test_python_runs_as_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    found = re.search(r"```python\n(.*?)```", section("From Python"), flags=re.DOTALL)
    assert found
    frame = polarity.generate("train").frame[:30]
    scope: dict[str, object] = {"texts": frame["text"].to_list(), "labels": frame["label"].to_list()}
    scope["FEW"] = {MIN_STEPS: 5}
    settings = '(preset="small")'
    assert settings in found.group(1)
    quick = found.group(1).replace(settings, '(preset="tiny", epochs=1, settings=FEW)')
    for statement in quick.strip().splitlines():
        run_statement(statement, scope)
    assert isinstance(scope["classifier"], TextClassifier)
    assert (tmp_path / "model" / "config.json").is_file()


def test_the_examples_of_docs_inside_run_as_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "inside.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert examples
    monkeypatch.chdir(tmp_path)
    frame = polarity.generate("train").frame[:30]
    TextClassifier("tiny", epochs=1, settings={MIN_STEPS: 5}).fit(frame["text"], frame["label"]).save("runs/demo")
    for example in examples:
        run_statement(example, {})


def test_the_examples_of_docs_python_run_as_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "python.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    texts, labels = ["good film", "bad film", "fine film", "dull film"] * 10, ["p", "n"] * 20
    others = {"answer": ["yes", "no"] * 20, "price": range(40), "shop": ["Ulm", "Rome", "Ulm", "Berlin"] * 10}
    scope: dict[str, object] = {"texts": texts, "labels": labels, "numbers": [4, 1] * 20}
    scope |= {"more_texts": ["other film", "new film"], "more_labels": ["m", "m"]}
    scope |= {"frame": pl.DataFrame({"question": texts} | others)}
    quick = r"\1(preset='tiny', settings={'training.epochs': 0}, "
    examples = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert examples
    for example in examples:
        run_statement(re.sub(r"(Text(?:Classifier|Regressor))\(", quick, example), scope)


def run_statement(statement: str, scope: dict[str, object]) -> None:
    exec(compile(statement, "a documented example", "exec"), scope)
