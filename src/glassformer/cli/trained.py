"""What `glassformer train` shows of a trained model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.flags import as_flags
from glassformer.cli.output import duration, print_json, say, show

if TYPE_CHECKING:
    from glassformer.prediction.model_folder import TrainedModel
    from glassformer.training.card import Said


def show_trained(trained: TrainedModel, out: Path, *, json: bool) -> None:
    """Show the figures of held-out rows, and what to do next."""
    from glassformer.training.card import said_of

    config, metrics = trained.config, trained.metrics
    said = said_of(trained)
    if json:
        shared = {"training_seconds": config.training_seconds, "data": config.data}
        shared |= {"time_plan": metrics.get("time_plan"), "history": metrics["history"]}
        print_json({"model": str(out), **said.figures(trained), **shared})
        return
    from glassformer.data.inputs import example_of
    from glassformer.prediction.folder_names import REPORT_FILE

    alone = ", by counting alone" if config.answers_by_counting else ""  # said under --quiet too
    show(f"{out}: {said.in_short(trained)}{alone}, trained in {duration(config.training_seconds)}")
    _say_doubts(trained, said)
    if (out / REPORT_FILE).is_file():
        say(f"report: {out / REPORT_FILE} (the figures, and what to do next)")
    folder, text = shlex.quote(str(out)), example_of(config.inputs)
    say(f"next: glassformer predict {folder} {text}    glassformer explain {folder} {text}")
    say(f"      glassformer evaluate {folder} TEST_TABLE")


def _say_doubts(trained: TrainedModel, said: Said) -> None:
    """Say which labels of held-out rows the model doubts, if any, and the command that checks the whole table."""
    from glassformer.data.table import row_list
    from glassformer.data.wording import counted

    key, told_as, why = said.doubts
    doubts = told_as.model_validate(trained.metrics[key]) if key in trained.metrics else None
    if doubts is None or not doubts.doubtful:
        return
    where = "" if doubts.source == trained.config.data["source"] else f" of {doubts.source}"
    kind = "held-out row" if trained.config.data["validation_rows"] else "row"
    have = "has" if doubts.doubtful == 1 else "have"
    numbers = [each.row for each in doubts.listed]
    first = row_list(numbers + [0] * (doubts.doubtful - len(numbers)), most=3)
    command = said.command(trained.config)
    more = "" if command is None else f"; `{as_flags(command)}` checks all rows"
    say(f"{said.column}s: {doubts.doubtful:,} of {counted(doubts.rows, kind)}{where} {have} {why} ({first}){more}")
