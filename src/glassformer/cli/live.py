"""The live view of training, on standard error."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn
from rich.table import Column

from glassformer.cli.output import duration
from glassformer.training.loop import StepReport


class LiveView:
    """A bar per epoch that stays as one line; where there is no terminal, just the lines."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._progress = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            *([BarColumn(bar_width=24)] if self._console.width >= 120 else []),
            TaskProgressColumn(),
            TextColumn("{task.fields[figures]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
            console=self._console,
            expand=True,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID | None = None
        self._texts_per_second = 0.0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()

    def on_step(self, report: StepReport) -> None:
        """Move the bar."""
        self._texts_per_second = report.texts_per_second
        figures = (
            f"loss {report.loss:.3f}  accuracy {report.accuracy:.0%}  {duration(report.seconds_left)} left  "
            f"{report.texts_per_second:,.0f} texts/s  padding {report.padding:.0%}"
        )
        epoch = f"{report.epoch}/{report.epochs}"
        if self._task is None:
            self._task = self._progress.add_task("", total=report.steps_per_epoch, epoch=epoch, figures=figures)
        self._progress.update(
            self._task,
            completed=report.step_of_epoch,
            total=report.steps_per_epoch,
            epoch=epoch,
            figures=figures,
        )

    def on_epoch(self, row: dict[str, float]) -> None:
        """Leave the epoch's figures as a line."""
        validation = (
            f"  validation loss {row['validation_loss']:.4f} accuracy {row['validation_accuracy']:.4f}"
            if "validation_loss" in row
            else ""
        )
        self._progress.console.print(
            f"epoch {row['epoch']:.0f}: loss {row['train_loss']:.4f} accuracy {row['train_accuracy']:.4f}{validation}"
            f"  {self._texts_per_second:,.0f} texts/s  {duration(row['seconds'])}"
        )

    def on_message(self, text: str) -> None:
        """Say something on a line of its own."""
        self._progress.console.print(text)
