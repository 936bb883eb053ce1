"""`glassformer export`: a classifier in another format."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.flags import as_flags
from glassformer.cli.options import Model, Shown
from glassformer.cli.output import doing, print_json, say, show
from glassformer.prediction.shipped import shown as name_of


def export(
    model: Model,
    to: Annotated[
        str,
        typer.Option(
            "--format",
            help="onnx: a folder that answers without PyTorch. onnx-int8: the same, smaller. transformers: a folder "
            "that the library transformers loads by itself. web: a page that answers in the browser, offline.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    runtime: Annotated[
        Path | None,
        typer.Option(
            metavar="<folder>",
            help="For web, if the model asks its transformer: the folder of ONNX Runtime Web. To get it, run `npm pack "
            "onnxruntime-web` and `tar xzf`.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the export in --out.")] = False,
    *,
    shown: Shown,
) -> None:
    """Write a model in another format: for ONNX Runtime, for the browser, or for the library transformers."""
    from glassformer.exporting.export import FORMATS
    from glassformer.exporting.export import export as run

    name = name_of(model)
    doing(f"exporting {name}")
    exported = run(model, out, to=to, overwrite=overwrite, runtime=runtime)
    notes, size = [as_flags(note) for note in exported.notes], sum(exported.files.values())
    for note in notes:
        say(note)
    if shown.json:
        print_json({"model": name, "format": to, "out": str(out), "files": exported.files, "notes": notes})
    else:
        show(f"{out}: {name} as {to}, {size / 1e6:,.1f} MB")
        use = FORMATS[to].use.format(out=shlex.quote(str(out)), path=str(out), text=exported.example)
        say(f"next: {use}")
