"""The unit and the Containerfile of docs/how-to/deploy.md: their commands exist, and systemd accepts the unit."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from glassformer.cli import there
from tests.cli.terminal import commands

PAGE = (Path(__file__).parent.parent / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def command_of_the_unit() -> list[str]:
    line = re.search(r"^ExecStart=(.*)$", block("ini"), re.MULTILINE)
    assert line
    return shlex.split(line[1])


def command_of_the_container() -> list[str]:
    parts = re.findall(r"^(?:ENTRYPOINT|CMD) (\[.*\])$", block("dockerfile"), re.MULTILINE)
    return [word for part in parts for word in json.loads(part)]


@pytest.mark.parametrize("command", [command_of_the_unit(), command_of_the_container()], ids=["unit", "container"])
def test_the_command_is_understood(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(there, "_is_missing", lambda _: False)  # the models are those of a server
    program, name, *arguments = command
    assert (Path(program).name, name) == ("glassformer", "serve")
    (serve,) = (found for known, found in commands() if known == "serve")
    with serve.make_context("serve", arguments) as context:
        assert [folder.name for folder in context.params["folders"]] == ["reviews"]
        assert context.params["log_json"]


def test_what_builds_glassformer_has_a_hash_too() -> None:
    """Otherwise pip fetches it for itself, in a version of the day."""
    root = Path(__file__).parent.parent
    pages = [
        block("dockerfile"),
        *((root / page).read_text(encoding="utf-8") for page in ("README.md", "docs/index.md")),
    ]
    for page in pages:
        building = re.findall(r"\bpip install (?=.*(?: -e)? \.(?:\s|$)).*", page, re.MULTILINE)
        assert building
        assert all("--no-build-isolation" in line for line in building), building
        assert "requirements/build.txt" in page
    required = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    locked = (root / "requirements" / "build.txt").read_text(encoding="utf-8")
    assert all(re.search(rf"^{name}==.*\\\n +--hash=", locked, re.MULTILINE) for name in required)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "glassformer.service"
    unit.write_text(block("ini").replace("/opt/glassformer/bin/glassformer", sys.executable), encoding="utf-8")
    found = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    said = [line for line in found.stderr.splitlines() if unit.name in line]
    assert said == []
    unit.write_text(unit.read_text().replace("TimeoutStopSec=40", "TimeoutStopSec=soon"))
    damaged = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert "soon" in damaged.stderr
