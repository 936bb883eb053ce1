"""A command in a process of its own, which a test watches, stops or kills."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tests.cli.terminal import Outcome
from tests.test_house import ROOT

COMMAND = (sys.executable, "-m", "glassformer")
PATIENCE = 300.0  # seconds; a busy machine is slow to import torch several times


def signals_of_a_shell(hangup: signal.Handlers = signal.SIG_DFL) -> None:
    """Handle signals as a process that was started in a terminal, wherever the tests run. `nohup` ignores SIGHUP."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, hangup)


class Running:
    """Python with these arguments. What it says goes to files. As a context it is killed at the end."""

    def __init__(self, *arguments: object, log: Path, hangup: signal.Handlers = signal.SIG_DFL) -> None:
        self.out, self.err = log.with_suffix(".out"), log.with_suffix(".err")
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, *map(str, arguments)],
                env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=lambda: signals_of_a_shell(hangup),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def said(self) -> str:
        return self.err.read_text(encoding="utf-8") + self.out.read_text(encoding="utf-8")

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

    def outcome(self) -> Outcome:
        """Wait for the end, and return what it left."""
        code = self.end()
        assert "Traceback" not in self.said
        return Outcome(code=code, out=self.out.read_text(encoding="utf-8"), err=self.err.read_text(encoding="utf-8"))

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
