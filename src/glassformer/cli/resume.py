"""What a command says when Ctrl-C stopped a run that can go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from glassformer.cli.output import command_line, say


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Say on Ctrl-C with which command the run in `out` goes on, and end with 1."""
    from glassformer.prediction.model_folder import is_unfinished
    from glassformer.training.loop import InterruptedTraining

    try:
        yield
    except (InterruptedTraining, KeyboardInterrupt) as error:
        if not is_unfinished(out):
            raise
        again = command_line(leave_out="--overwrite", add="--resume")
        say(f"stopped; the run is saved in {out}. Continue it with:\n  {again}")
        raise typer.Exit(1) from error
