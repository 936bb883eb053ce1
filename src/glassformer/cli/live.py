"""Progress of a long command on standard error: a bar in a terminal, and lines that stay.

Elsewhere, as in a log file, the figures of the bar are written as lines (see `activity`). Names and texts of the user
are shown as they are, although rich would read `[b]` in a folder's name as markup.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from glassformer.cli.activity import ACTIVITY
from glassformer.cli.flags import as_flags
from glassformer.cli.output import doing, one_line, say, without_control
from glassformer.data.wording import duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn, TaskID, TextColumn

    from glassformer.training.loop import StepReport


_OF_ROUNDS = {
    "reward": ".3f",
    "kl": ".2f",
    "entropy": ".2f",
    "clip_share": ".0%",
    "length": ".1f",
    "value_loss": ".3f",
    "distinct_2": ".2f",
    "beta": ".3g",
}
"""The figures of a round of reinforcement learning, and how they are written."""


_SAID = {"agreement": "agreement with the teacher", "r2": "R² with the numbers of the table"}
"""What figures of a student are called. Models that have no teacher have none of them."""
_BETWEEN = "finishing the epoch"


class Live:
    """A bar with these columns, and lines above it. The bar appears with its first task.

    A message is shown once, even if several runs repeat it.
    """

    def __init__(self, *columns: ProgressColumn, transient: bool = True, expand: bool = False) -> None:
        from rich.progress import Progress

        self._console = console()
        self._progress = Progress(
            *columns,
            console=self._console,
            transient=transient,
            expand=expand,
            redirect_stdout=False,  # results go to standard output, also while a bar is shown
            disable=ACTIVITY.hushed or not self._console.is_terminal,
        )
        self._task: TaskID | None = None
        self._started = False
        self._said: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    def begin(self, description: str = "", total: float | None = None, **fields: Any) -> None:
        """Begin a new bar. Before the first bar, the line of `activity` is shown."""
        if not self._started and not self._progress.disable:
            ACTIVITY.pause()
            self._progress.start()
            self._started = True
        self._task = self._progress.add_task(description, total=total, **fields)

    def move(self, completed: float, total: float | None = None, **fields: Any) -> None:
        """Move the last bar. If there is none, begin one."""
        if self._task is None:
            self.begin(total=total, **fields)
        assert self._task is not None
        self._progress.update(self._task, completed=completed, total=total, **fields)

    def end(self) -> None:
        """Remove the bar."""
        if self._started:
            self._progress.stop()
            ACTIVITY.resume()
            self._started = False

    def line(self, text: str) -> None:
        """Show a line that stays."""
        if self._started:
            self._console.print(without_control(text))
        else:
            say(text)

    def on_message(self, text: str) -> None:
        """Show a message of the library, or a text that a model wrote, on a line of its own."""
        if text not in self._said:
            self._said.add(text)
            self.line(as_flags(text))


class LiveView(Live):
    """Show a bar per epoch. At its end, the epoch's figures stay as a line."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, TaskProgressColumn
        from rich.table import Column

        super().__init__(
            words("{task.fields[epoch]}"),
            BarColumn(bar_width=bar_width()),
            TaskProgressColumn(),
            words("{task.fields[figures]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
            expand=True,
        )
        self._speed = ""

    def on_step(self, report: StepReport) -> None:
        """Move the bar."""
        self._speed = f"{report.speed:,.0f} {report.unit}/s"
        accuracy = "" if report.accuracy is None else f"  accuracy {report.accuracy:.0%}"
        left = f"  {duration(report.seconds_left)} left" if report.foresees else ""
        figures = f"loss {report.loss:.3f}{accuracy}{left}"
        if is_wide():
            figures += f"  {self._speed}  padding {report.padding:.0%}"
        epoch = f"epoch {report.epoch}/{report.epochs}"
        if report.trainings > 1:
            epoch = f"training {report.training}/{report.trainings} {epoch}"
        self.move(report.step_of_epoch, report.steps_per_epoch, epoch=epoch, figures=figures)
        doing(f"{epoch}, {report.step_of_epoch / report.steps_per_epoch:.0%}: {figures}")

    def on_message(self, text: str) -> None:
        """Show a message of the library. The reader that is fitted is named until the next step."""
        super().on_message(text)
        if text.startswith("fitting "):
            doing(text)

    def on_epoch(self, row: dict[str, float]) -> None:
        """Show the epoch's figures as a line that stays."""
        parts = []
        for which, said in (("train", ""), ("validation", "validation ")):
            figures = {name.removeprefix(f"{which}_"): row[name] for name in row if name.startswith(f"{which}_")}
            shown = " ".join(
                f"{_SAID.get(name, name.replace('_', ' '))} {value:.4f}" for name, value in figures.items()
            )
            parts += [said + shown] if shown else []
        self.line(f"epoch {row['epoch']:.0f}: {'  '.join(parts)}  {self._speed}  {duration(row['seconds'])}")
        doing(_BETWEEN)  # until the next step
        if self._task is not None:
            self._progress.update(self._task, figures=_BETWEEN)


class SteeringView(Live):
    """Show a bar with the figures of the last round, and lines that stay after each evaluation on held-out prompts."""

    def __init__(self, rounds: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn
        from rich.table import Column

        super().__init__(
            words("round"),
            MofNCompleteColumn(),
            BarColumn(bar_width=bar_width()),
            words("{task.fields[figures]}", table_column=Column(ratio=1)),  # wrapped if the line is too short
            expand=True,
        )
        self._rounds = rounds
        self._figures, self._sample = "", ("", "")

    def on_update(self, row: dict[str, float], sample: tuple[str, str]) -> None:
        """Move the bar."""
        self._figures = "  ".join(
            f"{name.replace('_', ' ')} {row[name]:{form}}" for name, form in _OF_ROUNDS.items() if name in row
        )
        self._sample = sample
        self.move(row["update"], self._rounds, figures=self._figures)
        doing(f"round {row['update']:.0f} of {self._rounds}: {self._figures}")

    def on_message(self, text: str) -> None:
        """Show an evaluation on held-out prompts, the figures of the last round, and one of its texts."""
        super().on_message(text)
        if self._figures:
            prompt, completion = self._sample
            super().on_message(f"  {self._figures}\n  it writes: {one_line(prompt)}|{one_line(completion)}")


def bar_width() -> int:
    """Return the width of a bar. In a narrow terminal it leaves room for the figures beside it."""
    return 24 if is_wide() else 12


def is_wide() -> bool:
    """Whether the terminal has room for a bar and all figures on one line."""
    return console().width >= 120


def words(template: str, **options: Any) -> TextColumn:
    """Return a column that shows text as it is, without the characters that steer a terminal."""
    from rich.progress import Task, TextColumn
    from rich.text import Text

    class Words(TextColumn):
        def render(self, task: Task) -> Text:
            text = super().render(task)
            text.plain = without_control(text.plain)
            return text

    return Words(template, markup=False, **options)


def console() -> Console:
    """Return a console on standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
