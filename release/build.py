"""Build what a release consists of into dist/, from the last commit, and see that a second build has the same bytes.

`make release` runs this, then `check.py`, which writes SHA256SUMS. Beside the packages, dist/ gets the list of
dependencies with their hashes (CycloneDX).
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
HATCH = [sys.executable, "-m", "hatchling", "build"]


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first, second, third = (folder / "first", folder / "another" / "second", folder / "from-sdist")
        for source in (first, second):
            source.mkdir(parents=True)
            archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
            subprocess.run(["tar", "x"], cwd=source, input=archive, check=True)
            build(source, "wheel", "sdist")
            build(source / "light", "wheel")
        made = [*(first / "dist").iterdir(), *(first / "light" / "dist").iterdir()]
        for file in made:
            compare(file, second / file.relative_to(first))
        third.mkdir()
        (sdist,) = (first / "dist").glob("*.tar.gz")
        shutil.unpack_archive(sdist, third, filter="data")
        (source,) = third.iterdir()
        build(source, "wheel")
        (wheel,) = (source / "dist").iterdir()
        compare(first / "dist" / wheel.name, wheel)
        for file in made:
            shutil.copy(file, DIST)
    write_sbom()
    for file in sorted(DIST.iterdir()):
        print(f"{file.relative_to(ROOT)}  {file.stat().st_size / 1e6:.2f} MB")


def build(source: Path, *targets: str) -> None:
    dated = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True)
    environment = os.environ | {"SOURCE_DATE_EPOCH": dated.stdout.strip()}
    kinds = [part for target in targets for part in ("--target", target)]
    said = subprocess.run([*HATCH, *kinds], cwd=source, env=environment, check=False, capture_output=True, text=True)
    if said.returncode:
        sys.exit(said.stdout + said.stderr)


def compare(one: Path, other: Path) -> None:
    if digest(one) != digest(other):
        sys.exit(f"{one.name}: two builds of the same commit differ")


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def write_sbom() -> None:
    """From requirements/, not from an environment: it holds for every machine."""
    locked = "".join((ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8") for name in ("core", "torch"))
    cyclonedx = Path(sys.executable).parent / "cyclonedx-py"
    out = DIST / "glassformer.cdx.json"
    command = [cyclonedx, "requirements", "--pyproject", ROOT / "pyproject.toml", "--output-reproducible"]
    subprocess.run([*command, "--output-file", out, "-"], input=locked, check=True, text=True)
    bom = json.loads(out.read_text(encoding="utf-8"))
    (wheel,) = DIST.glob("glassformer-*.whl")
    bom["metadata"]["component"]["version"] = wheel.name.split("-")[1]  # pyproject.toml leaves it to hatch
    out.write_text(json.dumps(bom, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
