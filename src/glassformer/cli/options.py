"""Options that several commands take, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    typer.Option("--set", metavar="<section.key=value>", help="A value of the recipe; may be repeated."),
]
Seed = Annotated[int | None, typer.Option(help="Short for --set training.seed=…")]
Device = Annotated[str, typer.Option(help="cpu, cuda, mps, or auto.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder of known data sets (else GLASSFORMER_DATA).")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
