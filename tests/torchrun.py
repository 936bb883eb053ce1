"""Run a command in two processes, as a user of torchrun does."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.test_house import ROOT

PATIENCE = 300  # seconds; a busy machine is slow to import torch twice


class TwoProcesses:
    """A command that torchrun runs in two processes, with its own port. What it says goes to a file."""

    def __init__(self, *arguments: object, log: Path) -> None:
        self.log = log
        environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"}
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
                + [str(argument) for argument in arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def wait_until_it_says(self, words: str) -> None:
        until = time.monotonic() + PATIENCE
        while words not in self.said:
            if self.process.poll() is not None or time.monotonic() > until:
                self._stop()
                raise AssertionError(self.said)
            time.sleep(0.02)

    def worker(self, rank: int) -> int:
        """The process id of one of the two."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        (found,) = (
            int(child)
            for child in children
            if f"\0RANK={rank}\0".encode() in Path(f"/proc/{child}/environ").read_bytes()
        )
        return found

    def end(self) -> int:
        """Wait for the end, and return the exit code."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired as error:
            self._stop()
            raise AssertionError(self.said) from error

    def _stop(self) -> None:
        self.process.terminate()  # torchrun ends its processes
        self.process.wait(PATIENCE)
