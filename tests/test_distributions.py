"""The light distribution is the same package with fewer dependencies."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def project(file: str) -> Any:
    return tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["project"]


def test_the_light_distribution_asks_for_a_part_of_the_same_packages() -> None:
    whole, light = project("pyproject.toml"), project("light/pyproject.toml")
    known = {*whole["dependencies"], *whole["optional-dependencies"]["onnx"], *whole["optional-dependencies"]["serve"]}
    assert set(light["dependencies"]) < known
    assert {package for packages in light["optional-dependencies"].values() for package in packages} <= known
    assert light["scripts"] == whole["scripts"]
    assert light["requires-python"] == whole["requires-python"]
    assert light["name"] == f"{whole['name']}-light"
