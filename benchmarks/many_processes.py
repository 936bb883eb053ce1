"""How fast do several processes train one model on the cores of one machine?

    python -m benchmarks.many_processes

The preset `small` is trained for one epoch, without a counting reader and without held-out rows: in one process with
one thread, in one process with a thread for each core, and in a process for each core. All have the same batches. The
ways take turns, so that a change of the machine's speed meets all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_data import read_rows, some_rows
from benchmarks.experiment import arguments, running
from glassformer.errors import GlassformerError

ROWS = {"disaster-tweets": 6_000, "imdb": 1_000}
ROUNDS, SEED = 3, 0
SETTINGS = (
    "model.counting=none", "validation.fraction=0", "training.epochs=1", "training.min_steps_per_epoch=1",
)  # fmt: skip

Figures = dict[str, Any]


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        found: Figures = {"seed": SEED, "rounds": 1 if experiment.quick else ROUNDS, "trained": []}
        for data, most in ROWS.items():
            table = experiment.work / "many-processes" / f"{data}.parquet"
            table.parent.mkdir(parents=True, exist_ok=True)
            rows = some_rows(read_rows(data, "train"), 300 if experiment.quick else most, SEED).frame
            rows.select("text", "label").write_parquet(table)
            seconds: dict[tuple[int, int], list[float]] = {}
            for _ in range(found["rounds"]):
                for way in ways(os.cpu_count() or 1):
                    seconds.setdefault(way, []).append(seconds_of_training(table, *way))
            found["trained"].append(
                {"data": data, "rows": len(rows), "ways": [figures(len(rows), *each) for each in seconds.items()]}
            )
        experiment.write("many-processes", found | {"load_average_at_end": round(os.getloadavg()[0], 2)})


def ways(cores: int) -> list[tuple[int, int]]:
    """Return the ways to train: the number of processes, and the threads of each."""
    return [(1, 1), (1, cores), (cores, 1)] if cores > 1 else [(1, 1)]


def figures(rows: int, way: tuple[int, int], seconds: list[float]) -> Figures:
    """Return the median speed of a way, and its slowest and fastest round."""
    slow, median, fast = (round(rows / second, 1) for second in (max(seconds), float(np.median(seconds)), min(seconds)))
    return {"processes": way[0], "threads": way[1], "texts_per_second": {"value": median, "low": slow, "high": fast}}


def seconds_of_training(table: Path, processes: int, threads: int) -> float:
    """Train a model, and return the seconds that its steps took.

    Raises:
        GlassformerError: training failed.
    """
    start = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"] if processes > 1 else []
    given = ["train", str(table), "--out", str(table.parent / "model"), "--overwrite", "--device", "cpu", "--json"]
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    done = subprocess.run(
        [sys.executable, *start, "-m", "glassformer", *given, *settings, "--quiet"],
        env=os.environ | {"OMP_NUM_THREADS": str(threads)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise GlassformerError(f"training in {processes} processes failed: {done.stderr[-2_000:]}")
    return float(json.loads(done.stdout)["history"][-1]["seconds"])


if __name__ == "__main__":
    main()
