"""How much disk do the two distributions take, with all that they depend on?

    python -m benchmarks.installation

It adds up the installed files of each package in this environment, as their own records list them. Extras are left out.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import distribution
from typing import Any

from packaging.requirements import Requirement

from benchmarks.experiment import ROOT, arguments, running

DISTRIBUTIONS = {"glassformer": "pyproject.toml", "glassformer-light": "light/pyproject.toml"}
_SHOWN = 8


def main() -> None:
    """Measure both, and write one JSON file."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        experiment.write("installation", {name: measure(file) for name, file in DISTRIBUTIONS.items()})


def measure(file: str) -> dict[str, Any]:
    """Return the size of the packages that a pyproject.toml asks for, and of those that they ask for."""
    asked = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["project"]["dependencies"]
    sizes = installed(asked)
    largest = sorted(sizes, key=lambda name: -sizes[name])[:_SHOWN]
    return {
        "packages": len(sizes),
        "megabytes": round(sum(sizes.values()) / 1e6, 1),
        "largest": {name: round(sizes[name] / 1e6, 1) for name in largest},
    }


def installed(asked: list[str]) -> dict[str, int]:
    """Return package → bytes of its files, for these requirements and all that they need."""
    waiting = [Requirement(each) for each in asked]
    sizes: dict[str, int] = {}
    while waiting:
        requirement = waiting.pop()
        name = requirement.name.lower().replace("_", "-")
        if name in sizes:
            continue
        found = distribution(requirement.name)
        files = [file.locate() for file in found.files or []]
        sizes[name] = sum(file.stat().st_size for file in files if file.is_file())  # type: ignore[attr-defined]
        for each in map(Requirement, found.requires or []):
            extras = requirement.extras or {""}
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(each)
    return sizes


if __name__ == "__main__":
    main()
