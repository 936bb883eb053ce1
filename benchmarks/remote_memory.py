"""How much memory does a Parquet file in an S3 bucket take, by its rows?

    python -m benchmarks.remote_memory

A server on this machine answers as a bucket does. A process reads a file of it as `predict` does, in batches; another
one as `train` does, into a table; a third one answers it with the model that comes with glassformer.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiment import arguments, running

ROWS = (100_000, 1_000_000)
ROWS_ANSWERED = (10_000, 200_000)  # answering takes longer than reading
WORDS, WORDS_OF_TEXT, LABELS = 5_000, 12, ("good", "bad", "neither")
MIB = 2**20
Write = Callable[[Path, int], int]
IN_BATCHES, AS_A_TABLE, ANSWERED = "read in batches", "read as a table", "answered"


def main() -> None:
    """Measure each way with each number of rows, or one in this process, and write one JSON file."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--one", nargs=2, metavar=("WAY", "ADDRESS"), help="measure one here, and print it")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(*options.one)))
        return
    with running(options) as experiment, tempfile.TemporaryDirectory() as folder:
        rows, answered = (ROWS, ROWS_ANSWERED) if not options.quick else ((1_000,), (100,))
        found = [of_rows(number, Path(folder), ways=(IN_BATCHES, AS_A_TABLE)) for number in rows]
        found += [of_rows(number, Path(folder), ways=(ANSWERED,)) for number in answered]
        experiment.write("remote-memory", {"files": found})


def write(path: Path, rows: int) -> int:
    """Write a file of different texts with labels. Return how many bytes the texts have."""
    import polars as pl

    rng = np.random.default_rng(0)
    words = np.array([f"{'bcdfghklm'[n % 9]}{'aeiou'[n % 5]}{n:x}" for n in range(WORDS)])
    drawn = words[rng.integers(0, WORDS, (rows, WORDS_OF_TEXT))]
    texts = pl.DataFrame(drawn).select(pl.concat_str(pl.all(), separator=" ").alias("text"))
    labels = np.array(LABELS)[rng.integers(0, len(LABELS), rows)]
    texts.with_columns(pl.Series("label", labels)).write_parquet(path)
    return int(texts["text"].str.len_bytes().sum())


def of_rows(
    rows: int, folder: Path, *, ways: Sequence[str], write: Write = write, module: str = "remote_memory"
) -> dict[str, Any]:
    """Return what reading a file of so many rows takes, in MiB.

    Args:
        module: what measures a way in a process of its own, as `python -m benchmarks.MODULE --one WAY ADDRESS`.
    """
    path = folder / f"{rows}.parquet"
    n_bytes = write(path, rows)
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(path, theirs), daemon=True)
    server.start()
    try:
        variables = {**os.environ, **ours.recv()}
        found = {}
        for way in ways:
            command = [sys.executable, "-m", f"benchmarks.{module}", "--one", way, f"s3://bucket/{path.name}"]
            said = subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE, text=True)
            found[way] = json.loads(said.stdout.splitlines()[-1])
            print(rows, way, found[way], flush=True)
    finally:
        server.terminate()
        server.join()
    sizes = {"texts_mib": round(n_bytes / MIB, 1), "file_mib": round(path.stat().st_size / MIB, 1)}
    return {"rows": rows, **sizes, "ways": found}


def serve(path: Path, connection: Connection) -> None:
    """Serve a file as an object until the process ends. The variables that name the server are sent."""
    from tests.data.object_store import OBJECTS, environment, serving

    OBJECTS[path.name] = path.read_bytes()
    with serving() as (address, _):
        connection.send(dict(environment(address)))
        multiprocessing.Event().wait()


def measured(way: str, address: str, ways: Mapping[str, Callable[[str], int]] | None = None) -> dict[str, Any]:
    """Return the most memory that this process took, and the rows that it saw."""
    import time

    begun = time.monotonic()
    rows = (ways or WAYS)[way](address)
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))  # in KiB
    seconds = {"seconds": round(time.monotonic() - begun, 1), "processor_seconds": round(time.process_time(), 1)}
    return {"rows": rows, "peak_mib": peak // 1024, **seconds}


def _in_batches(address: str) -> int:
    from glassformer.cli.rows_to_answer import ROWS_PER_BATCH
    from glassformer.data.addresses import local_path
    from glassformer.data.rows import iterate_rows

    return sum(batch.height for batch in iterate_rows(local_path(address), rows_per_batch=ROWS_PER_BATCH))


def _as_a_table(address: str) -> int:
    from glassformer.data.sources import SourceConfig, read_sources
    from glassformer.data.splits import ValidationConfig

    return read_sources(SourceConfig(train=address), ValidationConfig(), None).train.frame.height


def _with_answers(address: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return answered("sentiment-en", address, Path(folder) / "answers.csv")


def answered(model: str, address: str, out: Path) -> int:
    """Answer a table with a model. Return how many lines were written."""
    run("predict", model, "--file", address, "--out", str(out), "--quiet")
    with out.open("rb") as lines:
        return sum(1 for _ in lines) - 1


def run(*arguments: str) -> None:
    """Run a command of glassformer in this process."""
    from glassformer.cli.main import main as glassformer

    sys.argv = ["glassformer", *arguments]
    try:
        glassformer()
    except SystemExit as end:
        if end.code:
            raise


WAYS: dict[str, Callable[[str], int]] = {
    IN_BATCHES: _in_batches,
    AS_A_TABLE: _as_a_table,
    ANSWERED: _with_answers,
}

if __name__ == "__main__":
    main()
