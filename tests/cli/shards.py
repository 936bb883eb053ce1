"""Folders of shards for the tests, their answers, and a command that can be killed."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

from glassformer.prediction.shard_manifest import MANIFEST
from tests.test_house import ROOT

PATIENCE = 240.0  # seconds; a busy machine is slow to import torch several times


def write_shards(folder: Path, shards: int, rows: int, kind: str = "parquet") -> Path:
    """Write shards with numbered rows, in which no text occurs twice."""
    folder.mkdir()
    for shard in range(shards):
        ids = range(shard * rows, (shard + 1) * rows)
        texts = [f"a {('good', 'bad')[number % 2]} film {number}" for number in ids]
        frame = pl.DataFrame({"id": ids, "text": texts})
        path = folder / f"part-{shard:03}.{kind}"
        if kind == "csv":
            frame.write_csv(path)
        else:
            frame.write_parquet(path)
    return folder


def answers(out: Path) -> pl.DataFrame:
    """Return all answers in the order of the files. There are no other files than answers and the manifest."""
    files = sorted(path for path in out.iterdir() if path.name != MANIFEST)
    (kind,) = {path.suffix for path in files}
    return pl.concat([pl.read_csv(path) if kind == ".csv" else pl.read_parquet(path) for path in files])


def finished(out: Path) -> list[str]:
    """Return the lines of the finished shards in the manifest."""
    path = out / MANIFEST
    return path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []


class Running:
    """A command in a process of its own."""

    def __init__(self, *arguments: object, log: Path) -> None:
        self.log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "glassformer", *map(str, arguments)],
                env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def wait_until(self, happened: Callable[[], object]) -> None:
        until = time.monotonic() + PATIENCE
        while not happened():
            if self.process.poll() is not None or time.monotonic() > until:
                self.process.kill()
                raise AssertionError(self.said)
            time.sleep(0.005)

    def end(self) -> int:
        """Wait for the end, and return the exit code."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired as error:
            self.process.kill()
            raise AssertionError(self.said) from error
