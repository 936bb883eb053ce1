"""`glassformer distil`: train a small student on the answers of a trained teacher."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.given import given_settings
from glassformer.cli.options import (
    MultilabelAsTrained,
    OutFolder,
    Running,
    Settings,
    Tuned,
)
from glassformer.cli.output import doing, model_in_words, print_json, say, say_notes_of, show
from glassformer.cli.resume import resumable
from glassformer.cli.there import model_folder, student, table, tables
from glassformer.data.wording import duration

if TYPE_CHECKING:
    from glassformer.prediction.model_folder import TrainedModel
    from glassformer.training.distil import PreparedStudent, Teacher


_FEW = 100  # texts


def distil(
    teacher: Annotated[
        Path,
        typer.Argument(callback=model_folder, help="The model to learn from: a model folder or an exported model."),
    ],
    into: Annotated[
        str,
        typer.Option(
            callback=student,
            help="Size of the student: tiny, small or base. Or a recipe: its name or a TOML file.",
        ),
    ],
    out: OutFolder,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            callback=tables, help="Texts or rows without labels: text files, tables or folders of text files."
        ),
    ] = None,
    labelled: Annotated[
        str | None,
        typer.Option(
            metavar="<table>",
            callback=table,
            help="A labelled table, such as the teacher's training table. Its texts are read too, and its labels "
            "measure the student on held-out texts.",
        ),
    ] = None,
    multilabel: MultilabelAsTrained = None,
    temperature: Annotated[
        float,
        typer.Option(help="Divides the logits of both models in the loss. Above 1, small probabilities count more."),
    ] = 1.0,
    set_: Settings = None,
    *,
    tuned: Tuned,
    run: Running,
) -> None:
    """Train a small model to answer like a large one, on texts without labels."""
    from glassformer.training.out_folder import prepare_out

    prepare_out(out, **run.again)
    from glassformer.cli.live import LiveView
    from glassformer.training.distil import Teacher, student_recipe
    from glassformer.training.distil import distil as learn_from

    target = run.place
    chosen = student_recipe(into, given_settings(set_, tuned))
    doing(f"reading {teacher}")
    from_whom = Teacher.load(teacher, device=target)
    doing("reading the texts")
    table = None if labelled is None else from_whom.read_labelled(labelled, run.data_dir, multilabel=multilabel)
    documents = [from_whom.read_texts(source, run.data_dir) for source in texts or ()]
    say_notes_of(documents)
    with resumable(out), LiveView() as view:
        trained = learn_from(
            from_whom,
            documents,
            chosen,
            labelled=table,
            temperature=temperature,
            out=out,
            **run.again,
            device=target,
            observer=view,
            on_prepared=lambda prepared: _introduce(prepared, target, view.line),
            on_progress=lambda share: doing(f"the teacher answers, {share:.0%}"),
        )
    if table is not None and table.source == from_whom.rows.data.source:
        say("the teacher learned these labels, so figures about them are too good: measure the student on other rows")
    _show_result(trained, out, from_whom, json=run.json)


def _introduce(prepared: PreparedStudent, device: str, tell: Callable[[str], None]) -> None:
    from glassformer.data.wording import counted

    train, held_out = prepared.splits.train, prepared.splits.validation
    tell(f"data: {train.source}, {counted(train.frame.height, 'text')} to learn from")
    for note in prepared.splits.notes:
        tell(f"  {note}")
    if train.frame.height < _FEW:
        tell(
            "  warning: so few texts teach next to nothing; a text file in a folder is one text, a text file by itself "
            "has one in each line"
        )
    if held_out is None:
        tell("  nothing is held out, so the last epoch is kept and the agreement with the teacher is not measured")
    else:
        known = 0 if prepared.known is None else len(prepared.known.rows)
        tell(f"  held out: {counted(held_out.frame.height, 'text')}, {known:,} of them with a label")
    tell(f"student: {model_in_words(prepared.parameters, prepared.recipe.model, device)}")
    doing("the teacher answers")


def _show_result(trained: TrainedModel, out: Path, teacher: Teacher, *, json: bool) -> None:
    from glassformer.data.inputs import example_of

    best, config = trained.metrics["best"], trained.config
    if json:
        record: dict[str, Any] = {"model": str(out), "training_seconds": config.training_seconds, "data": config.data}
        print_json(record | {"best": best, "history": trained.metrics["history"]})
        return
    known = "validation_agreement" in best
    measured = teacher.student.measured(best, teacher.name) if known else "nothing was held out"
    show(f"{out}: {measured}; trained in {duration(config.training_seconds)}")
    folder = shlex.quote(str(out))
    say(f"next: glassformer predict {folder} {example_of(config.inputs)}    glassformer evaluate {folder} TEST_TABLE")
