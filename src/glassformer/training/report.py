"""Measure a model on the rows that its training held out, for the report in its folder."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np

from glassformer.data.arrays import Array
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.data.wording import counted
from glassformer.evaluation.doubtful_labels import doubtful_labels
from glassformer.evaluation.evaluate import Cost, LabelledRows, evaluate
from glassformer.evaluation.evaluate_model import dropped_rows, model_summary
from glassformer.evaluation.next_steps import next_steps
from glassformer.evaluation.readers import ReaderOutcome
from glassformer.evaluation.report import render
from glassformer.evaluation.result import DataSummary, DroppedRows, Evaluation
from glassformer.evaluation.weak_spots import NextStep
from glassformer.prediction.calibration import fit_temperature
from glassformer.prediction.folder_config import TrainingRows
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.labels.training_readers import each_alone
from glassformer.targets.probabilities import probabilities
from glassformer.targets.review import Thresholds
from glassformer.training.held_out_figures import HeldOut
from glassformer.training.preparation import Prepared

MOST_MEASURED, MOST_ANSWERS = 20_000, 400_000
"""Rows, and rows times classes. More of them would cost time and memory, and hardly change the figures."""


Worded = Callable[[Evaluation], Evaluation]


def training_page(
    trained: TrainedModel, held_out: HeldOut, prepared: Prepared, folder: Path, worded: Worded, *, texts: bool
) -> str | None:
    """Return the report of the held-out rows, and add its next steps to the metrics of the model.

    Args:
        worded: returns the figures as the report shows them.

    Returns:
        None if the labels of the rows are not known.
    """
    found = measure_held_out(trained, held_out, prepared, folder, texts=texts)
    if found is None:
        return None
    found = worded(found)
    trained.metrics["next_steps"] = [step.model_dump() for step in found.next_steps]
    return render(found, trained.metrics["history"], of_training=True)


def measure_held_out(
    trained: TrainedModel,
    held_out: HeldOut,
    prepared: Prepared,
    folder: Path,
    *,
    texts: bool = False,
) -> Evaluation | None:
    """Measure a model on its held-out rows, or on some of them if there are many. No baseline is trained.

    Args:
        folder: the model folder to write.
        texts: show the texts of wrong answers and of doubtful labels. Otherwise their rows are named by number.

    Returns:
        None if the labels of the rows are not known.
    """
    if held_out.labels is None:
        return None
    config = trained.config
    which = measured_rows(len(held_out.labels), min(MOST_MEASURED, MOST_ANSWERS // config.n_classes), config.seed)
    rows = held_out.table.frame[held_out.places[which]]
    by_reader = held_out.by_reader(which)
    table = replace(held_out.table, frame=rows)
    found = evaluate(
        LabelledRows(
            labels=held_out.labels[which],
            texts=rows["text"].to_list(),
            rows=rows["row"].to_list(),
            class_names=config.label_set.names,
            multilabel=config.multilabel,
            ordered=config.ordered,
            seed=config.seed,
        ),
        reduce(np.add, by_reader.values()),
        temperature=config.temperature,
        data=data_summary(table, prepared, config.remembered.data),
        model=model_summary(trained, folder),
        readers=_readers(held_out, which, trained),
        thresholds=Thresholds.model_validate(trained.metrics["held_out_answers"]["thresholds"]),
        cost=Cost(fit_seconds=config.training_seconds),
        dropped=left_out(prepared),
        notes=[*held_out.table.notes, *prepared.splits.notes, *notes_of(len(held_out.labels), len(which))],
    )
    return _told(found, trained, prepared, folder, texts=texts)


def measured_rows(rows: int, most: int, seed: int) -> Array:
    """Return the numbers of the rows to measure: all of them, or `most` drawn at random."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def notes_of(rows: int, measured: int) -> list[str]:
    """Return a note if not all held-out rows were measured."""
    if measured == rows:
        return []
    return [f"of {counted(rows, 'held-out row')}, {measured:,} drawn at random were measured for this report"]


def _readers(held_out: HeldOut, which: Array, trained: TrainedModel) -> list[ReaderOutcome]:
    """Return the answers of each reader alone, also of one that the model does not ask."""
    readers, labels = held_out.readers, held_out.labels
    if readers is None or labels is None:
        return []
    outcomes, multilabel = [], trained.config.multilabel
    for reader, settings in readers.root.items():
        found = held_out.scores.get(reader)
        if found is None:
            outcomes.append(ReaderOutcome(reader=reader, probs=None))
            continue
        weighted = found * (settings.weight or 1)
        temperature = settings.temperature if settings.weight else fit_temperature(found, labels, multilabel=multilabel)
        probs = probabilities(weighted[which], temperature=temperature, multilabel=multilabel)
        outcomes.append(ReaderOutcome(reader=reader, probs=probs))
    return outcomes


def _told(
    found: Evaluation,
    trained: TrainedModel,
    prepared: Prepared,
    folder: Path,
    *,
    texts: bool,
) -> Evaluation:
    """Return the figures with what they mean, and what to do next."""
    config = trained.config
    added = config.remembered.read_as is not None and bool(config.remembered.read_as.added)
    errors = [each if texts else each.model_copy(update={"text": ""}) for each in found.worst_errors]
    found = found.model_copy(
        update={
            "duel": found.duel.model_copy(
                update={
                    "verdict": used_for(
                        ["the calibration"]
                        if config.readers is None
                        else ["the weights of both readers", "the calibration"],
                        prepared,
                    ),
                    "reader_verdict": _decided(trained),
                }
            ),
            "worst_errors": () if added else tuple(errors),  # the numbers of added rows are those of several tables
            "label_doubts": doubtful_labels(trained, prepared.splits if texts else "no texts are to be shown"),
        }
    )
    return found.model_copy(update={"next_steps": (measure_it(folder), *next_steps(found, config, folder))})


def data_summary(measured: Table, prepared: Prepared, learned: TrainingRows) -> DataSummary:
    """Say which rows were measured, and which ones the model learned."""
    return DataSummary(
        source=measured.source,
        split="held out from training" if prepared.splits.validation is not None else "cross-validation",
        rows=measured.frame.height,
        sha256=fingerprint(measured),
        trained_on=learned.source,
        training_rows=learned.rows,
    )


def left_out(prepared: Prepared) -> list[DroppedRows]:
    """Return the rows that were left out of the tables of a run."""
    tables = (prepared.splits.train, prepared.splits.validation)
    return [dropped for table in tables if table is not None for dropped in dropped_rows(table)]


def measure_it(folder: Path) -> NextStep:
    """Return the first step after each training."""
    return NextStep(
        text="Measure the model on labelled rows that it has not seen, and compare it with a baseline.",
        command=f"glassformer evaluate {shlex.quote(str(folder))} TEST_TABLE",
    )


def used_for(what: list[str], prepared: Prepared) -> str:
    """Say what the held-out rows were used for beside the epoch, and what that means."""
    if prepared.splits.validation is None:
        chosen = " and ".join(what)
        said = f"Each row was answered by a model that had not learned it, but all rows together chose {chosen}."
    else:
        parts = what if prepared.recipe.training.counting_alone else ["the epoch", *what]
        chosen = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
        said = f"The model did not learn these rows, but they chose {chosen}."
    return (
        f"{said} So expect a little less on new texts: glassformer evaluate on rows that the model has not seen gives "
        "the honest figure."
    )


def _decided(trained: TrainedModel) -> str | None:
    """Say how the readers were weighed, if there are several."""
    if trained.config.readers is None:
        return None
    said = each_alone(trained.config.readers, trained.metrics["readers"])
    return f"{said[0].upper()}{said[1:]}."
