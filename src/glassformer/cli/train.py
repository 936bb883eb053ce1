"""`glassformer train`: train a classifier on a labelled table."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.adding import Add, Replay, addition, check_named
from glassformer.cli.flags import as_flags, with_flags
from glassformer.cli.number import number_worded, refuse, show_trained_number
from glassformer.cli.options import (
    Beside,
    DataDir,
    Device,
    Epochs,
    FoldLabels,
    Group,
    Init,
    Json,
    KeepTexts,
    LabelColumn,
    LearningRate,
    Minutes,
    Multilabel,
    Order,
    Overwrite,
    Preset,
    Pretrain,
    Quiet,
    RecipeName,
    Resume,
    Seed,
    Settings,
    TakeSnapshots,
    Target,
    TaskName,
    Test,
    TextColumns,
    Unlabelled,
    Validation,
    given_inputs,
    given_settings,
)
from glassformer.cli.output import command_line, doing, duration, human_count, hush, print_json, say, show
from glassformer.cli.resume import resumable
from glassformer.cli.task import chosen_task
from glassformer.cli.torchrun import join

if TYPE_CHECKING:
    from glassformer.data.inputs import Inputs
    from glassformer.data.sources import SourceConfig, Sources
    from glassformer.data.splits import ValidationConfig
    from glassformer.evaluation.result import Evaluation
    from glassformer.prediction.model_folder import TrainedModel
    from glassformer.training.initial_weights import InitialWeights
    from glassformer.training.preparation import Prepared
    from glassformer.training.processes import Processes
    from glassformer.training.recipe import Recipe

_LABELS_SHOWN = 10

LabelledTable = Annotated[
    str | None,
    typer.Argument(
        help="A CSV, TSV, JSON lines or Parquet file, a folder of such files, or the name of a known data set."
    ),
]


def train(
    data: LabelledTable = None,
    *,
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    text: TextColumns = None,
    columns: Beside = None,
    label: LabelColumn = None,
    target: Target = None,
    task: TaskName = None,
    order: Order = None,
    multilabel: Multilabel = None,
    fold_labels: FoldLabels = False,
    test: Test = None,
    validation: Validation = None,
    group: Group = None,
    minutes: Minutes = None,
    init: Init = None,
    add: Add = None,
    replay: Replay = None,
    pretrain: Pretrain = None,
    unlabelled: Unlabelled = None,
    recipe: RecipeName = None,
    preset: Preset = None,
    set_: Settings = None,
    epochs: Epochs = None,
    learning_rate: LearningRate = None,
    seed: Seed = None,
    device: Device = "auto",
    data_dir: DataDir = None,
    snapshots: TakeSnapshots = False,
    keep_texts: KeepTexts = False,
    resume: Resume = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train a text classifier on a labelled table."""
    if quiet:
        hush()
    processes, place = join(device)
    from glassformer.data.sources import SourceConfig
    from glassformer.training.adding import Beginning
    from glassformer.training.own_text import seconds_of
    from glassformer.training.recipe import load_recipe
    from glassformer.training.unfinished import prepare_out

    overrides = given_settings(
        set_,
        training__epochs=epochs,
        training__learning_rate=learning_rate,
        training__seed=seed,
        validation__file=validation,
        validation__group=group,
        pretraining__max_seconds=None if pretrain is None else seconds_of(pretrain),
    )
    inputs = given_inputs(text, columns)
    source = SourceConfig(
        train=data or "", test=test, label=label, multilabel=multilabel, fold_labels=fold_labels, **inputs
    )
    if processes.leads:
        prepare_out(out, resume=resume, overwrite=overwrite)
    if add is not None:
        others = {
            "TABLE": data, "--text": text, "--columns": columns, "--label": label, "--target": target, "--task": task,
            "--order": order, "--multilabel": multilabel, "--fold-labels": fold_labels, "--test": test,
            "--validation": validation, "--group": group, "--minutes": minutes, "--pretrain": pretrain,
            "--unlabelled": unlabelled, "--recipe": recipe, "--preset": preset, "--seed": seed is not None,
        }  # fmt: skip
        begun = addition(init, add, out, replay=replay, settings=overrides, others=others, data_dir=data_dir)
    else:
        check_named(data, replay)
        load = partial(load_recipe, recipe, preset=preset, overrides=overrides)
        start, chosen = _recipe(init, load, processes, minutes, source.train, data_dir)  # before the tables are read
        known = None if start is None else start.inputs
        source = chosen_task(source.with_inputs(known, str(init)), target, task, order)
        sources = _read(source, chosen.validation, data_dir, unlabelled or [], known)
        begun = Beginning(source=source, sources=sources, recipe=chosen, init=start)
    given: dict[str, Any] = {"source": begun.source, "init": begun.init, "resume": resume, "overwrite": overwrite}
    given["processes"] = processes
    if begun.source.task == "number":
        refuse("train", snapshots=snapshots, keep_texts=keep_texts, fold_labels=fold_labels)
    given |= {"minutes": minutes, "keep_texts": keep_texts}
    _train(begun.sources, begun.recipe, out, place, snapshots=snapshots, json=json, **given)


