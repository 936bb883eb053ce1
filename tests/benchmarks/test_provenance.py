import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from provenance import RESULTS, ROOT, commit, processor, provenance

SCRIPTS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py")}
OF_OTHERS = {"variants", "reproduce"}  # what the library's own commands write
FILES = [file for file in sorted(RESULTS.rglob("*.json")) if file.relative_to(RESULTS).parts[0] not in OF_OTHERS]
RECORD = ("command", "machine", "versions", "commit", "created")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(RESULTS)))
def test_committed_results_say_no_more_than_new_ones(file: Path) -> None:
    committed, record = json.loads(file.read_text(encoding="utf-8")), provenance("")
    assert record.keys() == set(RECORD) <= committed.keys()
    for section in ("machine", "versions"):
        assert committed[section].keys() <= record[section].keys()
    script = re.match(r"python benchmarks/(\w+)\.py", committed["command"])
    assert script is not None
    assert "**provenance(" in SCRIPTS[script[1]]


def test_the_command_can_be_typed_again_and_the_commit_is_that_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/else/benchmarks/steering.py", "imdb", "--seeds", "3"])
    found = provenance("a0b1c2")
    assert found["command"] == "python benchmarks/steering.py imdb --seeds 3"
    assert found["commit"] == "a0b1c2"
    assert found["machine"]["processor"] == processor()
    assert datetime.fromisoformat(found["created"]).tzinfo is not None


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def test_a_commit_with_changes_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes of what runs, new files included: a new result or page is none."""
    monkeypatch.setattr("provenance.ROOT", tmp_path)
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
    code = "import memory, sys; print('torch' in sys.modules, 'tokenizers' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "benchmarks", capture_output=True, check=True)
    assert done.stdout.split() == [b"False", b"False"]


@pytest.mark.parametrize("name", sorted(SCRIPTS.keys() - {"provenance"}))
def test_no_benchmark_has_a_record_of_its_own(name: str) -> None:
    assert not re.search(r'"versions":|"created":|"processor": (?!processor)|rev-parse', SCRIPTS[name])
    if "**provenance(" in SCRIPTS[name]:
        assert SCRIPTS[name].count("at = commit()") == 1
