"""Options that several commands take, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

TextColumn = Annotated[str | None, typer.Option(help="Column with the texts.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column with the labels.")]
Multilabel = Annotated[str | None, typer.Option(help="Several labels per text, separated by this.")]
FoldLabels = Annotated[
    bool, typer.Option("--fold-labels", help="Labels that differ by case or white space alone are one.")
]
RecipeName = Annotated[str | None, typer.Option(help="A recipe by name or file (see `glassformer recipes`).")]
Preset = Annotated[str | None, typer.Option(help="Model size: tiny, small or base.")]
Init = Annotated[
    str | None, typer.Option(help="Start from these weights: a model folder, or hf:… for a BERT-like checkpoint.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="<section.key=value>", help="Change a setting of the recipe. May be repeated."),
]
Epochs = Annotated[int | None, typer.Option(help="The most epochs. Short for --set training.epochs=…")]
LearningRate = Annotated[float | None, typer.Option(help="Short for --set training.learning_rate=…")]
Seed = Annotated[int | None, typer.Option(help="Short for --set training.seed=…")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show errors and the result only.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, mps, or auto.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder with the known data sets. Default: GLASSFORMER_DATA.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


def given_settings(assignments: list[str] | None, **flags: Any) -> dict[str, Any]:
    """Values of the recipe by dotted name: those of --set, and those of flags that are short for one.

    Args:
        flags: by the name of the setting, with `__` for the dot; None where the flag was not given.

    Raises:
        UsageError: an assignment cannot be read, or a setting is given by its flag and by --set.
    """
    from glassformer.errors import UsageError
    from glassformer.training.recipe import parse_overrides

    settings = parse_overrides(assignments or [])
    for name, value in flags.items():
        if value is None:
            continue
        section, key = name.split("__")
        if f"{section}.{key}" in settings:
            flag = "validation" if key == "file" else key.replace("_", "-")
            raise UsageError(f"--{flag} and --set {section}.{key} say the same thing twice; leave one out")
        settings[f"{section}.{key}"] = value
    return settings
