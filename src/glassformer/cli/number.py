"""Models that answer with a number on the command line: which folders hold them, and how they are trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.cli.output import command_line, duration, print_json, say, show
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.evaluation.number_result import NumberEvaluation
    from glassformer.prediction.model_folder import TrainedModel


def is_number_model(folder: Path) -> bool:
    """Whether the folder holds a model that answers with a number. It may be damaged."""
    from glassformer.prediction.folder_format import answers_with_number

    return answers_with_number(folder)


def number_worded(evaluation: NumberEvaluation) -> NumberEvaluation:
    from glassformer.cli.flags import as_flags

    return evaluation.model_copy(
        update={"command": command_line(), "notes": tuple(as_flags(note) for note in evaluation.notes)}
    )


def show_trained_number(trained: TrainedModel, out: Path, *, json: bool) -> None:
    import shlex

    from glassformer.data.inputs import example_of
    from glassformer.data.wording import figure, short
    from glassformer.prediction.folder_names import REPORT_FILE
    from glassformer.targets.number import number_of

    config, target = trained.config, number_of(trained.config.target)
    held_out = target.held_out(trained.metrics)
    if json:
        found: dict[str, Any] = {
            "model": str(out),
            "target": target.column,
            "scale": target.scale.model_dump(),
            "readers": {"bias": target.bias, **config.weights},
            "held_out": None if held_out is None else held_out.model_dump(exclude={"distances"}),
            "training_seconds": config.training_seconds,
            "data": config.data,
            "history": trained.metrics["history"],
        }
        print_json(found)
        return
    said = "nothing was held out"
    if held_out is not None:
        kind = "validation" if held_out.folds == 1 else "cross-validated"
        said = f"{kind} R² {figure(held_out.r2)}, mean absolute error {short(held_out.mae)}"
    alone = ", by counting alone" if config.answers_by_counting else ""
    show(f"{out}: {said}{alone}, trained in {duration(config.training_seconds)}")
    if (out / REPORT_FILE).is_file():
        say(f"report: {out / REPORT_FILE} (the figures, and what to do next)")
    folder, text = shlex.quote(str(out)), example_of(config.inputs)
    say(f"next: glassformer predict {folder} {text}    glassformer explain {folder} {text}")
    say(f"      glassformer evaluate {folder} TEST_TABLE")


def refuse(command: str, **given: object) -> None:
    """Raise `UsageError` if an option was given that means nothing for a number.

    Args:
        given: the values of such options by their names; None and False mean not given.
    """
    if names := [f"--{name.replace('_', '-')}" for name, value in given.items() if value]:
        raise UsageError(f"{names[0]} is for models that answer with labels; leave it out to {command} a number")
