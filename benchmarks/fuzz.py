"""Does whatever is read end in an answer or in one sentence? Files are changed at random, and read by commands.

    python -m benchmarks.fuzz --minutes 60
    python -m benchmarks.fuzz --only "predict a table.csv" --case 17

Cases are numbered: a number and the name of what is read decide a change. Each is read in a process with bounded memory
and time. Faults are a traceback, a crash, a wait of more than a minute, too much memory, a file that is lost or half
written, and another answer than before where a checksum protects what decides it. The result names them.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.experiment import arguments, running

if TYPE_CHECKING:
    from benchmarks.fuzz_cases import Subject
    from tests.cli.terminal import Outcome

SECONDS = 60.0  # so many that a busy machine is no fault
SPARE_MEMORY = 1 << 30
STARTING = 600.0  # seconds until a process has imported everything and written the unchanged files
ENDINGS = ("answered", "refused", "fault")


def judge(read: Any) -> tuple[str, str]:
    """Run a command. Return how it ended, and what it said of a fault or a refusal."""
    from tests.attacks.answer import LONGEST_ANSWER

    try:
        outcome = read()
    except MemoryError:
        return "fault", "MemoryError"
    except BaseException as error:  # polars panics with what is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        frames = [each for each in traceback.extract_tb(error.__traceback__) if "/glassformer/" in each.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        return "fault", f"{type(error).__name__} at {place}: {str(error)[:160]}"
    if outcome.code == 0:
        return "answered", ""
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    if outcome.code not in (1, 2) or len(errors) != 1 or "Traceback" in outcome.err:
        return "fault", f"exit code {outcome.code}: {outcome.err[-160:]}"
    if errors[0].startswith("error: out of memory"):
        return "fault", errors[0]
    if len(errors[0]) > LONGEST_ANSWER + len(os.environ.get("TMPDIR", "")):
        return "fault", f"an error of {len(errors[0])} characters: {errors[0][:120]}"
    return "refused", errors[0]


def work(pipe: Connection, names: list[str]) -> None:
    """Read changed files, one for each number that comes through the pipe, and answer how it went."""
    from benchmarks.fuzz_cases import LIGHT_TRAINING, table
    from benchmarks.fuzz_changes import change
    from benchmarks.fuzz_kept import subjects
    from glassformer import TextClassifier  # noqa: F401 (imported before memory is bounded)
    from tests.cli.terminal import glassformer

    known = subjects()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        table().write_csv(root / "table.csv")
        model = root / "model"
        made = glassformer("train", root / "table.csv", "--label", "label", "--out", model, *LIGHT_TRAINING)
        if made.code:
            raise RuntimeError(made.err)
        whole = {}
        for number, name in enumerate(names):
            whole[name] = root / f"whole-{number}" / f"given{known[name].ending}"
            whole[name].parent.mkdir()
            known[name].make(whole[name], model)
            known[name].read(_copy(whole[name], root / f"first-{number}"), model)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_MEMORY, resource.RLIM_INFINITY))
        answers = {}
        for number, name in enumerate(names):
            outcome = known[name].read(_copy(whole[name], root / f"second-{number}"), model)
            if outcome.code:
                raise RuntimeError(f"{name}, unchanged: {outcome.err}")
            answers[name] = outcome.out
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where polars writes its panics
        pipe.send(None)
        for number in itertools.count():
            if (asked := pipe.recv()) is None:
                return
            name, seed = asked
            given = _copy(whole[name], root / f"desk-{number}")  # a database of one name is read once in a process
            changed = change(given, random.Random(f"{name} {seed}"), unsealed=known[name].unsealed)
            pipe.send((*judge(lambda: watched(known[name], given, model, answers[name])), changed))  # noqa: B023
            shutil.rmtree(given.parent)


def _copy(whole: Path, place: Path) -> Path:
    place.mkdir()
    return Path((shutil.copytree if whole.is_dir() else shutil.copy)(whole, place / whole.name))


def watched(subject: Subject, given: Path, model: Path, answer: str) -> Outcome:
    """Run a command, and look at what it leaves.

    Raises:
        LostError: it changed what it reads; a refusal left files; a file is half-written; or the answer is another one
            than from the unchanged file, where a checksum should have said so.
    """
    from glassformer.data.files import ASIDE
    from tests.attacks.answer import LostError, nothing_lost

    with nullcontext() if subject.writes else nothing_lost(given):
        outcome = subject.read(given, model)
    left = {path.name for path in given.parent.iterdir()} - {given.name}
    if outcome.code and left:
        raise LostError(f"a refusal left {', '.join(sorted(left))}")
    if half := [path.name for path in given.parent.rglob("*") if ASIDE in path.name]:
        raise LostError(f"half-written: {', '.join(half)}")
    if subject.same and outcome.code == 0 and outcome.out != answer:
        raise LostError(f"another answer: {outcome.out[:120]}")
    return outcome


class Reader:
    """A process that reads changed files. It is replaced where a case ends it."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, self._names), daemon=True)
        self._process.start()
        theirs.close()
        if not self._pipe.poll(STARTING):
            raise RuntimeError("the process that reads does not start")
        self._pipe.recv()

    def read(self, name: str, seed: int) -> tuple[str, str, str]:
        """Return how a case ended, what was said, and which file was changed."""
        self._pipe.send((name, seed))
        try:
            if self._pipe.poll(SECONDS):
                found: tuple[str, str, str] = self._pipe.recv()
                return found
            said = f"no answer within {SECONDS:g} seconds"
        except EOFError:
            self._process.join()
            said = f"the process ended with {self._process.exitcode}"
        self._process.kill()
        self._process.join()
        self._start()
        return "fault", said, ""

    def end(self) -> None:
        self._pipe.send(None)
        self._process.join(SECONDS)
        self._process.kill()


