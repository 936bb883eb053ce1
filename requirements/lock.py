"""Write requirements/: each version with the SHA-256 of its files on PyPI. `make lock` runs this.

core.txt holds what glassformer needs, and a file for each extra of pyproject.toml adds to it. torch.txt holds PyTorch
and the libraries of CUDA that come with it: a machine may have another build. They hold for Python 3.11.5 and newer, on
Linux, macOS and Windows. Versions stay while pyproject.toml allows them; `make lock LOCK=--upgrade` takes the
newest.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parent / "pyproject.toml"
OLDEST_PYTHON = "3.11.5"
CUDA = re.compile(r"torch|triton|(cuda|nvidia)-.*")
PLAIN_PYPI = ("--no-config", "--index-url", "https://pypi.org/simple")

Locked = dict[str, str]
"""Packages by name: the lines of each."""


def main() -> None:
    extras = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    before = "".join(file.read_text(encoding="utf-8") for file in HERE.glob("*.txt"))
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.txt"
        whole.write_text("".join(sorted(parse(before).values())), encoding="utf-8")
        resolve(["--all-extras", *sys.argv[1:]], whole)
        locked = {}
        for extra in ("", *extras):
            one = Path(folder) / f"{extra}.txt"
            resolve([*(["--extra", extra] if extra else []), "--constraints", str(whole)], one)
            locked[extra or "core"] = parse(one.read_text(encoding="utf-8"))
    core = locked.pop("core")
    torch = {name: lines for name, lines in core.items() if CUDA.fullmatch(name)}
    write("torch", torch)
    write("core", without(core, torch))
    for extra, packages in locked.items():
        write(extra, without(packages, core), also="-r core.txt\n")


def resolve(arguments: list[str], out: Path) -> None:
    settings = ("--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes", "--no-header", "--no-annotate")
    subprocess.run(
        [
            "uv",
            "pip",
            "compile",
            str(PROJECT),
            "--quiet",
            *PLAIN_PYPI,
            *settings,
            *arguments,
            "--output-file",
            str(out),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def parse(text: str) -> Locked:
    blocks = re.findall(r"^[A-Za-z0-9][^\n]*\n(?: [^\n]*\n)*", text, flags=re.MULTILINE)
    return {re.split("[= ]", block, maxsplit=1)[0]: block for block in blocks}


def without(packages: Locked, others: Locked) -> Locked:
    return {name: lines for name, lines in packages.items() if name not in others}


def write(name: str, packages: Locked, also: str = "") -> None:
    (HERE / f"{name}.txt").write_text(
        f"# Written by `make lock`.\n{also}" + "".join(packages.values()), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
