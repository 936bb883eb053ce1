from pathlib import Path
from typing import Any

import pytest

from glassformer.errors import GlassformerError
from glassformer.evaluation.record import Estimate
from glassformer.experiments import keeper
from glassformer.experiments.keeper import code_version, keep, read_kept, run_key, source_digest

RUN = Estimate(value=0.5, low=0.25, high=0.75)


@pytest.mark.parametrize("run", [RUN, {"accuracies": [0.1, 1 / 3], "name": "größer"}])
def test_what_is_kept_reads_back(tmp_path: Path, run: Any) -> None:
    file = tmp_path / "runs" / "a.json"
    assert read_kept(file, type(run)) is None
    keep(file, run)
    assert read_kept(file, type(run)) == run
    assert [path.name for path in file.parent.iterdir()] == ["a.json"]


@pytest.mark.parametrize("content", [b"", b"{", b'{"value": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_file_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(content)
    with pytest.raises(GlassformerError, match=r"a\.json is damaged; remove it, and the same command repeats that run"):
        read_kept(file, Estimate)


def test_a_key_is_of_all_that_decides_a_run_in_any_order() -> None:
    key = run_key({"recipe": {"steps": 4, "rate": 0.1}, "rows": "abc"})
    assert key == run_key({"rows": "abc", "recipe": {"rate": 0.1, "steps": 4}})
    others = {run_key({"recipe": {"steps": 5, "rate": 0.1}, "rows": "abc"}), run_key({"recipe": {}, "rows": "abc"})}
    assert len(others | {key}) == 3


def test_other_code_or_other_libraries_make_another_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def key() -> str:
        code_version.cache_clear()
        return run_key({"recipe": "a"})

    (tmp_path / "loop.py").write_text("a = 1\n")
    before = key()
    monkeypatch.setattr(keeper, "PACKAGE", tmp_path)
    other = key()
    (tmp_path / "loop.py").write_text("a = 2\n")
    changed = key()
    monkeypatch.setattr(keeper, "versions", lambda: {"torch": "99"})
    newer = key()
    monkeypatch.undo()
    assert len({before, other, changed, newer}) == 4
    assert key() == before


def test_a_digest_of_sources_is_of_names_and_contents_below(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    file = tmp_path / "room" / "a.py"
    file.write_text("a = 1\n")
    digest = source_digest(tmp_path)
    (tmp_path / "notes.txt").write_text("no code")
    assert source_digest(tmp_path) == digest
    file.rename(tmp_path / "room" / "b.py")
    assert source_digest(tmp_path) != digest
