"""`glassformer train`: train a classifier on a labelled table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.adding import Add, Replay, addition, check_named
from glassformer.cli.flags import as_flags, with_flags
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
from glassformer.cli.output import command_line, doing, human_count, hush, say
from glassformer.cli.resume import resumable
from glassformer.cli.task import chosen_task, refuse_for_number
from glassformer.cli.torchrun import join
from glassformer.cli.trained import show_trained

if TYPE_CHECKING:
    from glassformer.data.inputs import Inputs
    from glassformer.data.sources import SourceConfig, Sources
    from glassformer.data.splits import ValidationConfig
    from glassformer.training.adding import Beginning
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
    context: typer.Context,
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
    from glassformer.training.recipe import load_recipe
    from glassformer.training.unfinished import prepare_out

    overrides = _overrides(set_, pretrain, (epochs, learning_rate, seed), (validation, group))
    source = _source(data, text, columns, label=label, multilabel=multilabel, fold_labels=fold_labels, test=test)
    if processes.leads:
        prepare_out(out, resume=resume, overwrite=overwrite)
    if add is not None:
        begun = addition(init, add, out, replay=replay, settings=overrides, given=context.params, data_dir=data_dir)
    else:
        check_named(data, replay)
        load = partial(load_recipe, recipe, preset=preset, overrides=overrides)
        start, chosen = _recipe(init, load, processes, minutes, data, data_dir)
        asked = chosen_task(source.with_inputs(_inputs_of(start), str(init)), target, task, order)
        begun = _beginning(asked, start, chosen, unlabelled or [], data_dir)
    if begun.source.task == "number":
        refuse_for_number("train", snapshots=snapshots, fold_labels=fold_labels)
    run = {"resume": resume, "overwrite": overwrite, "processes": processes, "minutes": minutes}
    _train(begun, out, place, snapshots=snapshots, keep_texts=keep_texts, json=json, **run)


def _overrides(
    given: list[str] | None,
    pretrain: str | None,
    training: tuple[int | None, float | None, int | None],
    validation: tuple[str | None, str | None],
) -> dict[str, Any]:
    """Return the settings that replace those of the recipe.

    Args:
        training: epochs, learning rate and seed.
        validation: the table and the column of groups.
    """
    from glassformer.training.own_text import seconds_of

    epochs, learning_rate, seed = training
    return given_settings(
        given,
        training__epochs=epochs,
        training__learning_rate=learning_rate,
        training__seed=seed,
        validation__file=validation[0],
        validation__group=validation[1],
        pretraining__max_seconds=None if pretrain is None else seconds_of(pretrain),
    )


def _source(data: str | None, text: list[str] | None, columns: list[str] | None, **named: Any) -> SourceConfig:
    from glassformer.data.sources import SourceConfig

    return SourceConfig(train=data or "", **named, **given_inputs(text, columns))


def _inputs_of(start: InitialWeights | None) -> Inputs | None:
    return None if start is None else start.inputs


def _beginning(
    source: SourceConfig, start: InitialWeights | None, chosen: Recipe, unlabelled: list[str], data_dir: Path | None
) -> Beginning:
    """Read the tables, which comes after the weights and the recipe: reading them may take long."""
    from glassformer.training.adding import Beginning

    sources = _read(source, chosen.validation, data_dir, unlabelled, _inputs_of(start))
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


def _train(begun: Beginning, out: Path, target: str, *, snapshots: bool, json: bool, **given: Any) -> None:
    """Train, and show the result.

    Args:
        given: other arguments of `train_model`.
    """
    from glassformer.cli.live import LiveView
    from glassformer.prediction.folder_names import SNAPSHOTS_FOLDER, TIME_LAPSE_FILE
    from glassformer.targets.labels.training import train_classifier
    from glassformer.targets.number.training import train_number
    from glassformer.training.snapshots import Snapshots

    doing("splitting the rows, learning a vocabulary, encoding the texts")
    taken = Snapshots() if snapshots else None
    train = train_number if begun.source.task == "number" else train_classifier
    with resumable(out), LiveView() as view:
        trained = train(
            begun.sources,
            begun.recipe,
            source=begun.source,
            init=begun.init,
            out=out,
            device=target,
            observer=view,
            on_prepared=lambda prepared: _introduce(prepared, view.line, recipe=begun.recipe, device=target),
            snapshots=taken,
            worded=_worded,
            **given,
        )
    show_trained(trained, out, json=json)
    if taken is not None and taken.time_lapse is not None:
        say(f"to watch it learn, open {out / SNAPSHOTS_FOLDER / TIME_LAPSE_FILE}; the page shows some of your texts")


def _worded(evaluation: Any) -> Any:
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


def _labels_in_words(prepared: Prepared) -> str:
    from glassformer.data.wording import counted, short
    from glassformer.targets.number.training import PreparedNumber

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
