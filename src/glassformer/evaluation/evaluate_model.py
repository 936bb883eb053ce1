"""Measure a model folder on a labelled table, and compare it with baselines trained on all rows that the model saw."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import JsonValue

from glassformer.data.addresses import local_path, without_password
from glassformer.data.arrays import FloatArray
from glassformer.data.encodings import named_encoding, reading_as
from glassformer.data.known import KNOWN
from glassformer.data.languages import languages_of
from glassformer.data.sources import AS_TRAINED, SourceConfig, TableOptions, encoding_like_training, read_like_training
from glassformer.data.splits import Splits, fingerprint
from glassformer.data.store import TokenStore
from glassformer.data.table import Table, other_columns, text_keys
from glassformer.data.tokenizers import UNKNOWN_ID
from glassformer.data.wording import counted
from glassformer.errors import UsageError
from glassformer.evaluation.baselines import run_baseline
from glassformer.evaluation.drift import DriftTable
from glassformer.evaluation.drift_table import Side, drift_table, some_rows
from glassformer.evaluation.evaluate import evaluate
from glassformer.evaluation.input_shares import input_shares
from glassformer.evaluation.measured import MeasuredRows, Outcome, doubts_of, doubts_of_encoder, measures_of
from glassformer.evaluation.result import DataSummary, DroppedRows
from glassformer.evaluation.robustness import answers_of, measure_robustness
from glassformer.evaluation.seen_rows import (
    TOO_GOOD,
    counted_of,
    effect_of,
    of_known_groups,
    seen_rows,
    shared,
    split_again,
)
from glassformer.models.build import parameter_count
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.folder_format import FILES
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.reader_files import COUNTING_FILES, files_of_readers
from glassformer.readers.counting.unlike import SEEN_FILE
from glassformer.targets.target import Followed

Say = Callable[[str], None]


def evaluate_model(
    predictor: Predictor,
    folder: Path,
    data: str,
    options: TableOptions = AS_TRAINED,
    *,
    train: str | None = None,
    data_dir: Path | None = None,
    command: str = "",
    say: Say = lambda _: None,
    on_progress: Callable[[float], None] | None = None,
) -> Any:
    """Measure a model on a table. Also train baselines on all rows that the model saw, and measure them on this table.

    Args:
        folder: the folder that the model was loaded from; its size is measured.
        data: a file, or the name of a known data set (its test split is used).
        train: the training table, if it is no longer at the place that the model folder names.

    Raises:
        UsageError: the table cannot be read or has a label that the model does not know, or `train` does not hold the
            rows that the model was trained on.
    """
    trained, config = predictor.trained, predictor.trained.config
    table = read_measured(config, data, data_dir, options)
    remembered = config.remembered
    with reading_as(encoding_like_training(data, remembered.read_as)):
        columns = None if data in KNOWN else other_columns(local_path(data), table)
    if train is None:
        seen = seen_rows(config, data_dir, folder)
        if isinstance(seen, str):
            seen = (
                f"{seen}; no baseline could be trained, and it is not known whether the model learned some of these "
                "rows. `train=` names a table of the training rows."
            )
    else:
        named = {name: value for name, value in vars(options).items() if name != "group"}
        source = remembered.read_as or SourceConfig(train=train, **named | {"fold_labels": remembered.fold_labels})
        given = {"train": without_password(train), "encoding": named_encoding() or source.encoding}
        seen = _named_rows(config, source.model_copy(update=given), data_dir)
    found, rows = measure_model(
        predictor,
        folder,
        table,
        seen,
        split="test" if data in KNOWN else "the rows with text and label" if table.dropped else "the whole table",
        columns=columns,
        command=command,
        say=say,
        on_progress=on_progress,
    )
    changes = measure_robustness(predictor, rows, say=say, on_progress=on_progress)
    if config.inputs is not None:
        say("answering rows with the values of one input permuted")
        shares = input_shares(partial(answers_of, predictor), rows, config.inputs)
        found = found.model_copy(update={"inputs": shares})
    say("explaining the worst errors")
    part = measures_of(config)
    errors = part.explained(predictor, found.worst_errors)
    more = {"robustness": changes, "worst_errors": errors, **doubts_of(trained, seen)}
    found = found.model_copy(update=more)
    return found.model_copy(update={"next_steps": part.next_steps(found, config, folder)})


def read_measured(
    config: FolderConfig,
    data: str,
    data_dir: Path | None,
    options: TableOptions = AS_TRAINED,
    reader: FolderConfig | None = None,
) -> Table:
    """Read a labelled table as a model needs it: see `evaluate_model`."""
    asked = {"multilabel": options.multilabel, "fold_labels": options.fold_labels}
    for setting in (name for name, value in asked.items() if value):
        config.target.check_labels(f"`{setting}=`")
    remembered = config.remembered
    return read_like_training(
        data,
        remembered.read_as,
        data_dir,
        replace(options, fold_labels=options.fold_labels or remembered.fold_labels),
        labels=config.target.names or (),
        inputs=(reader or config).inputs,
        group=remembered.recipe.validation.group,
    )


def measure_model(
    predictor: Predictor,
    folder: Path,
    table: Table,
    seen: Splits | str,
    *,
    split: str,
    columns: pl.DataFrame | None = None,
    scores: dict[str, FloatArray] | None = None,
    with_baselines: bool = True,
    command: str = "",
    say: Say = lambda _: None,
    on_progress: Callable[[float], None] | None = None,
) -> tuple[Any, MeasuredRows]:
    """Measure a model and the baselines on a table in memory. Return the evaluation, and the rows.

    Args:
        seen: the rows that the model was trained and validated on, or a sentence that says why they are missing.
        scores: those of the table's texts (`Predictor.scores`), if they are known. Then no time is taken.

    Raises:
        UsageError: the table holds a label that the model does not know.
    """
    trained, config = predictor.trained, predictor.trained.config
    part = measures_of(config)
    truth, texts = part.truth_of(config, table), table.frame["text"].to_list()
    notes = [*table.notes, *part.notes(config, table, truth), *doubts_of_encoder(config)]
    predict_seconds = None
    if scores is None:
        say(f"answering {counted(len(texts), 'text')} of {table.source}")
        began = time.perf_counter()
        scores = predictor.scores(texts, on_progress=on_progress)
        predict_seconds = time.perf_counter() - began
    if not config.transformer_is_silent:
        notes += _reading_notes(TokenStore.in_memory(trained.tokenizer.encode(texts)), config)
    baselines: list[Outcome] = []
    drift = too_good = None
    if isinstance(seen, str):
        notes.append(seen)
    else:
        learned, overlap = learnable(seen, table, trained)
        too_good = next((note for note in overlap if note.endswith(TOO_GOOD)), None)
        drift = None if too_good else _drift(predictor, learned, table)
        notes += [*overlap, *([drift.sentence] if drift and (drift.moved or drift.words_moved) else [])]
        baselines = _run_baselines(learned, config, texts, say) if with_baselines else []
    names = (*FILES, *(COUNTING_FILES if trained.counting else ()), *([SEEN_FILE] if trained.seen else ()))
    rows = part.answered(predictor, table, truth, scores, columns=columns)
    found = evaluate(
        rows,
        data=data_summary(table, split, config),
        model=model_summary(trained, folder),
        baselines=baselines,
        readers=part.readers(predictor, scores, len(texts)),
        fit_seconds=config.training_seconds,
        predict_seconds=predict_seconds,
        size_bytes=sum(path.stat().st_size for path in (*map(folder.joinpath, names), *files_of_readers(folder))),
        dropped=dropped_rows(table),
        notes=notes,
        command=command,
    )
    if too_good:
        duel = found.duel.model_copy(update={"verdict": "No verdict: some of these rows were learned."})
        found = found.model_copy(update={"duel": duel})
    return found.model_copy(update={"drift": drift, "too_good": too_good}), rows


def _drift(predictor: Predictor, learned: Table, measured: Table) -> DriftTable:
    """Say how the measured rows differ from those that the model learned."""
    trained, usual = predictor.trained, predictor.held_out
    part = measures_of(trained.config)
    before, after = (
        Side(texts=each.frame["text"], labels=part.label_figures(trained.config, part.truth_of(trained.config, each)))
        for each in map(some_rows, (learned, measured))
    )
    unseen = None
    if trained.seen is not None and usual is not None:
        shares = trained.seen.unseen_shares(after.texts.to_list())
        unseen = Followed("", shares.tolist(), usual.unseen_share)
    rows = 0 if usual is None else usual.rows
    return drift_table(before, after, unseen, rows, ("the training rows", "these rows"))


def dropped_rows(table: Table) -> tuple[DroppedRows, ...]:
    """Return the rows of a table that were left out, as a result holds them."""
    return tuple(
        DroppedRows(reason=dropped.reason, count=len(dropped.rows), first_rows=tuple(dropped.rows[:20]))
        for dropped in table.dropped
    )


def _reading_notes(store: TokenStore, config: FolderConfig) -> list[str]:
    unknown = float(np.mean(store.tokens == UNKNOWN_ID)) if len(store.tokens) else 0.0
    longer = int((store.lengths > config.model.max_seq_len - 1).sum())
    share = f"{unknown:.1%}"
    notes = [] if share == "0.0%" else [f"{share} of the tokens are unknown to the vocabulary"]
    if longer:
        notes.append(
            f"{longer:,} of {counted(len(store), 'text')} {'is' if longer == 1 else 'are'} longer than the window of "
            f"{config.model.max_seq_len:,} tokens; they were read in overlapping windows, and the logits averaged"
        )
    return notes


def _named_rows(config: FolderConfig, source: SourceConfig, data_dir: Path | None) -> Splits:
    """Read the rows that the model saw from the table that the user gives."""
    seen = split_again(config, source, data_dir)
    if seen is None:
        raise UsageError(
            f"`train={source.train!r}`: this table does not hold the rows that the model was trained on; "
            "leave out `train=` to measure without a baseline"
        )
    return seen


def learnable(seen: Splits, measured: Table, trained: TrainedModel) -> tuple[Table, list[str]]:
    """Return the rows that the baselines learn from, training and validation, and notes on measured texts among them.

    The readers beside the transformer learned from the validation rows too. Without them, validation rows that are
    measured now are left out: the model did not learn from them, so the baselines must not either.
    """
    train, validation = seen.train, seen.validation
    if trained.readers and validation is not None:
        train, validation = _joined(train, validation.frame), None
    notes = []
    if both := shared(measured, train):
        whose = "the training of its teacher" if "teacher" in trained.config.data else "training"
        notes.append(f"{counted_of(both, measured)} also in {whose}; {effect_of(both, measured)}")
    notes += of_known_groups(measured, train)
    if validation is None:
        return train, notes
    if both := shared(measured, validation):
        notes.append(f"{counted_of(both, measured)} validation rows; the baselines were trained without them")
    unmeasured = ~text_keys(validation.frame["text"]).is_in(text_keys(measured.frame["text"]).unique().implode())
    return _joined(train, validation.frame.filter(unmeasured)), notes


def _joined(table: Table, more: pl.DataFrame) -> Table:
    columns = [name for name in ("row", "text", "label", "group") if name in table.frame.columns]
    return replace(table, frame=pl.concat([table.frame.select(columns), more.select(columns)]))


def _run_baselines(rows: Table, config: FolderConfig, texts: list[str], say: Say) -> list[Outcome]:
    part, train_texts = measures_of(config), rows.frame["text"].to_list()
    truth = part.truth_of(config, rows)
    groups = rows.frame["group"].to_numpy() if "group" in rows.frame.columns else None
    say(f"training the baselines on all {len(train_texts):,} rows that {config.learner} saw")
    return [
        run_baseline(baseline, train_texts=train_texts, truth=truth, texts=texts)
        for baseline in part.baselines(config, groups)
    ]


def data_summary(table: Table, split: str, config: FolderConfig) -> DataSummary:
    """Return the facts about measured rows that a report shows. Rows in the order of folds are those of their table."""
    return DataSummary(
        source=table.source,
        split=split,
        rows=table.frame.height,
        sha256=fingerprint(replace(table, frame=table.frame.sort("row", maintain_order=True))),
        languages=languages_of(table.frame["text"]),
        trained_on=config.remembered.data.source,
        training_rows=config.remembered.data.rows,
    )


def model_summary(trained: TrainedModel, folder: Path) -> dict[str, JsonValue]:
    """Return the facts about a model that its report shows. The folder gives it its name."""
    config = trained.config
    shape: dict[str, Any] = config.model.model_dump(mode="json")
    readers: dict[str, Any] | None = None
    if config.readers is not None:
        readers = {f"weight of {name}": round(each.weight, 3) for name, each in config.readers.root.items()}
    return {
        "name": Path(os.path.realpath(folder)).name,
        "parameters": parameter_count(config.model, config.vocab_size, trained.config.n_classes),
        "vocabulary": config.vocab_size,
        "tokenizer": config.tokenizer.kind,
        "shape": shape,
        "readers": readers,
        "training_seed": config.seed,
        "best_epoch": trained.metrics.get("best_epoch"),
        "created": config.created,
        "versions": dict(config.versions),
    }
