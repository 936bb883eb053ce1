"""Messages for a run that was stopped and can be continued."""

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
    out: Path,
    kept: str | Callable[[], str] | None = None,
    *,
    unfinished: Callable[[Path], bool] | None = None,
    again: str = "--resume",
) -> Iterator[None]:
    """If the run in `out` is stopped, say which command continues it.

    Args:
        kept: what is kept there. None: what a training run has saved.
        unfinished: whether a folder holds something to continue. None: an unfinished model folder.
        again: the flag that continues it. Empty: the same command does.
    """
    from glassformer.prediction.folder_format import is_unfinished
    from glassformer.training.loop import InterruptedTraining

    try:
        yield
    except (InterruptedTraining, KeyboardInterrupt) as error:
        if not (unfinished or is_unfinished)(out):
            raise
        said = _saved(out) if kept is None else kept if isinstance(kept, str) else kept()
        command = command_line(leave_out="--overwrite", add=again)
        insist(f"stopped; {said} in {out}. Continue {'it ' if again else ''}with:\n  {command}")
        raise Stopped(error) from error


def _saved(out: Path) -> str:
    from glassformer.prediction.folder_names import CHECKPOINT_FOLDER
    from glassformer.training.unfinished import has_progress

    return "the run is saved" if has_progress(out / CHECKPOINT_FOLDER) else "what was finished is saved"
