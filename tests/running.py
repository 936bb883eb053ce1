"""A command in a process of its own, which a test watches, stops or kills."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.test_house import ROOT

PATIENCE = 300.0  # seconds; a busy machine is slow to import torch several times


class Running:
    """Python with these arguments. What it says goes to a file."""

    def __init__(self, *arguments: object, log: Path) -> None:
        self.log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, *map(str, arguments)],
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
                self._stop()
                raise AssertionError(self.said)
            time.sleep(0.005)

    def wait_until_it_says(self, words: str) -> None:
        self.wait_until(lambda: words in self.said)

    def end(self) -> int:
        """Wait for the end, and return the exit code."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired as error:
            self._stop()
            raise AssertionError(self.said) from error

    def _stop(self) -> None:
        self.process.terminate()  # it ends the processes that it has started
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()


class TwoProcesses(Running):
    """A command that torchrun runs in two processes, with its own port, as a user of torchrun does."""

    def __init__(self, *arguments: object, log: Path) -> None:
        torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2)
        super().__init__(*torchrun, *arguments, log=log)

    def worker(self, rank: int) -> int:
        """The process id of one of the two."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        (found,) = (
            int(child)
            for child in children
            if f"\0RANK={rank}\0".encode() in Path(f"/proc/{child}/environ").read_bytes()
        )
        return found
