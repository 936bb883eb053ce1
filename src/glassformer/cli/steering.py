"""Progress of `glassformer align rl`."""

from __future__ import annotations

from glassformer.cli.live import Live, bar_width, words
from glassformer.cli.output import one_line, progressing

_SHOWN = {
    "reward": ".3f",
    "kl": ".2f",
    "entropy": ".2f",
    "clip_share": ".0%",
    "length": ".1f",
    "value_loss": ".3f",
    "distinct_2": ".2f",
    "beta": ".3g",
}


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
            f"{name.replace('_', ' ')} {row[name]:{form}}" for name, form in _SHOWN.items() if name in row
        )
        self._sample = sample
        self.move(row["update"], self._rounds, figures=self._figures)
        progressing(f"round {row['update']:.0f} of {self._rounds}: {self._figures}")

    def on_message(self, text: str) -> None:
        """Show an evaluation on held-out prompts, the figures of the last round, and one of its texts."""
        super().on_message(text)
        if self._figures:
            prompt, completion = self._sample
            super().on_message(f"  {self._figures}\n  it writes: {one_line(prompt)}|{one_line(completion)}")
