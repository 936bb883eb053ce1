"""Install the wheel of dist/ where nothing of the checkout is to be seen, and do the main job with it.

Train, evaluate, predict, explain, export, answer from the export and over HTTP. `make release` runs this after
`build.py`. It writes the licences of the installed packages to dist/LICENCES.md, and the checksums of all files to
dist/SHA256SUMS.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
SUMS = "SHA256SUMS"
TINY = ("--preset", "tiny", "--set", "training.epochs=1", "--set", "training.min_steps_per_epoch=5")
ADDRESS = "http://127.0.0.1:8917"
TEXT = "the plot is thin but i loved it"


def main() -> None:
    (wheel,) = DIST.glob("glassformer-*.whl")
    version = wheel.name.split("-")[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        bin_folder = folder / "venv" / "bin"
        install(bin_folder / "python", wheel)
        work = folder / "work"
        work.mkdir()
        main_job(bin_folder, work, version)
        licences(bin_folder / "python")
    write_sums()
    print(f"{wheel.name}: installed without the checkout; trained, evaluated, explained, exported and served")


def install(python: Path, wheel: Path) -> None:
    pip = [python, "-m", "pip", "install", "--quiet"]
    names = ("core", "serve", "onnx")
    files = [part for name in names for part in ("--requirement", ROOT / "requirements" / f"{name}.txt")]
    torch = ROOT / "requirements" / "torch.txt"
    pinned = next(line.split()[0] for line in torch.read_text().splitlines() if line.startswith("torch=="))
    local = subprocess.run([*pip, "--no-deps", "--no-index", pinned], check=False, capture_output=True)
    if local.returncode:
        files += ["--requirement", torch]
    run([*pip, "--no-deps", "--require-hashes", *files])
    run([*pip, "--no-deps", "--no-index", wheel])
    run([python, "-m", "pip", "check"])


def main_job(bin_folder: Path, work: Path, version: str) -> None:
    def glassformer(*arguments: str) -> str:
        return run([bin_folder / "glassformer", *arguments], cwd=work)

    where = run([bin_folder / "python", "-c", "import glassformer; print(glassformer.__file__)"], cwd=work)
    package = Path(where.strip()).parent
    expect("site-packages" in package.parts and (package / "py.typed").is_file(), f"{package}: not the wheel's")
    expect(version in glassformer("--version"), f"--version does not say {version}")
    glassformer("train", "polarity", *TINY, "--out", "model")
    glassformer("evaluate", "model", "polarity")
    expect((work / "model/evaluation/report.html").is_file(), "evaluate wrote no report")
    answer = json.loads(glassformer("predict", "model", TEXT, "--json"))
    glassformer("explain", "model", TEXT, "--html", "why.html")
    glassformer("verify", "model")
    glassformer("export", "model", "--format", "onnx", "--out", "exported")
    exported = json.loads(glassformer("predict", "exported", TEXT, "--json"))
    expect(prediction(answer) == prediction(exported), "the export answers otherwise than the model")
    with subprocess.Popen(
        [bin_folder / "glassformer", "serve", "model", "--port", ADDRESS.rpartition(":")[2]], cwd=work, env=clean()
    ) as server:
        try:
            served = ask()
        finally:
            server.terminate()
    expect(prediction(answer) == prediction(served), "the server answers otherwise than the command")


def prediction(said: object) -> str:
    found = said["answers"] if isinstance(said, dict) and "answers" in said else said
    first = found[0] if isinstance(found, list) else found
    return str(first["prediction"])


def ask() -> object:
    body = json.dumps({"text": TEXT}).encode()
    request = urllib.request.Request(f"{ADDRESS}/predict", body, {"Content-Type": "application/json"})
    for _ in range(600):  # a busy machine starts it in more than a minute
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.5)
    sys.exit("serve does not answer")


def licences(python: Path) -> None:
    command = [Path(sys.executable).parent / "pip-licenses", "--python", python]
    out = DIST / "LICENCES.md"
    run([*command, "--format", "markdown", "--with-urls", "--output-file", out, "--ignore-packages", "glassformer"])


def write_sums() -> None:
    files = [file for file in sorted(DIST.iterdir()) if file.name != SUMS]
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (DIST / SUMS).write_text("".join(lines), encoding="utf-8")


def run(command: list[str | Path], cwd: Path | None = None) -> str:
    said = subprocess.run(command, cwd=cwd, env=clean(), check=False, capture_output=True, text=True)
    expect(not said.returncode, f"{' '.join(map(str, command))}\n{said.stdout}{said.stderr}")
    return said.stdout


def clean() -> dict[str, str]:
    """The environment without ways back to the checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def expect(right: bool, wrong: str) -> None:
    if not right:
        sys.exit(wrong)


if __name__ == "__main__":
    main()
