"""Measure a model of a number on the rows that its training held out: what `report.py` does for classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from glassformer.data.arrays import Array
from glassformer.data.numbers import numbers_of
from glassformer.data.table import Table
from glassformer.evaluation.evaluate_model import model_summary
from glassformer.evaluation.evaluate_number import MeasuredRows, duel_of, points_of, worst_numbers
from glassformer.evaluation.number_errors import by_answer, doubtful_numbers, far_off
from glassformer.evaluation.number_next_steps import number_next_steps
from glassformer.evaluation.number_result import NumberEvaluation
from glassformer.evaluation.report_number import render_number
from glassformer.evaluation.report_number_errors import in_unit
from glassformer.evaluation.result import Machine
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.number.target import COVERAGE, number_of
from glassformer.training.preparation import Prepared
from glassformer.training.report import (
    MOST_MEASURED,
    data_summary,
    left_out,
    measure_it,
    measured_rows,
    notes_of,
    used_for,
)

_RESAMPLES = 500  # a quarter of those of `evaluate`, so that 20,000 rows take seconds
NumberWorded = Callable[[NumberEvaluation], NumberEvaluation]


@dataclass(frozen=True, kw_only=True, eq=False)
class Off:
    """How far each held-out row is off: truth − answer, in the unit of the number, if all is fitted without this row.

    Attributes:
        model: (rows,)
        alone: (rows,) for each reader alone, unless its answers are those of the model.
        ranked: (rows,) answers whose weights were fitted to all rows, on any scale. Without its row, an answer moves
            away from the truth, which can turn the order of answers that hardly differ.
    """

    model: Array
    alone: dict[str, Array]
    ranked: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutNumberRows:
    """The rows of `table` at `places`, which were held out from training, and how far each of them is off."""

    table: Table
    places: Array
    off: Off


def number_page(
    trained: TrainedModel, held_out: HeldOutNumberRows, prepared: Prepared, folder: Path, worded: NumberWorded
) -> str:
    """Return the report of the held-out rows, and add its next steps to the metrics of the model.

    Args:
        worded: returns the figures as the report shows them.
    """
    found = worded(measure_held_out_numbers(trained, held_out, prepared, folder))
    trained.metrics["next_steps"] = [step.model_dump() for step in found.next_steps]
    return render_number(found, of_training=True)


def measure_held_out_numbers(
    trained: TrainedModel, held_out: HeldOutNumberRows, prepared: Prepared, folder: Path
) -> NumberEvaluation:
    """Measure a model on its held-out rows, or on some of them if there are many. No baseline is trained.

    The rows gave the model its intervals, so they do not check them. Rows are named by number, without their texts.
    """
    config, remembered, rows = trained.config, trained.config.remembered, len(held_out.places)
    which = measured_rows(rows, MOST_MEASURED, config.seed)
    table = replace(held_out.table, frame=held_out.table.frame[held_out.places[which]])
    truth, off, texts = numbers_of(table), held_out.off, table.frame["text"].to_list()
    answers = truth - off.model[which]
    measured = MeasuredRows(truth=truth, seed=config.seed, resamples=_RESAMPLES)
    seconds, name = config.training_seconds, folder.resolve().name
    model = measured.contestant("the model", name, answers, ranked=off.ranked[which], fit_seconds=seconds)
    target = number_of(config.target)
    figures = target.held_out(trained.metrics)
    distance = None if figures is None else figures.distances[round(100 * COVERAGE) - 1]
    duel = duel_of(measured, model, answers, [], {name: truth - own[which] for name, own in off.alone.items()})
    what = ["the weights of both readers"] if trained.counting is not None and off.alone else ["how answers are scaled"]
    said = used_for([*what, "the width of the intervals"], prepared)
    if distance is not None:
        said += f" An interval of {COVERAGE:.0%} reaches {in_unit(distance)} to each side of an answer."
    added = remembered.read_as is not None and bool(remembered.read_as.added)
    found = NumberEvaluation(
        data=data_summary(table, prepared, remembered.data),
        model=model_summary(trained, folder),
        target=target.column,
        metrics=model.metrics,
        duel=duel.model_copy(update={"verdict": said}),
        intervals=(),
        points=points_of(truth, answers),
        by_answer=by_answer(answers, truth, distance) if model.metrics.r2.low > 0 else (),  # see `Off.ranked`
        far_off=far_off(texts, answers, truth),
        doubts=doubtful_numbers(trained.metrics, "no texts are to be shown"),
        worst_errors=()  # the numbers of added rows are those of several tables
        if added
        else worst_numbers(truth, answers, [""] * len(truth), table.frame["row"].to_list()),
        dropped=tuple(left_out(prepared)),
        notes=(*table.notes, *prepared.splits.notes, *notes_of(rows, len(which))),
        resamples=_RESAMPLES,
        seed=config.seed,
        machine=Machine.here(),
        command="",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    steps = [
        step if duel.readers or step.section != "duel" else step.model_copy(update={"section": None})
        for step in number_next_steps(found)
    ]
    return found.model_copy(update={"next_steps": (measure_it(folder), *steps)})
