import argparse
import json
import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks import experiment
from benchmarks.experiment import (
    AS_INSTALLED,
    RESULTS,
    ROOT,
    WIDTH,
    Experiment,
    as_text,
    as_typed,
    commit,
    environment,
    processor,
    provenance,
    running,
    threads_to_try,
)
from benchmarks.models import QUICK_STEPS, classifier, read_splits
from benchmarks.tables_common import command_today
from glassformer.errors import UsageError
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.training.loop import InterruptedTraining
from glassformer.training.recipe import load_recipe

SCRIPTS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py")}
OF_OTHERS = {"variants", "reproduce", "attacks.json"}  # what the library's own commands and the tests write
# `measure` writes for both scripts.
WITH_RECORD = re.compile(r"experiment\.write\(|from benchmarks\.few_labels import \(?[\w\s,]*\bmeasure\b")
FILES = [file for file in sorted(RESULTS.rglob("*.json")) if file.relative_to(RESULTS).parts[0] not in OF_OTHERS]
RECORD = ("command", "machine", "versions", "commit", "created")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(RESULTS)))
def test_committed_results_say_no_more_than_new_ones(file: Path) -> None:
    committed, record = json.loads(file.read_text(encoding="utf-8")), provenance("")
    assert record.keys() == set(RECORD) <= committed.keys()
    for section in ("machine", "versions"):
        assert committed[section].keys() <= record[section].keys()
    script = re.match(r"python -m benchmarks\.(\w+)", command_today(committed["command"]))
    assert script is not None
    assert WITH_RECORD.search(SCRIPTS[script[1]])


@pytest.mark.parametrize("file", sorted(RESULTS.rglob("*.json")), ids=lambda file: str(file.relative_to(RESULTS)))
def test_committed_results_are_figures_not_rows(file: Path) -> None:
    """The longest list is that of the audited models: 3 tables × 7 ways × 3 seeds. Answers and steps are hundreds.

    A word of more characters than a fingerprint would be answers row by row, as digits.
    """
    text = file.read_text(encoding="utf-8")
    lists: list[Any] = []

    def values(found: Any) -> None:
        if isinstance(found, list):
            lists.append(found)
        for value in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
            values(value)

    values(json.loads(text))
    assert max((len(each) for each in lists), default=0) <= 63
    assert max(map(len, re.findall(r"\w+", text))) <= 64
    assert len(text.splitlines()) < 2_600  # 63 models with an interval for each of 3 to 6 attacks


