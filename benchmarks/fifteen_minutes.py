"""How long do the commands of docs/how-to/fifteen-minutes.md take, and the first round at its desk?

    python -m benchmarks.fifteen_minutes

They are run as the page writes them, in a new folder, on the workbook of examples/tickets.py. What a person does takes
a person's time, and is not measured.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

from benchmarks.experiment import ROOT, arguments, running

PAGE = ROOT / "docs" / "how-to" / "fifteen-minutes.md"
_PAUSE = 0.2  # seconds between two looks at the round


def main() -> None:
    """Time each command, and write one JSON file."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment, tempfile.TemporaryDirectory() as folder:
        found = []
        for command in commands(PAGE.read_text(encoding="utf-8")):
            if command[:2] == ["glassformer", "serve"]:
                continue  # it serves the model of a person's second round
            seconds = desk_seconds(command, Path(folder)) if command[1] == "desk" else run_seconds(command, folder)
            found.append({"command": shlex.join(command), "seconds": round(seconds, 1)})
            print(found[-1], flush=True)
            if experiment.quick:
                break
        experiment.write("fifteen-minutes", {"commands": found})


def commands(page: str) -> Iterator[list[str]]:
    """Yield the commands of a page that run Python, without installation."""
    for line in page.splitlines():
        words = shlex.split(line, comments=True) if line.startswith("    ") else []
        if words and words[0] in ("glassformer", "python"):
            yield words


def run_seconds(command: list[str], folder: str) -> float:
    """Run a command in a folder, and return how long it took."""
    program = [sys.executable, "-m", "glassformer"] if command[0] == "glassformer" else [sys.executable]
    rest = [str(ROOT / word) if word.startswith("examples/") else word for word in command[1:]]
    began = time.perf_counter()
    subprocess.run([*program, *rest], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def desk_seconds(command: list[str], folder: Path) -> float:
    """Open the desk, train its first round, and return how long that took."""
    program = [sys.executable, "-m", "glassformer", *command[1:], "--no-open", "--json"]
    began = time.perf_counter()
    with subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        document = ""
        while not document.endswith("}\n"):
            document += process.stdout.readline()
        url = json.loads(document)["url"]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        opener.open(url).read()

        def asked(path: str, body: bytes | None = None) -> Any:
            address = f"{url.partition('?')[0].removesuffix('/')}{path}"
            request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
            with opener.open(request) as answer:
                return json.loads(answer.read())

        state = asked("/desk/rounds", b"{}")
        while state["running"]:
            time.sleep(_PAUSE)
            state = asked("/desk/state")
        seconds = time.perf_counter() - began
        process.terminate()
    if [each["state"] for each in state["rounds"]] != ["done"]:
        sys.exit(f"the round failed: {state['rounds']}")
    return seconds


if __name__ == "__main__":
    main()
