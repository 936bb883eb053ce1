"""Known holes in the locked packages, by pip-audit. With `--strict` a hole is an error, and so is to have no network.

`make lint` prints them: a hole that became known today says nothing about the change at hand. `make release` is strict.
"""

import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
AUDIT = [
    str(Path(sys.executable).parent / "pip-audit"),
    "--require-hashes",
    "--disable-pip",
    "--progress-spinner",
    "off",
]
MOST_SECONDS = 120


def main() -> None:
    strict = "--strict" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        whole, out = Path(folder) / "whole.txt", Path(folder) / "found.json"
        blocks = {block for name in ("core", "torch", "dev") for block in _blocks(HERE / f"{name}.txt")}
        whole.write_text("".join(sorted(blocks)), encoding="utf-8")
        command = [*AUDIT, "--timeout", "10", "--format", "json", "--output", str(out), "--requirement", str(whole)]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, timeout=MOST_SECONDS)
        if not out.is_file() or not out.stat().st_size:
            print("pip-audit is skipped: PyPI does not answer")
            sys.exit(1 if strict else 0)  # no release goes out unaudited
        packages = json.loads(out.read_text(encoding="utf-8"))["dependencies"]
    holes = [(package, hole) for package in packages for hole in package.get("vulns", [])]
    for package, hole in holes:
        mended = f"; mended in {', '.join(hole['fix_versions'])}" if hole["fix_versions"] else ""
        print(f"{package['name']} {package['version']}: {hole['id']}{mended}")
    print(f"pip-audit: {len(packages)} packages, {len(holes)} known holes")
    if strict and holes:
        sys.exit(1)


def _blocks(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8").replace("\\\n", "\\\0")
    return [f"{line}\n".replace("\\\0", "\\\n") for line in text.splitlines() if line[:1].isalnum()]


if __name__ == "__main__":
    main()
