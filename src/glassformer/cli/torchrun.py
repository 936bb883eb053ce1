"""Several processes that torchrun starts for one command: which of them speaks, and which commands they can run."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, TextIO

from glassformer.errors import UsageError, brief

if TYPE_CHECKING:
    from glassformer.training.many_processes import ManyProcesses
    from glassformer.training.processes import Processes

_UNTIL_THE_FIRST_SPOKE = 10.0  # seconds, at most: once it has, torchrun stops this process
_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_COMMANDS = ("train", "pretrain")
_MOST_DIGITS = 9  # of a number of processes


class _Torchrun:
    """What this process knows of the others."""

    def __init__(self) -> None:
        self.joined: ManyProcesses | None = None
        self.stderr: TextIO = sys.stderr


_TORCHRUN = _Torchrun()


def is_one_of_several() -> bool:
    """Whether torchrun started this process beside others."""
    given = [os.environ.get(name, "") for name in _VARIABLES]
    numbers = [int(each) for each in given[:3] if _is_number(each)]
    return all(given) and len(numbers) == 3 and numbers[2] > max(*numbers[:2], 1)


def _is_number(given: str) -> bool:
    return given.isdecimal() and len(given) <= _MOST_DIGITS


def begin() -> None:
    """Let only the first of several processes write to the terminal."""
    _TORCHRUN.joined, _TORCHRUN.stderr = None, sys.stderr
    if is_one_of_several():
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")  # of a lost process it writes a page, and we a sentence
    if not leads():
        sys.stdout = sys.stderr = _nowhere()


def check_command(command: str | None) -> None:
    """Raise `UsageError` if several processes cannot run this command together, or were not started by torchrun."""
    missing = [name for name in _VARIABLES if not os.environ.get(name)]
    size = os.environ.get("WORLD_SIZE", "")
    if command in _COMMANDS and missing and _is_number(size) and int(size) > 1:
        raise UsageError(
            f"WORLD_SIZE={size} asks for several processes, and {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} not set; torchrun sets all of them: torchrun --nproc-per-node "
            f"{size} -m glassformer {command} …. For one process: unset WORLD_SIZE"
        )
    if command in _COMMANDS and size.isdecimal() and not _is_number(size):
        raise UsageError(f"WORLD_SIZE={brief(size)} is no number of processes. For one process: unset WORLD_SIZE")
    ranks = {name: os.environ.get(name, "") for name in ("RANK", "LOCAL_RANK")}
    for name, rank in ranks.items() if command in _COMMANDS and not missing and size.isdecimal() else ():
        if not _is_number(rank) or int(rank) >= int(size):
            raise UsageError(
                f"WORLD_SIZE={size} asks for several processes, and {name}={brief(rank)} is no number below it; "
                "torchrun sets both. For one process: unset WORLD_SIZE"
            )
    if is_one_of_several() and command not in _COMMANDS:
        raise UsageError(
            f"torchrun started {os.environ['WORLD_SIZE']} processes, and only {' and '.join(_COMMANDS)} can share "
            f"their work; run `glassformer {command}` without torchrun"
        )


def join(device: str) -> tuple[Processes, str]:
    """Join the other processes, if there are any. Return all of them together, and the device of this one."""
    from glassformer.prediction.devices import choose_device
    from glassformer.training.processes import ALONE

    if not is_one_of_several():
        return ALONE, choose_device(device)
    from glassformer.training.many_processes import ManyProcesses, choose_device_of_process

    chosen = choose_device_of_process(device)
    _TORCHRUN.joined = ManyProcesses(chosen)
    return _TORCHRUN.joined, chosen


def has_lost_a_process() -> bool:
    """Whether another process has ended too early. torchrun then stops this one, too."""
    return _TORCHRUN.joined is not None and _TORCHRUN.joined.lost


def let_first_speak(error: BaseException) -> None:
    """Let the process that failed first say why, and after a loss the one that saved the run. The others are silent.

    Processes that cannot reach the others speak for themselves.
    """
    joined = _TORCHRUN.joined
    if joined is None and not hasattr(error, "saved_step"):  # no `LostProcessError`
        if not leads():  # all processes have the same arguments, and so the same error
            time.sleep(_UNTIL_THE_FIRST_SPOKE)  # torchrun stops the others as soon as one has ended
        return
    if joined is None or joined.deserted:
        speaks = True
    elif joined.lost:
        speaks = joined.leads and (leads() or getattr(error, "saved_step", None) is not None)
    else:
        speaks = joined.first_to_fail()
    sys.stderr = _TORCHRUN.stderr if speaks else _nowhere()


def program() -> str:
    """Return how the command was started, for a message that repeats it."""
    if not is_one_of_several():
        return "glassformer"
    number, here = os.environ["WORLD_SIZE"], os.environ.get("LOCAL_WORLD_SIZE")
    return f"torchrun {f'--nproc-per-node {number}' if here == number else '…'} -m glassformer"


def leads() -> bool:
    """Whether this process is the only one, or the first of several."""
    return not is_one_of_several() or os.environ["RANK"] == "0"


def _nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8", closefd=False)  # open until the end