def cases(names: list[str], first: int, seconds: float) -> Iterator[tuple[str, int]]:
    """Each name in turn with a number, until the time is over."""
    end, seed = time.monotonic() + seconds, first
    while True:
        for name in names:
            if time.monotonic() > end:
                return
            yield name, seed
        seed += 1


def main() -> None:
    """Read changed files for so many minutes, and write one JSON file."""
    from benchmarks.fuzz_kept import subjects

    parser = arguments(__doc__, data=False)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument(
        "--only",
        help="a regular expression for the beginning of the names of what is read; the result is fuzz-more.json",
    )
    parser.add_argument("--case", type=int, help="this case alone; nothing is written")
    options = parser.parse_args()
    names = [name for name in subjects() if re.match(options.only or "", name)]
    with running(options) as experiment:
        reader = Reader(names)
        if options.case is not None:
            for name in names:
                print(name, *reader.read(name, options.case), sep=" | ")
            return
        counts: dict[str, Counter[str]] = {name: Counter() for name in names}
        faults: dict[str, dict[str, Any]] = {}
        for name, seed in cases(names, options.first, 60 * options.minutes):
            ended, said, changed = reader.read(name, seed)
            counts[name][ended] += 1
            if ended == "fault":
                new = {"read": name, "case": seed, "file": changed, "said": said, "times": 0}
                fault = faults.setdefault(f"{name}: {said[:40]}", new)
                fault["times"] += 1
                if fault["times"] == 1:
                    print(f"{name}, case {seed}, {changed}: {said}", file=sys.stderr, flush=True)
        reader.end()
        whole = {ended: sum(each[ended] for each in counts.values()) for ended in ENDINGS}
        by_subject = [{"read": name, **{ended: each[ended] for ended in ENDINGS}} for name, each in counts.items()]
        found = {"cases": sum(whole.values()), **whole, "faults": list(faults.values()), "by_what_is_read": by_subject}
        experiment.write(
            "fuzz-more" if options.only else "fuzz", {"minutes": options.minutes, "first": options.first, **found}
        )


if __name__ == "__main__":
    main()
