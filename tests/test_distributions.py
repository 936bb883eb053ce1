"""The light distribution is the same package with fewer dependencies."""

import runpy
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def project(file: str) -> Any:
    return tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["project"]


def test_the_light_distribution_asks_for_a_part_of_the_same_packages() -> None:
    whole, light = project("pyproject.toml"), project("light/pyproject.toml")
    extras = (whole["optional-dependencies"][extra] for extra in ("onnx", "serve", "excel", "otel", "zstd"))
    known = {*whole["dependencies"], *(package for extra in extras for package in extra)}
    assert set(light["dependencies"]) < known
    assert {package for packages in light["optional-dependencies"].values() for package in packages} <= known
    assert light["scripts"] == whole["scripts"]
    assert light["requires-python"] == whole["requires-python"]
    assert light["name"] == f"{whole['name']}-light"


def test_the_light_wheel_leaves_out_the_word_vectors_and_the_model_that_needs_pytorch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_hatch = "hatchling.builders.hooks.plugin.interface"  # only builds have it
    monkeypatch.setitem(sys.modules, of_hatch, SimpleNamespace(BuildHookInterface=object))
    built: dict[str, dict[str, str]] = {"force_include": {}}
    hook = runpy.run_path(str(ROOT / "light" / "hatch_build.py"))["WithoutWeights"]
    hook.initialize(SimpleNamespace(root=str(ROOT / "light")), "standard", built)
    source = ROOT / "src"
    files = {path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    left_out = files - {Path(path) for path in built["force_include"]}
    vectors = source / "glassformer" / "readers" / "body" / "shipped" / "english"
    model = source / "glassformer" / "shipped" / "sentiment-en"
    assert left_out == {*vectors.iterdir(), *model.iterdir()} - {model / "config.json"}
    assert built["force_include"][str(source / "glassformer" / "errors.py")] == str(Path("glassformer/errors.py"))
