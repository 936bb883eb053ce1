"""Show the progress of training in a Python program, on standard error: a bar, and a line per epoch."""

import sys
import time

from glassformer.training.loop import StepReport

_EVERY = 0.2  # seconds
_WIDTH = 20


class ProgressLine:
    """An observer that shows a bar in a terminal or a notebook. Elsewhere it prints a line per epoch."""

    def __init__(self) -> None:
        self._shown_at = 0.0
        self._length = 0

    def on_step(self, report: StepReport) -> None:
        now = time.monotonic()
        if now - self._shown_at < _EVERY or not _redraws():
            return
        self._shown_at = now
        done = report.step_of_epoch / report.steps_per_epoch
        bar = ("█" * round(done * _WIDTH)).ljust(_WIDTH, "░")
        minutes, seconds = divmod(round(report.seconds_left), 60)
        left = f", {minutes}:{seconds:02d} left" if report.foresees else ""
        which = f"training {report.training}/{report.trainings} " if report.trainings > 1 else ""
        epoch = f"{which}epoch {report.epoch}/{report.epochs}"
        line = f"{epoch} {bar} loss {report.loss:.3f}{left}"
        self._write("\r" + line.ljust(self._length))
        self._length = len(line)

    def on_epoch(self, row: dict[str, float]) -> None:
        shown = ", ".join(
            f"{name.replace('_', ' ')} {value:.4f}"
            for name, value in row.items()
            if name.startswith(("train_", "validation_"))
        )
        self.on_message(f"epoch {row['epoch']:.0f}: {shown}, {row['seconds']:.1f} s")

    def on_message(self, text: str) -> None:
        self._write(("\r" if self._length else "") + text.ljust(self._length) + "\n")
        self._length = 0

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _redraws() -> bool:
    """Whether a carriage return overwrites the line: in a terminal, or in a notebook (with ipykernel's stream)."""
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")
