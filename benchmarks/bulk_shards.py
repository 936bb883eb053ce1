"""How many rows of a folder of shards are answered per second, by one process and by the workers of Ray?

    python -m benchmarks.bulk_shards

The training rows of disaster-tweets are written into shards, again and again, and answered by the preset `small` with
`glassformer predict --file`. Each way is also measured on shards of one row: this is its start, without rows. Ways on
one core are bound to it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.experiment import Experiment, arguments, running
from glassformer.data.known import resolve
from glassformer.errors import GlassformerError

DATA = "disaster-tweets"
SHARDS, ROWS_PER_SHARD, QUICK_ROWS_PER_SHARD = 40, 2_500, 50

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
    model: str = "model"

    @property
    def cores(self) -> int:
        return self.processes * self.threads


WAYS = (
    Way(engine="plain", processes=1, threads=1),
    Way(engine="plain", processes=1, threads=2),
    Way(engine="plain", processes=2, threads=1),
    Way(engine="ray", processes=1, threads=1),
    Way(engine="ray", processes=2, threads=1),
    Way(engine="plain", processes=1, threads=1, model="onnx-int8"),
)


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        models = made_models(experiment)
        rows = QUICK_ROWS_PER_SHARD if options.quick else ROWS_PER_SHARD
        place = experiment.work / "bulk-shards"
        lines = []
        for way in WAYS:
            if way.cores > (os.cpu_count() or 1):
                continue
            folder = models[way.model]
            start, _ = measured(way, folder, write_shards(place, way.processes, way.processes, 1))
            seconds, most = measured(way, folder, write_shards(place, way.processes, SHARDS, rows))
            lines.append(figures(way, SHARDS * rows, start, seconds, most))
            print(lines[-1])
        found = {
            "data": DATA,
            "shards": SHARDS,
            "rows": SHARDS * rows,
            "shard_bytes": (place / "shards-0" / "part-0000.parquet").stat().st_size,
            "ways": lines,
            "load_average_at_end": round(os.getloadavg()[0], 2),
        }
        experiment.write("bulk-shards", found)


def made_models(experiment: Experiment) -> dict[str, Path]:
    """Return the folders of the trained model and of its int8 export."""
    folder = experiment.model(
        "bulk-shards-model",
        {"data": DATA, "seed": 0, "quick": experiment.quick},
        lambda out: command(
            "train", DATA, "--out", out, "--quiet", *(["--preset", "tiny", "--epochs", 1] if experiment.quick else [])
        ),
    )
    int8 = experiment.model(
        "bulk-shards-int8",
        {"data": DATA, "seed": 0, "quick": experiment.quick},
        lambda out: command("export", folder, "--format", "onnx-int8", "--out", out, "--quiet"),
    )
    return {"model": folder, "onnx-int8": int8}


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


def write_shards(place: Path, folders: int, shards: int, rows: int) -> list[Path]:
    """Write shards into as many folders, and return the folders. Old shards and answers are removed."""
    texts = resolve(DATA, "train").frame["text"]
    found = [place / f"shards-{folder}" for folder in range(folders)]
    for old in (*place.glob("shards-*/*"), *place.glob("answers-*/*")):
        old.unlink()
    for shard in range(shards):
        start = shard * rows
        ids = pl.Series("id", range(start, start + rows))
        path = found[shard % folders] / f"part-{shard:04}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"id": ids, "text": texts.gather(ids % len(texts))}).write_parquet(path)
    return found


def measured(way: Way, model: Path, folders: list[Path]) -> tuple[float, int]:
    """Answer the folders with a command each, side by side. Ray answers all of them with one command.

    Returns:
        The seconds until all have ended, and the most memory of a command, in bytes. Workers of Ray are not counted.

    Raises:
        GlassformerError: a command failed, or some rows have no answer.
    """
    if way.engine == "ray":
        folders = [one_folder(folders)]
    expected = [sum(pl.read_parquet(path, columns=["id"]).height for path in folder.iterdir()) for folder in folders]
    begun, most = time.monotonic(), 0
    started = [begin(way, model, folder, out_of(folder)) for folder in folders]
    for process in started:
        _, status, used = os.wait4(process.pid, 0)
        most = max(most, used.ru_maxrss * 1024)
        if status:
            raise GlassformerError(f"{way} failed with the status {status}")
    seconds = time.monotonic() - begun
    for folder, rows in zip(folders, expected, strict=True):
        found = pl.concat([pl.read_parquet(path, columns=["id"]) for path in out_of(folder).glob("*.parquet")])
        if found["id"].n_unique() != rows or found.height != rows:
            raise GlassformerError(f"{way}: {found.height:,} answers to {rows:,} rows")
    return seconds, most


def one_folder(folders: list[Path]) -> Path:
    """Move all shards into the first folder."""
    for folder in folders[1:]:
        for path in folder.iterdir():
            path.rename(folders[0] / path.name)
    return folders[0]


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


def figures(way: Way, rows: int, start: float, seconds: float, most: int) -> Figures:
    """Return the speed without the start."""
    speed = rows / max(seconds - start, 1e-9)
    return {
        "engine": way.engine,
        "model": way.model,
        "processes": way.processes,
        "threads": way.threads,
        "cores": way.cores,
        "start_seconds": round(start, 2),
        "seconds": round(seconds, 2),
        "rows_per_second": round(speed, 1),
        "rows_per_second_per_core": round(speed / way.cores, 1),
        "peak_bytes_of_a_command": most,
    }


if __name__ == "__main__":
    main()
