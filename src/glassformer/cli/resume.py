"""Messages for a run that was stopped and can be continued."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from glassformer.cli.output import command_line, insist
from glassformer.errors import GlassformerError


class Stopped(SystemExit):
    """Ends a command that a signal stopped, after its message. The exit code is that of a shell for the signal."""

    def __init__(self, error: GlassformerError | KeyboardInterrupt) -> None:
        if isinstance(error, GlassformerError):
            super().__init__(error.exit_code)
        else:
            super().__init__(128 + (error.args[0] if error.args else signal.SIGINT))


@contextmanager
def resumable(
    out: Path, unfinished: Callable[[Path], bool] | None = None, kept: str = "the run is saved"
) -> Iterator[None]:
    """If the run in `out` is stopped, say which command continues it.

    Args:
        unfinished: whether a folder holds something to continue. None: an unfinished model folder.
        kept: what is kept there.
    """
    from glassformer.prediction.model_folder import is_unfinished
    from glassformer.training.loop import InterruptedTraining

    try:
        yield
    except (InterruptedTraining, KeyboardInterrupt) as error:
        if not (unfinished or is_unfinished)(out):
            raise
        again = command_line(leave_out="--overwrite", add="--resume")
        insist(f"stopped; {kept} in {out}. Continue it with:\n  {again}")
        raise Stopped(error) from error
