"""A command in a process of its own, which a test watches, stops or kills.

It is forked by a server that has imported torch and what trains: each process would take three seconds for that.
"""

import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import forkserver, get_context
from pathlib import Path
from types import ModuleType
from typing import Self

from torch.distributed.elastic.multiprocessing.subprocess_handler import SubprocessHandler

from tests.cli.terminal import Outcome
from tests.test_house import ROOT

COMMAND = (sys.executable, "-m", "glassformer")
PATIENCE = 300.0  # seconds; a busy machine is slow to import torch several times

SERVER = get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "tests.running",
        "torch._dynamo",
        "torch.distributed.run",
        "scipy.stats",
        "sklearn.linear_model",
        "pytest",
        "glassformer.targets.labels.training",
        "glassformer.targets.number.training",
        "glassformer.training.distil",
        "tests.fits",
    ]
)


def signals_of_a_shell(hangup: signal.Handlers = signal.SIG_DFL) -> None:
    """Handle signals as a process that was started in a terminal, wherever the tests run. `nohup` ignores SIGHUP."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, hangup)


class Forked:
    """Python with these arguments, and with what `subprocess.Popen` has for it. What it says is appended to files."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        out: Path,
        err: Path,
        *,
        hangup: signal.Handlers = signal.SIG_DFL,
        session: bool = False,
    ) -> None:
        given = (list(arguments), dict(environment), Path.cwd(), out, err, hangup, session)
        self._process = SERVER.Process(target=_python, args=given)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("python", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _python(
    arguments: list[str],
    environment: dict[str, str],
    folder: Path,
    out: Path,
    err: Path,
    hangup: signal.Handlers,
    session: bool,
) -> None:
    """Become `python *arguments`, in the process that was forked."""
    signals_of_a_shell(hangup)
    if session:
        os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, file in ((1, out), (2, err)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT), number)
    sys.modules["__main__"] = main = ModuleType("__main__")
    kind, what, *sys.argv[1:] = arguments
    if kind == "-c":
        exec(what, vars(main))
    else:
        runpy.run_module(what, run_name="__main__", alter_sys=True)


class Running:
    """Python with these arguments. What it says goes to files. As a context it is killed at the end."""

    def __init__(
        self,
        *arguments: object,
        log: Path,
        hangup: signal.Handlers = signal.SIG_DFL,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.out, self.err = log.with_suffix(".out"), log.with_suffix(".err")
        for file in (self.out, self.err):
            file.write_bytes(b"")
        environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1", **(environment or {})}
        words = [str(each) for each in arguments]
        self.process = Forked(words, os.environ | environment, self.out, self.err, hangup=hangup)

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
        torchrun = f"from tests.running import torchrun; torchrun({str(log)!r})"
        super().__init__("-c", torchrun, "--standalone", "--nproc-per-node", 2, *arguments, log=log)

    def worker(self, rank: int) -> int:
        """The process id of one of the two."""
        return int(self.err.with_suffix(f".{rank}").read_text())


QUICKLY = """
import runpy, sys
from tests.fits import few_steps
with few_steps():
    runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
"""As commands are tried in one process: see `tests/cli/conftest.py`."""


def torchrun(log: str) -> None:
    """Be torchrun, whose processes are forked, too."""
    from torch.distributed.run import main

    def forked(_: SubprocessHandler, command: tuple[str, ...], environment: dict[str, str]) -> Forked:
        python, unbuffered, module, *words = command
        assert (python, unbuffered, module) == (sys.executable, "-u", "-m")
        arguments = ("-c", QUICKLY, *words)
        said = Path(log)
        worker = Forked(arguments, environment, said.with_suffix(".out"), said.with_suffix(".err"), session=True)
        said.with_suffix(f".{environment['RANK']}").write_text(str(worker.pid))
        return worker

    vars(forkserver._forkserver)["ensure_running"] = lambda: None  # it would start a second server
    SubprocessHandler._popen = forked  # type: ignore[assignment,method-assign]
    main()
