"""What `glassformer train` shows of a trained model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.cli.flags import as_flags
from glassformer.cli.output import duration, print_json, say, show

if TYPE_CHECKING:
    from glassformer.prediction.model_folder import TrainedModel


def show_trained(trained: TrainedModel, out: Path, *, json: bool) -> None:
    """Show the figures of held-out rows, and what to do next."""
    config, metrics = trained.config, trained.metrics
    labelled = config.target.names is not None
    if json:
        shared = {"training_seconds": config.training_seconds, "data": config.data}
        shared |= {"time_plan": metrics.get("time_plan"), "history": metrics["history"]}
        print_json({"model": str(out), **(_facts if labelled else _facts_of_number)(trained), **shared})
        return
    from glassformer.data.inputs import example_of
    from glassformer.prediction.folder_names import REPORT_FILE

    alone = ", by counting alone" if config.answers_by_counting else ""  # said under --quiet too
    said = (_measured if labelled else _measured_number)(trained)
    show(f"{out}: {said}{alone}, trained in {duration(config.training_seconds)}")
    _say_doubts(trained)
    if (out / REPORT_FILE).is_file():
        say(f"report: {out / REPORT_FILE} (the figures, and what to do next)")
    folder, text = shlex.quote(str(out)), example_of(config.inputs)
    say(f"next: glassformer predict {folder} {text}    glassformer explain {folder} {text}")
    say(f"      glassformer evaluate {folder} TEST_TABLE")


def _facts(trained: TrainedModel) -> dict[str, Any]:
    config, metrics = trained.config, trained.metrics
    readers = {"readers": metrics.get("readers"), "best": metrics["best"]}
    return {"labels": list(config.labels), "temperature": config.temperature, **readers}


def _facts_of_number(trained: TrainedModel) -> dict[str, Any]:
    from glassformer.targets.number.target import number_of

    target = number_of(trained.config.target)
    held_out = target.held_out(trained.metrics)
    return {
        "target": target.column,
        "scale": target.scale.model_dump(),
        "readers": {"bias": target.bias, **trained.config.weights},
        "held_out": None if held_out is None else held_out.model_dump(exclude={"distances"}),
    }


def _measured_number(trained: TrainedModel) -> str:
    from glassformer.data.wording import figure, short
    from glassformer.targets.number.target import number_of

    held_out = number_of(trained.config.target).held_out(trained.metrics)
    if held_out is None:
        return "nothing was held out"
    kind = "validation" if held_out.folds == 1 else "cross-validated"
    return f"{kind} R² {figure(held_out.r2)}, mean absolute error {short(held_out.mae)}"


def _say_doubts(trained: TrainedModel) -> None:
    """Say which labels of held-out rows the model doubts, if any, and the command that checks the whole table."""
    from glassformer.data.table import row_list
    from glassformer.data.wording import counted
    from glassformer.evaluation.doubtful_labels import labels_command
    from glassformer.prediction.label_doubts import LabelDoubts

    doubts = LabelDoubts.model_validate(trained.metrics["label_doubts"]) if "label_doubts" in trained.metrics else None
    if doubts is None or not doubts.doubtful:
        return
    where = "" if doubts.source == trained.config.data["source"] else f" of {doubts.source}"
    kind = "held-out row" if trained.config.data["validation_rows"] else "row"
    have = "has" if doubts.doubtful == 1 else "have"
    numbers = [each.row for each in doubts.listed]
    first = row_list(numbers + [0] * (doubts.doubtful - len(numbers)), most=3)
    command = labels_command(trained.config)
    more = "" if command is None else f"; `{as_flags(command)}` checks all rows"
    say(
        f"labels: {doubts.doubtful:,} of {counted(doubts.rows, kind)}{where} {have} a label that the model "
        f"doubts ({first}){more}"
    )


def _measured(trained: TrainedModel) -> str:
    best, readers = trained.metrics["best"], trained.metrics.get("readers")
    if readers and readers["folds"] > 1:
        return f"cross-validated accuracy {readers['accuracy']:.4f} ({readers['folds']} folds)"
    if readers and trained.config.answers_by_counting:
        return f"validation accuracy {readers['accuracy']:.4f}"
    if "validation_accuracy" not in best:
        return f"training accuracy {best['train_accuracy']:.4f} (nothing was held out)"
    accuracy = readers["accuracy"] if readers else best["validation_accuracy"]
    return (
        f"validation accuracy {accuracy:.4f} in epoch {trained.metrics['best_epoch']} of "
        f"{len(trained.metrics['history'])}, the one with the lowest {_judged(best)}"
    )


def _judged(best: dict[str, Any]) -> str:
    return "calibrated loss" if "calibrated_loss" in best else "validation loss"
