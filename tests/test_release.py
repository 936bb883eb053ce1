"""The last step of a release, without the wheel that it installs."""

import runpy
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

CHECK = Path(__file__).parent.parent / "release" / "check.py"


def test_every_file_of_a_release_has_its_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check: dict[str, Any] = runpy.run_path(str(CHECK))
    ours, none = check["main"].__globals__, lambda *_, **__: None
    monkeypatch.setitem(ours, "DIST", tmp_path)
    monkeypatch.setitem(ours, "venv", type("Venv", (), {"create": none}))
    for step in ("install", "main_job"):
        monkeypatch.setitem(ours, step, none)
    monkeypatch.setitem(ours, "licences", lambda _: (tmp_path / "LICENCES.md").write_text("MIT"))
    (tmp_path / "glassformer-1-py3-none-any.whl").write_text("a wheel")
    (tmp_path / "SHA256SUMS").write_text("of an earlier build")
    check["main"]()
    lines = [line.split("  ") for line in (tmp_path / "SHA256SUMS").read_text().splitlines()]
    assert lines == [
        [sha256(b"MIT").hexdigest(), "LICENCES.md"],
        [sha256(b"a wheel").hexdigest(), "glassformer-1-py3-none-any.whl"],
    ]
