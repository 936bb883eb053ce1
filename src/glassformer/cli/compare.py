"""`glassformer compare`: compare two models on the same labelled rows."""

from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.flags import as_flags
from glassformer.cli.hints import check_order
from glassformer.cli.options import AsTrained, Measured, Measuring, Model
from glassformer.cli.output import beginning, doing, print_json, say, show
from glassformer.cli.there import model_folder
from glassformer.data.wording import counted

_FLIPS_SHOWN = 5


def compare(
    model_a: Model,
    model_b: Annotated[
        Path, typer.Argument(callback=model_folder, help="Another model, with the same labels or number.")
    ],
    data: Measured,
    *,
    read: AsTrained,
    run: Measuring,
) -> None:
    """Compare two models on the same texts: the difference in accuracy or R², and texts on which they differ."""
    from glassformer.evaluation.paired_comparison import compare_models

    check_order(model_a, data)
    check_order(model_b, data)
    data = read.table(data)
    doing(f"answering {data} with both models")
    found = compare_models(model_a, model_b, data, read.options, device=run.place, data_dir=run.data_dir)
    if run.json:
        print_json(found.model_dump(mode="json"))
        return
    show(f"{found.data}: {counted(found.rows, 'text')}")
    for note in found.notes:
        say(f"note: {as_flags(note)}")
    for name, figures in zip((found.model_a, found.model_b), found.figures, strict=True):
        show(f"{name}: {figures}")
    show(found.verdict)
    for title, (count, listed) in found.parted.items():
        show(f"\n{title}: {counted(count, 'text')}")
        for said, text in listed[:_FLIPS_SHOWN]:
            show(f"  {said}: {beginning(text, 100)}")
    say("--json lists all of these texts")
