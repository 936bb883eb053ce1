"""The files of requirements/ hold what pyproject.toml asks for, each with hashes. `make lock` writes them."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def locked(name: str) -> dict[str, str]:
    """Versions by package."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+).*(?=\\\n    --hash=sha256:[0-9a-f]{64})", text, flags=re.MULTILINE))


def of_pypi(required: list[str]) -> list[Requirement]:
    """Without extras of our own, whose packages are asked for elsewhere."""
    return [found for found in map(Requirement, required) if found.name != "glassformer"]


@pytest.mark.parametrize("extra", ["core", *EXTRAS])
def test_a_file_holds_each_package_in_a_version_that_is_asked_for(extra: str) -> None:
    core = locked("core") | locked("torch")
    assert not core.keys() & locked(extra).keys() or extra == "core"
    for required in of_pypi(PROJECT["dependencies"] if extra == "core" else EXTRAS[extra]):
        version = (core | locked(extra)).get(canonicalize_name(required.name))
        assert version, f"{required}: not in requirements/{extra}.txt; run `make lock`"
        assert version in required.specifier, f"{required}: requirements/{extra}.txt has {version}; run `make lock`"


@pytest.mark.parametrize("extra", ["core", *EXTRAS])
def test_a_file_holds_what_its_packages_need(extra: str) -> None:
    """With hashes, pip takes nothing else. What a package needs is known only if it is installed."""
    held = locked("core") | locked("torch") | locked(extra)
    for name in locked(extra):
        try:
            needed = of_pypi(requires(name) or [])
        except PackageNotFoundError:
            continue
        for each in needed:
            if each.marker is None or each.marker.evaluate({"extra": ""}):
                assert canonicalize_name(each.name) in held, f"requirements/{extra}.txt: {name} needs {each}"


def test_every_file_has_one_version_of_a_package() -> None:
    versions: dict[str, set[str]] = {}
    for file in (ROOT / "requirements").glob("*.txt"):
        text = file.read_text(encoding="utf-8")
        assert len(locked(file.stem)) == len(re.findall("^[a-z0-9].*", text, flags=re.MULTILINE)), file
        for name, version in locked(file.stem).items():
            versions.setdefault(name, set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_the_pages_name_the_version_of_torch() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "docs" / "how-to" / "deploy.md"]
    named = {found for page in pages for found in re.findall(r"torch==([\d.]+)", page.read_text(encoding="utf-8"))}
    assert named == {locked("torch")["torch"]}
