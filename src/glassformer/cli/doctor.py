"""`glassformer doctor`: check data and model before a long run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.flags import said_with_flags
from glassformer.cli.given import given_settings
from glassformer.cli.options import (
    FromRecipe,
    HeldOut,
    Init,
    Learned,
    LearningRate,
    Measuring,
    Reading,
    Seed,
    Test,
)
from glassformer.cli.output import announce, read_aloud, say, show, show_findings, write_json
from glassformer.cli.writers import check_earlier, check_folder
from glassformer.data.wording import duration

if TYPE_CHECKING:
    from glassformer.doctor.findings import Diagnosis


def doctor(
    data: Learned,
    *,
    recipe: FromRecipe,
    reading: Reading,
    test: Test = None,
    held_out: HeldOut,
    init: Init = None,
    learning_rate: LearningRate = None,
    seed: Seed = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.html and findings.json. Default: nothing is written.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the earlier report in --out.")] = False,
    run: Measuring,
) -> None:
    """Check your data and the first steps of training before a long run, in one or two minutes."""
    if out is not None:
        check_folder(out, ours="findings.json")
        check_earlier(out, "findings.json", overwrite=overwrite)
    source = reading.source(data, test) if init is None else None  # before PyTorch is loaded: the table may be refused
    from glassformer.doctor.examine import diagnose
    from glassformer.doctor.page import write_diagnosis
    from glassformer.training.initial_weights import read_initial_weights
    from glassformer.training.recipe import load_recipe

    overrides = given_settings(recipe.set_, held_out, learning_rate=learning_rate, seed=seed)
    start = None if init is None else read_initial_weights(init)
    chosen = load_recipe(recipe.recipe, preset=recipe.preset, overrides=overrides, init=start).for_data(
        data, run.data_dir
    )
    place = run.place
    source = source or reading.source(data, test, start, init)
    sources = read_aloud(source, chosen.validation, run.data_dir, inputs=None if start is None else start.inputs)
    diagnosis = diagnose(
        sources, chosen, task=source.task, device=place, init=start, on_check=lambda each: announce(f"checking {each}")
    )
    diagnosis = diagnosis.model_copy(update={"findings": said_with_flags(diagnosis.findings)})
    if out is not None:
        write_diagnosis(out, diagnosis)
    if run.json:
        write_json(diagnosis.model_dump_json(indent=2) + "\n")
    else:
        _show(diagnosis)
    if out is not None:
        say(f"report: {out / 'report.html'}")


def _show(diagnosis: Diagnosis) -> None:
    from glassformer.data.wording import counted

    show(
        f"{diagnosis.source}: {counted(diagnosis.rows, 'row')} to train on; {diagnosis.in_words}"
        f"{diagnosis.weights and f'; {diagnosis.weights}'}"
    )
    show_findings(diagnosis.findings, brief=True)
    for limit in diagnosis.limits:
        say(f"to save time, {limit}")
    others = (
        "counting and the body"
        if diagnosis.figures is None
        else "counting, the body, and whether the transformer helps"
    )
    say(f"not looked at: {others}, which `glassformer train` finds out")
    say(f"checked in {duration(diagnosis.seconds)}")
