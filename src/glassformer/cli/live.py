"""What a long command shows while it works, on standard error: a bar, and lines that stay; the bar in a terminal only.

Texts of the user's are shown as they are: rich would take `[b]` in a folder's name for markup.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from glassformer.cli.output import duration, without_control

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn, TaskID

    from glassformer.training.loop import StepReport


class Live:
    """A bar of these columns, and lines above it. A message is said once, however many runs repeat it."""

    def __init__(self, *columns: ProgressColumn, transient: bool = True, expand: bool = False) -> None:
        from rich.progress import Progress

        self._console = console()
        self._progress = Progress(
            *columns,
            console=self._console,
            transient=transient,
            expand=expand,
            disable=not self._console.is_terminal,
        )
        self._said: set[str] = set()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()

    def on_message(self, text: str) -> None:
        """Say something on a line of its own, which may be what a model wrote."""
        if text not in self._said:
            self._said.add(text)
            self._console.print(without_control(text))


class LiveView(Live):
    """A bar per epoch that stays as one line."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.table import Column

        super().__init__(
            TextColumn("epoch {task.fields[epoch]}"),
            *([BarColumn(bar_width=24)] if console().width >= 120 else []),
            TaskProgressColumn(),
            TextColumn("{task.fields[figures]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
            expand=True,
        )
        self._task: TaskID | None = None
        self._speed = ""

    def on_step(self, report: StepReport) -> None:
        """Move the bar."""
        self._speed = f"{report.speed:,.0f} {report.unit}/s"
        accuracy = "" if report.accuracy is None else f"  accuracy {report.accuracy:.0%}"
        figures = (
            f"loss {report.loss:.3f}{accuracy}  {duration(report.seconds_left)} left  "
            f"{self._speed}  padding {report.padding:.0%}"
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
        parts = []
        for which, said in (("train", ""), ("validation", "validation ")):
            figures = {name.removeprefix(f"{which}_"): row[name] for name in row if name.startswith(f"{which}_")}
            shown = " ".join(f"{name.replace('_', ' ')} {value:.4f}" for name, value in figures.items())
            parts += [said + shown] if shown else []
        self._console.print(f"epoch {row['epoch']:.0f}: {'  '.join(parts)}  {self._speed}  {duration(row['seconds'])}")


def console() -> Console:
    """Standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
