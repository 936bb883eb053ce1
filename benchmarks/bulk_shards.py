"""How many rows of a folder of shards are answered per second, by one process and by the workers of Ray?

    python -m benchmarks.bulk_shards

The training rows of disaster-tweets are written into shards, again and again, and answered by the preset `tiny` with
`glassformer predict --file`. The clock and the processor time of all processes are read when the first shard is
finished and when the last one is, so that the start does not count. Ways on one core are bound to it. It needs Linux.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.experiment import arguments, running
from glassformer.data.known import resolve
from glassformer.errors import GlassformerError
from glassformer.prediction.shard_manifest import MANIFEST

DATA, PRESET = "disaster-tweets", "tiny"
SHARDS, ROWS_PER_SHARD, QUICK_ROWS_PER_SHARD = 40, 500, 50
_TICKS = os.sysconf("SC_CLK_TCK")

Figures = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to answer the shards.

    Attributes:
        processes: without Ray, each answers a part of the shards by a command of its own.
        threads: of each process.
    """

    engine: str
    processes: int
    threads: int

    @property
    def cores(self) -> int:
        return self.processes * self.threads


WAYS = (
    Way(engine="plain", processes=1, threads=1),
    Way(engine="plain", processes=2, threads=1),
    Way(engine="ray", processes=1, threads=1),
    Way(engine="ray", processes=2, threads=1),
)


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        decided_by = {"data": DATA, "preset": PRESET, "epochs": 1, "seed": 0}
        words = ("train", DATA, "--preset", PRESET, "--epochs", 1, "--quiet")
        model = experiment.model("bulk-shards-model", decided_by, lambda out: command(*words, "--out", out))
        rows = QUICK_ROWS_PER_SHARD if options.quick else ROWS_PER_SHARD
        place = experiment.work / "bulk-shards"
        lines = []
        for way in WAYS:
            if way.cores <= (os.cpu_count() or 1):
                lines.append(measured(way, model, write_shards(place, way, rows), rows))
                print(lines[-1])
        found = {
            "data": DATA,
            "preset": PRESET,
            "shards": SHARDS,
            "rows": SHARDS * rows,
            "shard_bytes": (place / "shards-0" / "part-0000.parquet").stat().st_size,
            "ways": lines,
            "readers": json.loads((model / "config.json").read_text())["readers"],
            "load_average_at_end": round(os.getloadavg()[0], 2),
        }
        experiment.write("bulk-shards", found)


def command(*words: object) -> None:
    """Run a command.

    Raises:
        GlassformerError: it failed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "glassformer", *map(str, words)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise GlassformerError(f"{words[0]} failed: {done.stderr[-2_000:]}")


def write_shards(place: Path, way: Way, rows: int) -> list[Path]:
    """Write the shards, and return their folders: one for each process without Ray. Old shards and answers go."""
    texts = resolve(DATA, "train").frame["text"]
    folders = [place / f"shards-{folder}" for folder in range(1 if way.engine == "ray" else way.processes)]
    for old in (*place.glob("shards-*/*"), *place.glob("answers-*/*")):
        old.unlink()
    for shard in range(SHARDS):
        ids = pl.Series("id", range(shard * rows, (shard + 1) * rows))
        path = folders[shard % len(folders)] / f"part-{shard:04}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"id": ids, "text": texts.gather(ids % len(texts))}).write_parquet(path)
    return folders


def measured(way: Way, model: Path, folders: list[Path], rows: int) -> Figures:
    """Answer the folders with a command each, side by side, and return the speed after the first finished shard.

    Raises:
        GlassformerError: a command failed, or a row has no answer or two.
    """
    begun = time.monotonic()
    started = [begin(way, model, folder, out_of(folder)) for folder in folders]
    clock = Clock([process.pid for process in started])
    marks: dict[int, tuple[float, float]] = {}  # finished shards → wall seconds and processor seconds
    while any(process.poll() is None for process in started):
        finished = sum(finished_in(out_of(folder)) for folder in folders)
        used = clock.read()
        if finished not in marks:
            marks[finished] = time.monotonic() - begun, used
        time.sleep(0.05)
    seconds = time.monotonic() - begun
    if any(process.returncode for process in started):
        raise GlassformerError(f"{way} failed")
    found = pl.concat(
        [pl.read_parquet(path, columns=["id"]) for each in folders for path in out_of(each).glob("*.parquet")]
    )
    if sorted(found["id"]) != list(range(SHARDS * rows)):
        raise GlassformerError(f"{way}: {found.height:,} answers to {SHARDS * rows:,} rows")
    return figures(way, {shards: mark for shards, mark in marks.items() if shards}, rows, seconds, clock.most_memory)


class Clock:
    """Reads the processor time of processes and of all that they start, and the most memory of one of them."""

    def __init__(self, processes: list[int]) -> None:
        self._processes = processes
        self._used: dict[int, float] = {}
        self.most_memory = 0

    def read(self) -> float:
        """Return the processor seconds so far, those of ended processes included."""
        waiting = list(self._processes)
        while waiting:
            pid = waiting.pop()
            with suppress(OSError):  # it has just ended
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                self._used[pid] = (int(fields[11]) + int(fields[12])) / _TICKS
                self.most_memory = max(self.most_memory, int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))
                for task in Path(f"/proc/{pid}/task").iterdir():
                    waiting += [int(child) for child in (task / "children").read_text().split()]
        return sum(self._used.values())


def finished_in(out: Path) -> int:
    """Return the number of finished shards."""
    manifest = out / MANIFEST
    return max(0, manifest.read_bytes().count(b"\n") - 1) if manifest.exists() else 0


def out_of(folder: Path) -> Path:
    return folder.parent / folder.name.replace("shards", "answers")


def begin(way: Way, model: Path, folder: Path, out: Path) -> subprocess.Popen[bytes]:
    flags = ["--engine", "ray", "--workers", str(way.processes)] if way.engine == "ray" else []
    given = [str(model), "--file", str(folder), "--out", str(out), "--device", "cpu", "--quiet", *flags]
    bound: Callable[[], None] | None = (lambda: os.sched_setaffinity(0, {0})) if way.cores == 1 else None
    return subprocess.Popen(
        [sys.executable, "-m", "glassformer", "predict", *given],
        env=os.environ | {"OMP_NUM_THREADS": str(way.threads)},
        stdout=subprocess.DEVNULL,
        preexec_fn=bound,
    )


def figures(way: Way, marks: Mapping[int, tuple[float, float]], rows: int, seconds: float, most_memory: int) -> Figures:
    """Return the speed between the first and the last mark.

    Args:
        marks: finished shards → the seconds by the clock, and the processor seconds of all processes.
        rows: of a shard.
        seconds: of the whole command.
    """
    first, last = min(marks), max(marks)
    answered = (last - first) * rows
    wall, used = (marks[last][index] - marks[first][index] for index in (0, 1))
    return {
        "engine": way.engine,
        "processes": way.processes,
        "threads": way.threads,
        "start_seconds": round(marks[first][0], 2),
        "seconds": round(seconds, 2),
        "rows_per_second": round(answered / wall, 1),
        "rows_per_core_second": round(answered / used, 1),
        "cores_used": round(used / wall, 2),
        "most_memory_of_a_process": most_memory,
    }


if __name__ == "__main__":
    main()
