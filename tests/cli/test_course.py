"""`glassformer course` lists lessons, writes them, and opens them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.course.lessons import lessons
from glassformer.data.installed import pip_install
from tests.cli.terminal import glassformer, misused
from tests.test_house import ROOT


@pytest.fixture(autouse=True)
def desk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_number_it_lists_the_lessons() -> None:
    listed = glassformer("course")
    assert listed.code == 0
    assert [line.split()[0] for line in listed.out.splitlines()] == [str(each.number) for each in lessons()]
    assert "start: glassformer course 1" in listed.err
    assert glassformer("course", "--json").document["lessons"][0]["title"] == "Averaging the past"


def test_a_lesson_is_written_as_a_notebook_or_a_script(desk: Path) -> None:
    written = glassformer("course", 2)
    assert written.out == "02-query-and-key.ipynb: lesson 2, Attention by query and key\n"
    assert "glassformer course 2 --open" in written.err
    assert json.loads((desk / "02-query-and-key.ipynb").read_text(encoding="utf-8"))["nbformat"] == 4
    as_script = glassformer("course", 2, "--out", "lesson.py", "--json")
    assert as_script.document == {"lesson": 2, "title": "Attention by query and key", "file": "lesson.py"}
    assert "python other.py" in glassformer("course", 2, "--out", "other.py").err


def test_misuse_is_said_in_a_sentence(desk: Path) -> None:
    misused(glassformer("course", 99), "there is no lesson '99'; give a number from 1 to")
    misused(glassformer("course", "x"), "there is no lesson 'x'; give a number from 1 to")
    misused(glassformer("course", "--out", "lesson.py"), "name a lesson too, for example: glassformer course 1")
    misused(glassformer("course", 1, "--out", "lesson.txt"), "lesson.txt: a lesson is written as .ipynb or .py")
    misused(glassformer("course", 1, "--out", "no/lesson.py"), "there is no folder no")
    misused(glassformer("course", 1, "--out", desk), "is written as .ipynb or .py")
    (desk / "lost.py").symlink_to("gone")
    misused(glassformer("course", 1, "--out", "lost.py"), "lost.py is a link that leads nowhere; remove it")
    assert glassformer("course", 1).code == 0
    misused(
        glassformer("course", 1), "is already there, perhaps with your answers; choose another --out, or --overwrite"
    )
    assert glassformer("course", 1, "--overwrite").code == 0


def test_open_starts_jupyter_and_keeps_a_notebook_that_is_there(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _program, command: started.append(command))
    monkeypatch.setattr("glassformer.data.installed.is_installed", lambda package: package != "jupyterlab")
    notebook = desk / "01-averaging-the-past.ipynb"
    assert glassformer("course", 1, "--open").code == 0
    assert started == [[sys.executable, "-P", "-m", "notebook", notebook.name]]
    notebook.write_text("my answers", encoding="utf-8")
    assert glassformer("course", 1, "--open").code == 0
    assert notebook.read_text(encoding="utf-8") == "my answers"
    misused(glassformer("course", 1, "--open", "--out", "lesson.py"), "--open needs a notebook")
    assert not (desk / "lesson.py").exists()


def test_open_runs_nothing_that_lies_beside_the_notebook(desk: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    installed = tmp_path_factory.mktemp("installed")
    (installed / "jupyterlab.py").write_text("import json\nprint('Jupyter opens', json.loads('1'))", encoding="utf-8")
    for name in ("json.py", "jupyterlab.py"):
        (desk / name).write_text("raise SystemExit('ran what lies there')", encoding="utf-8")
    command = [sys.executable, "-m", "glassformer", "course", "1", "--open"]
    environment = os.environ | {"PYTHONPATH": f"{installed}:{ROOT / 'src'}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["Jupyter opens 1"], done.stderr


def test_open_without_jupyter_says_how_to_install_it(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.data.installed.is_installed", lambda package: package == "torch")
    misused(
        glassformer("course", 1, "--open"), f"--open needs Jupyter, which is not installed: {pip_install('course')}"
    )
    assert list(desk.iterdir()) == []