def _recipe(
    init: str | None,
    load: Callable[..., Recipe],
    processes: Processes,
    minutes: float | None,
    table: str,
    data_dir: Path | None,
) -> tuple[InitialWeights | None, Recipe]:
    """Read the weights to start from and the recipe that goes with them."""
    from glassformer.training.initial_weights import read_initial_weights
    from glassformer.training.preparation import check_minutes
    from glassformer.training.processes import leader_first

    with leader_first(processes):  # it may download the weights
        start = None if init is None else read_initial_weights(init)
    chosen = load(init=start).for_data(table, data_dir)
    if minutes is not None:
        check_minutes(minutes, chosen)
    return start, chosen


def _train(
    sources: Sources, chosen: Recipe, out: Path, target: str, *, snapshots: bool, json: bool, **given: Any
) -> None:
    """Train, and show the result.

    Args:
        given: other arguments of `train_model`.
    """
    from glassformer.cli.live import LiveView
    from glassformer.prediction.folder_names import SNAPSHOTS_FOLDER, TIME_LAPSE_FILE
    from glassformer.training.labels import train_classifier
    from glassformer.training.number import train_number
    from glassformer.training.snapshots import Snapshots

    doing("splitting the rows, learning a vocabulary, encoding the texts")
    taken = Snapshots() if snapshots else None
    number = given["source"].task == "number"
    train = train_number if number else train_classifier
    with resumable(out), LiveView() as view:
        trained = train(
            sources,
            chosen,
            out=out,
            device=target,
            observer=view,
            on_prepared=lambda prepared: _introduce(prepared, view.line, recipe=chosen, device=target),
            snapshots=taken,
            worded=number_worded if number else _worded,
            **given,
        )
    (show_trained_number if number else _show_result)(trained, out, json=json)
    if taken is not None and taken.time_lapse is not None:
        say(f"to watch it learn, open {out / SNAPSHOTS_FOLDER / TIME_LAPSE_FILE}; the page shows some of your texts")


def _worded(evaluation: Evaluation) -> Evaluation:
    return with_flags(evaluation.model_copy(update={"command": command_line()}))


def _read(
    source: SourceConfig,
    validation: ValidationConfig,
    data_dir: Path | None,
    unlabelled: list[str],
    inputs: Inputs | None,
) -> Sources:
    """Read the tables and the unlabelled texts. Warn of labels that do not look like classes or have two spellings.

    Args:
        inputs: see `read_sources`.
    """
    from glassformer.data.labels import unlike_labels
    from glassformer.data.sources import read_sources
    from glassformer.data.spellings import table_spellings
    from glassformer.data.unlabelled import read_unlabelled

    doing(f"reading {source.train}")
    sources = read_sources(source, validation, data_dir, inputs=inputs)
    warnings = [] if source.task == "number" else [unlike_labels(sources.train), table_spellings(sources.train)]
    for warning in filter(None, warnings):
        say(f"warning: {as_flags(warning)}")
    return replace(
        sources,
        unlabelled=tuple(read_unlabelled(more, data_dir, like=sources.train.text_column) for more in unlabelled),
    )


