import argparse
import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks import experiment
from benchmarks.experiment import RESULTS, ROOT, Experiment, commit, model_folder, part, processor, provenance
from benchmarks.tables_common import command_today
from glassformer.errors import UsageError

SCRIPTS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py")}
OF_OTHERS = {"variants", "reproduce", "attacks.json"}  # what the library's own commands and the tests write
WITH_RECORD = re.compile(r"experiment\.write\(")
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


def test_the_command_can_be_typed_again_and_the_commit_is_that_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/else/benchmarks/steering.py", "imdb", "--seeds", "3"])
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
    code = "import benchmarks.memory, sys; print('torch' in sys.modules, 'tokenizers' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.split() == [b"False", b"False"]


@pytest.mark.parametrize("name", sorted(SCRIPTS.keys() - {"experiment"}))
def test_no_benchmark_has_a_record_of_its_own(name: str) -> None:
    assert not re.search(r'"versions":|"created":|"processor": (?!processor)|rev-parse', SCRIPTS[name])


def options(work: Path, rows: int | None = None) -> argparse.Namespace:
    return argparse.Namespace(work=work, rows=rows)


@pytest.mark.parametrize("rows", [None, 40])
def test_a_result_is_written_with_its_record_and_that_of_a_trial_stays(
    rows: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "RESULTS", tmp_path / "results")
    with Experiment(options(tmp_path / "work", rows)) as running:
        running.write("kind/films", {"accuracy": 0.5})
    folder = tmp_path / ("results" if rows is None else "work/trial")
    (file,) = tmp_path.rglob("*.json")
    assert file == folder / "kind" / "films.json"
    assert json.loads(file.read_text()).keys() == {"accuracy", *RECORD}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UsageError("no such data set"), "error: no such data set"),
        (KeyboardInterrupt(), "stopped; what is done is kept in work, and the same command goes on"),
    ],
)
def test_it_ends_in_a_sentence(error: BaseException, said: str) -> None:
    with pytest.raises(SystemExit, match=said), Experiment(options(Path("work"))):
        raise error


def test_a_part_is_made_once_for_all_that_decides_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def make() -> dict[str, Any]:
        made.append(1)
        return {"bits": [0.5]}

    def again(**decided_by: Any) -> bool:
        """Whether it had to be made."""
        made.clear()
        assert part(tmp_path, "speed", decided_by, dict[str, Any], make) == {"bits": [0.5]}
        return bool(made)

    assert again(recipe="a", texts="b")
    assert not again(texts="b", recipe="a")
    assert again(recipe="a", texts="c")
    (tmp_path / "scripts" / "benchmarks").mkdir(parents=True)
    monkeypatch.setattr(experiment, "ROOT", tmp_path / "scripts")
    assert again(recipe="a", texts="b")


def test_a_model_that_failed_half_way_is_not_taken_for_a_finished_one(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        raise UsageError("half done")

    with pytest.raises(UsageError, match="half done"):
        model_folder(tmp_path, "lm", {"texts": "abc"}, fail)
    made: list[Path] = []
    folder = model_folder(tmp_path, "lm", {"texts": "abc"}, made.append)
    assert model_folder(tmp_path, "lm", {"texts": "abc"}, made.append) == folder
    assert made == [folder]
    assert model_folder(tmp_path, "lm", {"texts": "abd"}, made.append) != folder