def test_the_command_can_be_typed_again_and_the_commit_is_that_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/elsewhere/benchmarks/steering.py", "imdb", "--work", "x", "--seeds", "3"])
    found = provenance("a0b1c2")
    assert found["command"] == "python -m benchmarks.steering imdb --seeds 3"
    assert found["commit"] == "a0b1c2"
    assert found["machine"]["processor"] == processor()
    assert datetime.fromisoformat(found["created"]).tzinfo is not None


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def test_a_commit_with_changes_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes of what runs, new files included: a new result or page is none."""
    monkeypatch.setattr(experiment, "ROOT", tmp_path)
    scripts = [tmp_path / "src" / "a.py", tmp_path / "recipes" / "a.toml", tmp_path / "benchmarks" / "a.py"]
    for file in scripts:
        file.parent.mkdir()
        file.write_text("a = 1\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    results = tmp_path / "benchmarks" / "results"
    results.mkdir()
    for page in (results / "a.json", tmp_path / "a.md"):
        page.write_text("{}")
    assert commit() == head
    for file in (*scripts, tmp_path / "benchmarks" / "b.py"):
        before = file.read_text() if file.exists() else None
        file.write_text("a = 2\n")
        assert commit() == f"{head} with uncommitted changes", file
        file.unlink() if before is None else file.write_text(before)
    assert commit() == head


def test_what_is_to_be_measured_is_not_imported_beforehand() -> None:
    code = "import benchmarks.rows, sys; print('torch' in sys.modules, 'tokenizers' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.split() == [b"False", b"False"]


@pytest.mark.parametrize("name", sorted(SCRIPTS.keys() - {"experiment"}))
def test_no_benchmark_has_a_record_of_its_own(name: str) -> None:
    assert not re.search(r'"versions":|"created":|"processor": (?!processor)|rev-parse', SCRIPTS[name])


def options(work: Path, *, quick: bool = False) -> argparse.Namespace:
    return argparse.Namespace(work=work, quick=quick)


@pytest.mark.parametrize("quick", [False, True])
def test_a_result_is_written_with_its_record_and_that_of_a_trial_stays(
    quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "RESULTS", tmp_path / "results")
    with running(options(tmp_path / "work", quick=quick)) as found:
        found.write("kind/films", {"accuracy": 0.5})
    folder = tmp_path / ("work/trial" if quick else "results")
    (file,) = tmp_path.rglob("*.json")
    assert file == folder / "kind" / "films.json"
    assert json.loads(file.read_text()).keys() == {"benchmark", "accuracy", *RECORD}


def test_a_list_of_numbers_stands_on_one_line_if_it_fits() -> None:
    few, many = [1, -2.5e-07, None, 0.25], [1 / 3] * 9
    document = {"few": few, "many": many, "rows": [few, few], "words": ["a", "[\n 1\n]"], "none": []}
    lines = as_text(document).splitlines()
    assert lines[1] == ' "few": [1, -2.5e-07, null, 0.25],'
    assert lines[-10:-7] == [' "rows": [', "  [1, -2.5e-07, null, 0.25],", "  [1, -2.5e-07, null, 0.25]"]
    assert max(map(len, lines)) <= WIDTH
    assert json.loads(as_text(document)) == document
    room = WIDTH - len(' "a": [],')
    for digits, count in ((room, 3), (room + 1, 5)):
        assert len(as_text({"a": [int("7" * digits)]}).splitlines()) == count


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UsageError("no such data set"), "error: no such data set"),
        (KeyboardInterrupt(), "stopped; finished models are kept in work, and the same command goes on"),
        (InterruptedTraining(), "stopped; finished models are kept in work, and the same command goes on"),
    ],
)
def test_it_ends_in_a_sentence(error: BaseException, said: str) -> None:
    with pytest.raises(SystemExit, match=said), running(options(Path("work"))):
        raise error


def test_threads_wait_as_those_of_the_command_line() -> None:
    code = "import sys, benchmarks, os; assert 'torch' not in sys.modules; print(os.environ['GOMP_SPINCOUNT'])"
    environment = {name: os.environ[name] for name in os.environ if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert done.stdout.split() == [b"1000"]


def test_a_trial_is_short(tmp_path: Path) -> None:
    quick, whole = (Experiment(work=tmp_path, quick=quick, commit="") for quick in (True, False))
    assert [len(table.frame) for table in read_splits(quick, "polarity")] == [300, 300]
    assert [len(table.frame) for table in read_splits(whole, "polarity")] == [4_000, 1_000]
    assert [len(table.frame) for table in read_splits(whole, "polarity", most=2_000)] == [2_000, 1_000]
    train, test = read_splits(quick, "polarity")
    tiny = load_recipe(preset="tiny", overrides={"model.d_model": 8, "model.d_ff": 8, "model.counting": "none"})
    folder = classifier(quick, "tiny", tiny, train, test)
    assert load_model(folder, CLASSIFIER).metrics["history"][-1]["step"] == QUICK_STEPS


def test_a_model_that_failed_half_way_is_not_taken_for_a_finished_one(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        raise UsageError("half done")

    kept = Experiment(work=tmp_path, quick=False, commit="")
    with pytest.raises(UsageError, match="half done"):
        kept.model("lm", {"texts": "abc", "recipe": "a"}, fail)
    made: list[Path] = []
    folder = kept.model("lm", {"texts": "abc", "recipe": "a"}, made.append)
    assert kept.model("lm", {"recipe": "a", "texts": "abc"}, made.append) == folder
    assert made == [folder]
    assert kept.model("lm", {"texts": "abd", "recipe": "a"}, made.append) != folder


def test_others_wait_as_they_are_installed_and_each_has_so_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert threads_to_try() == [1, 6]
    monkeypatch.setenv("GOMP_SPINCOUNT", "1000")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    ours, theirs = environment(6, ours=True), environment(1, ours=False)
    assert (ours["OMP_NUM_THREADS"], ours["GOMP_SPINCOUNT"], ours["TOKENIZERS_PARALLELISM"]) == ("6", "1000", "true")
    assert (theirs["OMP_NUM_THREADS"], theirs["TOKENIZERS_PARALLELISM"]) == ("1", "false")
    assert theirs["GOMP_SPINCOUNT"] == AS_INSTALLED["GOMP_SPINCOUNT"] != "1000"
    assert as_typed().keys() & {"GOMP_SPINCOUNT", "KMP_BLOCKTIME", "OMP_NUM_THREADS"} == set()
    assert "PATH" in as_typed()
