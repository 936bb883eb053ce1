"""Plant bugs, one at a time, in a copy of the source, and see whether the tests notice each.

    python -m benchmarks.planted_bugs --at-once 2

`planted_bugs.toml` lists them: what is replaced in which file, and the tests that should fail then. These tests have
to pass first. A bug that none of them notices stands for a test that is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Any

from benchmarks.experiment import ROOT, Experiment, arguments, commit

BUGS = Path(__file__).with_suffix(".toml")
_NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", "runs")
_PASSED, _FAILED = 0, 1  # exit codes of pytest


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A bug: `old` is replaced by `new` in a file of the package.

    Attributes:
        room: the folder of the package that it is in.
        tests: what should notice it: files or folders in `tests`.
    """

    room: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())} → {' '.join(self.new.split())}"

    def planted(self, text: str) -> str:
        """Return the text of the file with the bug.

        Raises:
            ValueError: the text to replace is not there exactly once, or the file is no Python any more.
        """
        if (found := text.count(self.old)) != 1:
            raise ValueError(f"{self.file} has {self.old!r} {found} times and not once; mend {BUGS.name}")
        changed = text.replace(self.old, self.new)
        compile(changed, self.file, "exec")
        return changed


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("--only", metavar="ROOM", nargs="+", help="the bugs of these rooms alone; nothing is written")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="how many bugs are tried at once")
    options = parser.parse_args()
    experiment = Experiment(work=options.work, quick=options.quick, commit=commit())
    began = time.perf_counter()
    bugs = [bug for bug in read_bugs() if not options.only or bug.room in options.only]
    check(bugs)
    with copies(options.at_once) as free:
        every = tuple(sorted({test for bug in bugs for test in bug.tests}))
        passed = run_tests(free.queue[0], every)
        if passed.returncode != _PASSED:
            raise SystemExit(f"{passed.stdout[-2_000:]}\nthese tests do not pass without a bug")
        with ThreadPoolExecutor(options.at_once) as pool:
            found = list(pool.map(partial(tried, free), bugs))
    missed = [bug["bug"] for bug in found if not bug["caught"]]
    print(f"caught {len(found) - len(missed)} of {len(found)} bugs", *(f"missed: {name}" for name in missed), sep="\n")
    if not options.only:
        document = {
            "bugs": len(found),
            "caught": len(found) - len(missed),
            "rooms": Counter(bug.room for bug in bugs),
            "minutes": round((time.perf_counter() - began) / 60, 1),
            "results": found,
        }
        experiment.write("planted-bugs", document)
    raise SystemExit(bool(missed))


def read_bugs(path: Path = BUGS) -> list[Bug]:
    listed = tomllib.loads(path.read_text(encoding="utf-8"))["bug"]
    return [Bug(**bug | {"tests": tuple(bug["tests"])}) for bug in listed]


def check(bugs: Sequence[Bug], root: Path = ROOT) -> None:
    """Raise `ValueError` if a bug cannot be planted, or if its tests are not there."""
    for bug in bugs:
        bug.planted(source(root, bug).read_text(encoding="utf-8"))
        for test in bug.tests:
            if not (root / "tests" / test).exists():
                raise ValueError(f"{bug.file}: tests/{test} is not there; mend {BUGS.name}")


def source(root: Path, bug: Bug) -> Path:
    return root / "src" / "glassformer" / bug.file


@contextmanager
def copies(count: int) -> Iterator[Queue[Path]]:
    """Yield copies of this repository. One of them is taken for each bug, and put back."""
    free: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            free.put(Path(shutil.copytree(ROOT, Path(folder) / str(number), ignore=_NOT_COPIED, symlinks=True)))
        yield free


def tried(free: Queue[Path], bug: Bug) -> dict[str, Any]:
    """Run the tests of a bug in a copy that has it."""
    root = free.get()
    file = source(root, bug)
    text, times = file.read_text(encoding="utf-8"), file.stat()
    file.write_text(bug.planted(text), encoding="utf-8")
    try:
        code = run_tests(root, bug.tests).returncode
    finally:
        file.write_text(text, encoding="utf-8")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # bytecode of the planted file is stale by this
        free.put(root)
    print(f"{'caught' if code == _FAILED else 'MISSED'}  {bug.name}", file=sys.stderr, flush=True)
    return {"bug": bug.name, "caught": code == _FAILED, "exit_code": code, **_without_text(bug)}


def _without_text(bug: Bug) -> dict[str, Any]:
    return {name: value for name, value in asdict(bug).items() if name in ("room", "tests")}


def run_tests(root: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run tests of a copy until one fails."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        *(f"tests/{test}" for test in tests),
    ]
    environment = os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