def _show_result(trained: TrainedModel, out: Path, *, json: bool) -> None:
    if json:
        print_json(
            {
                "model": str(out),
                "labels": list(trained.config.labels),
                "temperature": trained.config.temperature,
                "training_seconds": trained.config.training_seconds,
                "data": trained.config.data,
                "readers": trained.metrics.get("readers"),
                "time_plan": trained.metrics.get("time_plan"),
                "best": trained.metrics["best"],
                "history": trained.metrics["history"],
            }
        )
        return
    from glassformer.data.inputs import example_of
    from glassformer.prediction.folder_names import REPORT_FILE

    alone = ", by counting alone" if trained.config.answers_by_counting else ""  # said under --quiet too
    show(f"{out}: {_measured(trained)}{alone}, trained in {duration(trained.config.training_seconds)}")
    _say_doubts(trained)
    if (out / REPORT_FILE).is_file():
        say(f"report: {out / REPORT_FILE} (the figures, and what to do next)")
    folder, text = shlex.quote(str(out)), example_of(trained.config.inputs)
    say(f"next: glassformer predict {folder} {text}    glassformer explain {folder} {text}")
    say(f"      glassformer evaluate {folder} TEST_TABLE")


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


def _labels_in_words(prepared: Prepared) -> str:
    from glassformer.data.wording import counted, short
    from glassformer.training.number import PreparedNumber

    train = prepared.splits.train
    if isinstance(prepared, PreparedNumber):
        scale = prepared.scale
        return f"numbers from {short(scale.lowest)} to {short(scale.highest)}, mean {short(scale.mean)}"
    labels = train.frame["label"].explode() if train.multilabel else train.frame["label"]
    counts = labels.drop_nulls().value_counts(sort=True).rows()
    shown = ", ".join(f"{label!r} {human_count(count)}" for label, count in counts[:_LABELS_SHOWN])
    more = f" and {len(counts) - _LABELS_SHOWN} more" if len(counts) > _LABELS_SHOWN else ""
    return f"{counted(len(counts), 'label')}: {shown}{more}"


def _introduce(prepared: Prepared, tell: Callable[[str], None], *, recipe: Recipe, device: str) -> None:
    from glassformer.data.table import row_list
    from glassformer.data.wording import counted

    splits = prepared.splits
    train, held_out = splits.train, splits.validation
    tell(f"data: {train.source}, {counted(train.frame.height, 'row')} to train on")
    for note in [*train.notes, *splits.notes]:
        tell(f"  {as_flags(note)}")
    tell(f"  {_labels_in_words(prepared)}")
    if (names := prepared.labels).ordered:
        tell(f"  their order: {' < '.join(names.names)}" + (", which changes nothing" if len(names.names) == 2 else ""))
    for dropped in [*train.dropped, *(held_out.dropped if held_out else ())]:
        tell(f"  left out: {human_count(len(dropped.rows))} × {dropped.reason} ({row_list(dropped.rows)})")
    if prepared.passes > 1 and recipe.training.max_steps is None and not recipe.training.counting_alone:
        tell(
            f"  few rows: each epoch reads every row {prepared.passes} times, so that it has at least "
            f"{recipe.training.min_steps_per_epoch:,} steps (training.min_steps_per_epoch)"
        )
    epochs, asked = prepared.training.epochs, recipe.training.epochs
    if epochs < asked and recipe.training.max_steps is None and recipe.training.max_seconds is None:
        tell(
            f"  many rows: {counted(epochs, 'epoch')} in place of {asked}, which has enough steps "
            "(training.enough_steps)"
        )
    model = recipe.model
    tell(
        f"model: {human_count(prepared.parameters)} parameters ({model.in_words()}, window "
        f"{model.max_seq_len:,} tokens), on {device}"
    )
    doing("preparing the first step")
