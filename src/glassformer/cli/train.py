"""`glassformer train`: train a classifier on a labelled table."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.adding import Add, Replay, addition, check_named
from glassformer.cli.flags import as_flags, with_flags
from glassformer.cli.given import given_settings
from glassformer.cli.options import FromRecipe, HeldOut, Init, OutFolder, Reading, Running, Test, Tuned
from glassformer.cli.output import (
    command_line,
    doing,
    model_in_words,
    print_json,
    read_aloud,
    say,
    say_notes_of,
    show,
)
from glassformer.cli.resume import resumable
from glassformer.cli.there import costs_given, rules_file, table, tables
from glassformer.cli.torchrun import is_one_of_several, join, leads
from glassformer.data.wording import counted, duration
from glassformer.prediction.folder_names import REPORT_FILE, SNAPSHOTS_FOLDER, TIME_LAPSE_FILE
from glassformer.targets.parts import folder_of

if TYPE_CHECKING:
    from glassformer.data.sources import SourceConfig, Sources
    from glassformer.data.table import Dropped, Table
    from glassformer.prediction.model_folder import TrainedModel
    from glassformer.training.adding import Beginning
    from glassformer.training.card import Said
    from glassformer.training.initial_weights import InitialWeights
    from glassformer.training.preparation import Prepared
    from glassformer.training.processes import Processes
    from glassformer.training.recipe import Recipe


LabelledTable = Annotated[
    str | None,
    typer.Argument(
        callback=table,
        help="A CSV, TSV, JSON lines, Parquet or Arrow file, a workbook (book.xlsx#Sheet2), a folder or .zip of such "
        "files, or the name of a known data set.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class _WithoutLabels:
    """What is learned from texts without labels."""

    pretrain: Annotated[
        str | None,
        typer.Option(
            metavar="<duration>",
            help="First pre-train on the texts, without their labels, for this long: 30m, 2h or 90s.",
        ),
    ] = None
    unlabelled: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<source>",
            callback=tables,
            help="Texts without labels, for the word vectors of the body and for --pretrain: a text file, a table or a "
            "folder of text files. May be repeated.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """What the model folder keeps of the training, where somebody can read it."""

    snapshots: Annotated[
        bool,
        typer.Option(
            "--snapshots",
            help="Keep 12 snapshots of training, and write a page that plays them: snapshots/time-lapse.html in --out. "
            "It shows a few of your texts.",
        ),
    ] = False
    keep_texts: Annotated[
        bool,
        typer.Option(
            "--keep-texts",
            help="Keep the training texts in the model folder, for explain --nearest. Whoever has the folder can read "
            "them.",
        ),
    ] = False
    track: Annotated[
        str | None,
        typer.Option(
            metavar="<tracker>",
            help="Write settings, figures, report and model to a tracker too: mlflow, at the address "
            "in the variable MLFLOW_TRACKING_URI.",
        ),
    ] = None


_Minutes = Annotated[
    float | None,
    typer.Option(
        metavar="<number>",
        help="Time for the whole run, which then does what fits: no transformer, fewer steps, the recipe, or "
        "pre-training too.",
    ),
]
_Costs = Annotated[
    list[str] | None,
    typer.Option(
        metavar="<costs>",
        callback=costs_given,
        help="What wrong answers cost: spam=10 for a missed spam, review=0.3 for asking a person, or a table with "
        "the columns truth, answer and cost. May be repeated. Other mistakes cost 1.",
    ),
]
_Rules = Annotated[
    str | None,
    typer.Option(
        metavar="<file>",
        callback=rules_file,
        help='Rules that decide or weigh, one on each line: "a phrase" -> label, or /a pattern/ -> label always.',
    ),
]


def train(
    context: typer.Context,
    data: LabelledTable = None,
    *,
    out: OutFolder,
    reading: Reading,
    test: Test = None,
    held_out: HeldOut,
    minutes: _Minutes = None,
    costs: _Costs = None,
    init: Init = None,
    add: Add = None,
    replay: Replay = None,
    reads: _WithoutLabels,
    rules: _Rules = None,
    recipe: FromRecipe,
    tuned: Tuned,
    kept: _Kept,
    run: Running,
) -> None:
    """Train a model on a table of texts with labels or numbers."""
    began = time.perf_counter()
    from glassformer.data.arrays import mapping_in
    from glassformer.training.out_folder import prepare_out

    if leads():
        prepare_out(out, **run.again)
    context.with_resource(mapping_in(out))
    if add is None:
        check_named(data, replay)
    # Before PyTorch is loaded: the table may be refused. Of several processes, any can say so after they have joined.
    early = add is None and init is None and not is_one_of_several()
    source = reading.source(data or "", test) if early else None
    processes, place = join(run.device)
    from glassformer.training.own_text import seconds_of
    from glassformer.training.recipe import load_recipe

    seconds, unlabelled = None if reads.pretrain is None else seconds_of(reads.pretrain), reads.unlabelled or []
    overrides = given_settings(recipe.set_, tuned, held_out, pretrain=seconds, rules=rules, costs=costs)
    if add is not None:
        how: dict[str, Any] = {
            "settings": overrides,
            "order": reading.order,
            "encoding": reading.encoding,
            "given": context.params,
            "data_dir": run.data_dir,
        }
        begun = addition(init, add, out, replay=replay, **how)
        if unread := [name for name in begun.unread if name not in unlabelled]:
            again = " ".join(f"--unlabelled {shlex.quote(name)}" for name in unread)
            say(f"note: {init} also read texts without labels, which are not read now. To read them: {again}")
        begun = replace(begun, sources=_with_unlabelled(begun.sources, unlabelled, run.data_dir))
    else:
        load = partial(load_recipe, recipe.recipe, preset=recipe.preset, overrides=overrides)
        start, chosen = _recipe(init, load, processes, minutes, data, run.data_dir)
        source = source or reading.source(data or "", test, start, init)
        begun = _beginning(source, start, chosen, unlabelled, run.data_dir)
    how = {**run.again, "processes": processes, "minutes": minutes, "began": began}
    how |= {"snapshots": kept.snapshots, "keep_texts": kept.keep_texts, "track": kept.track}
    _train(begun, out, place, json=run.json, **how)


def _beginning(
    source: SourceConfig, start: InitialWeights | None, chosen: Recipe, unlabelled: list[str], data_dir: Path | None
) -> Beginning:
    """Read the tables, which comes after the weights and the recipe: reading them may take long."""
    from glassformer.training.adding import Beginning

    inputs = None if start is None else start.inputs
    sources = read_aloud(source, chosen.validation, data_dir, inputs=inputs, notes=False)  # `_introduce` shows them
    sources = _with_unlabelled(sources, unlabelled, data_dir)
    return Beginning(source=source, sources=sources, recipe=chosen, init=start)


def _recipe(
    init: str | None,
    load: Callable[..., Recipe],
    processes: Processes,
    minutes: float | None,
    table: str | None,
    data_dir: Path | None,
) -> tuple[InitialWeights | None, Recipe]:
    """Read the weights to start from and the recipe that goes with them."""
    from glassformer.training.initial_weights import read_initial_weights
    from glassformer.training.preparation import check_minutes
    from glassformer.training.processes import leader_first

    with leader_first(processes):  # it may download the weights
        start = None if init is None else read_initial_weights(init)
    chosen = load(init=start).for_data(table or "", data_dir)
    if minutes is not None:
        check_minutes(minutes, chosen)
    return start, chosen


def _train(
    begun: Beginning,
    out: Path,
    target: str,
    *,
    snapshots: bool,
    track: str | None,
    json: bool,
    processes: Processes,
    **given: Any,
) -> None:
    """Train, and show the result."""
    from glassformer.cli.live import LiveView
    from glassformer.training.run import train_model
    from glassformer.training.snapshots import Snapshots
    from glassformer.training.tracking import tracked

    doing("splitting the rows, learning a vocabulary, encoding the texts")
    taken = Snapshots() if snapshots else None
    with tracked(track if processes.leads else None, out) as tracker:
        with resumable(out), LiveView() as view:
            trained = train_model(
                begun.sources,
                begun.recipe,
                family=folder_of(begun.source.task),
                source=begun.source,
                init=begun.init,
                out=out,
                device=target,
                observer=view,
                on_prepared=lambda prepared: _introduce(prepared, view.line, begun=begun, device=target),
                snapshots=taken,
                worded=lambda found: with_flags(found.model_copy(update={"command": command_line()})),
                watch=None if tracker is None else tracker.watch,
                processes=processes,
                **given,
            )
        if tracker is not None:
            doing("writing to the tracker")
            say(tracker.write(trained))
    _show_trained(trained, out, json=json)
    if taken is not None and taken.time_lapse is not None:
        say(f"to watch it learn, open {out / SNAPSHOTS_FOLDER / TIME_LAPSE_FILE}; the page shows some of your texts")


def _with_unlabelled(sources: Sources, unlabelled: list[str], data_dir: Path | None) -> Sources:
    from glassformer.data.documents import read_unlabelled

    texts = [read_unlabelled(more, data_dir, like=sources.train.text_column) for more in unlabelled]
    say_notes_of(texts)
    return replace(sources, unlabelled=(*sources.unlabelled, *texts))


def _introduce(prepared: Prepared, tell: Callable[[str], None], *, begun: Beginning, device: str) -> None:
    from glassformer.data.languages import in_words, languages_of

    splits, recipe = prepared.splits, begun.recipe
    train, held_out = splits.train, splits.validation
    tell(f"data: {train.source}, {counted(train.frame.height, 'row')} to train on")
    for note in [*train.notes, *splits.notes]:
        tell(f"  {as_flags(note)}")
    tell(f"  {prepared.in_words}")
    if languages := in_words(languages_of(train.frame["text"])):
        tell(f"  language: {languages}")
    if (names := prepared.labels).ordered:
        tell(f"  their order: {' < '.join(names.names)}" + (", which changes nothing" if len(names.names) == 2 else ""))
    for dropped in [*train.dropped, *(held_out.dropped if held_out else ())]:
        tell(f"  {_said_of(dropped, prepared, begun.sources.train)}")
    if prepared.passes > 1 and recipe.training.max_steps is None and not recipe.training.without_transformer:
        tell(
            f"  few rows: an epoch reads each row {prepared.passes} times, to have at least "
            f"{recipe.training.min_steps_per_epoch:,} steps (training.min_steps_per_epoch)"
        )
    epochs, asked = prepared.training.epochs, recipe.training.epochs
    if epochs < asked and recipe.training.max_steps is None and recipe.training.max_seconds is None:
        tell(
            f"  many rows: {counted(epochs, 'epoch')} in place of {asked}, which has enough steps "
            "(training.enough_steps)"
        )
    silent = recipe.training.without_transformer
    size = "without a transformer" if silent else model_in_words(prepared.parameters, recipe.model, device)
    tell(f"model: {size}")
    doing("preparing the first step")


def _said_of(dropped: Dropped, prepared: Prepared, train: Table) -> str:
    """Say which rows were left out, or that they are read without their labels."""
    from glassformer.data.table import NO_LABEL, row_list

    own, rows = prepared.own_texts, row_list(dropped.rows)
    if dropped.reason != NO_LABEL or own is None or train.source not in own.unlabelled.sources:
        return f"left out: {len(dropped.rows):,} × {dropped.reason} ({rows})"
    table = shlex.quote(train.source)
    return (
        f"{train.without_label}: their texts are read as unlabelled texts, and `glassformer labels {table} "
        f"--next 50 {table}` chooses which to label next"
    )


def _show_trained(trained: TrainedModel, out: Path, *, json: bool) -> None:
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
    from glassformer.evaluation.weak_spots import NextStep

    alone = f", by {config.asked_in_words} alone" if config.transformer_is_silent else ""  # said under --quiet too
    show(f"{out}: {said.in_short(trained)}{alone}, trained in {duration(config.training_seconds)}")
    _say_doubts(trained, said)
    for step in map(NextStep.model_validate, metrics.get("next_steps", ())):
        if step.section == "classes":
            say(step.on_one_line)
    if (out / REPORT_FILE).is_file():
        say(f"report: {out / REPORT_FILE} (the figures, and what to do next)")
    folder, text = shlex.quote(str(out)), example_of(config.inputs)
    say(f"next: glassformer predict {folder} {text}    glassformer explain {folder} {text}")
    say(f"      glassformer evaluate {folder} TEST_TABLE")


def _say_doubts(trained: TrainedModel, said: Said) -> None:
    """Say which labels of held-out rows the model doubts, if any, and the command that checks the whole table."""
    from glassformer.data.table import row_list
    from glassformer.evaluation.doubtful_rows import labels_command
    from glassformer.prediction.label_doubts import doubts_in

    doubts = doubts_in(trained.metrics)
    if doubts is None:
        return
    where = "" if doubts.source == trained.config.data["source"] else f" of {doubts.source}"
    kind = "held-out row" if trained.config.data["validation_rows"] else "row"
    have = f"{'has' if doubts.doubtful == 1 else 'have'} {said.DOUBTED}"
    numbers = [each.row for each in doubts.listed]
    first = row_list(numbers + [0] * (doubts.doubtful - len(numbers)), most=3)
    command = labels_command(trained.config)
    lists = "checks them without a transformer, so it may list other rows"
    more = "" if command is None else f". To correct {said.COLUMN}s: `{as_flags(command)}`, which {lists}"
    say(f"{said.COLUMN}s: {doubts.doubtful:,} of {counted(doubts.rows, kind)}{where} {have} ({first}){more}")
