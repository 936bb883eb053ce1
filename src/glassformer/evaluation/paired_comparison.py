"""Compare two models on the same labelled rows: which is better, by how much, and on which texts they differ."""

import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from glassformer.data.sources import AS_TRAINED, TableOptions
from glassformer.data.spellings import fold_labels as folded
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.evaluation.evaluate_model import read_measured
from glassformer.evaluation.measured import MeasuredRows, measures_of
from glassformer.evaluation.seen_rows import counted_of, effect_of, seen_rows, shared
from glassformer.prediction.predictor import Predictor


def compare_models(
    folder_a: Path,
    folder_b: Path,
    data: str,
    options: TableOptions = AS_TRAINED,
    *,
    device: str = "cpu",
    data_dir: Path | None = None,
    seed: int = 0,
) -> Any:
    """Answer a labelled table with both models and compare the answers row by row.

    Return the `ModelComparison` of this kind of answer. The difference has a paired 95% bootstrap interval. By default,
    columns and the folding of labels are those of model A.

    Raises:
        UsageError: both are the same folder, the table cannot be read, or what the models answer, or the labels of the
            table, differ.
    """
    if folder_a.resolve() == folder_b.resolve():
        raise UsageError(f"{folder_a} and {folder_b} are the same model; name two")
    predictors = [Predictor.load(folder, device=device) for folder in (folder_a, folder_b)]
    ours, theirs = (predictor.trained.config for predictor in predictors)
    part, fold = measures_of(ours), options.fold_labels or ours.remembered.fold_labels
    why = "only models of the same kind of answer can be compared"
    if part is measures_of(theirs):
        why = part.why_not_compared(ours, theirs, fold=fold)
    if why:
        said = [measures_of(config).in_words(config) for config in (ours, theirs)]
        raise UsageError(f"{folder_a} answers with {said[0]}; {folder_b} answers with {said[1]}; {why}")
    read = partial(read_measured, ours, data, data_dir, replace(options, fold_labels=fold))
    table = read()
    table_b = table if theirs.inputs == ours.inputs else _same_rows(table, read(reader=theirs))
    both = [_answered(*each, seed, fold=fold) for each in zip(predictors, (table, table_b), strict=True)]
    of_each = zip((folder_a, folder_b), predictors, strict=True)
    return both[0].compared(
        both[1],
        model_a=str(folder_a),
        model_b=str(folder_b),
        data=table.source,
        data_sha256=fingerprint(table),
        rows=table.frame.height,
        notes=(*table.notes, *itertools.chain(*(_seen(*each, table, data_dir) for each in of_each))),
        seed=seed,
    )


def _seen(folder: Path, predictor: Predictor, table: Table, data_dir: Path | None) -> list[str]:
    """Return a note if texts of the table were among those that a model was trained or validated on."""
    config = predictor.trained.config
    seen = seen_rows(config, data_dir, folder)
    if isinstance(seen, str):
        return [f"{folder}: {seen}; it is not known whether it saw texts of this table in training"]
    number = shared(table, seen.train, *([] if seen.validation is None else [seen.validation]))
    if not number:
        return []
    said = f"{counted_of(number, table)} also training or validation texts; {effect_of(number, table)}"
    return [f"{folder}: {said}"]


def _same_rows(table: Table, other: Table) -> Table:
    """Return the table as another model reads it. Raises `UsageError` if one of both needs a text that a row lacks."""
    if not table.frame["row"].equals(other.frame["row"]):
        raise UsageError(
            f"{table.source}: a row has the text of one model and not that of the other; remove the rows without both"
        )
    return other


def _answered(predictor: Predictor, table: Table, seed: int, *, fold: bool) -> MeasuredRows:
    """Return the rows with the answers of a model, which may spell labels in another way."""
    config, part = predictor.trained.config, measures_of(predictor.trained.config)
    truth = part.truth_of(config, folded(table, config.target.names or ()) if fold else table)
    scores = predictor.scores(table.frame["text"].to_list())
    return part.answered(predictor, table, truth, scores, seed=seed)
