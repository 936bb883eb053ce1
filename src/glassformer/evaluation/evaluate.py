"""Assemble an evaluation from the answers of a model and of baselines to the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from glassformer.evaluation.measured import Cost, MeasuredRows, Outcome, ReaderOutcome
from glassformer.evaluation.readers import which_reader_decides
from glassformer.evaluation.result import DataSummary, DroppedRows, Duel, Machine
from glassformer.evaluation.verdict import TWO_READERS
from glassformer.prediction.answering_config import named

_NOT_MEASURED = Cost()


def evaluate(
    rows: MeasuredRows,
    *,
    data: DataSummary,
    model: Mapping[str, JsonValue],
    baselines: Sequence[Outcome] = (),
    readers: Sequence[ReaderOutcome] = (),
    cost: Cost = _NOT_MEASURED,
    dropped: Sequence[DroppedRows] = (),
    notes: Sequence[str] = (),
    command: str = "",
) -> Any:
    """Measure a model and the baselines on the same rows. Return the evaluation of this kind of answer.

    Args:
        model: facts about the model for the report: name, preset, parameters, versions, ….
        baselines: the verdict compares the model with the best one.

    Raises:
        UsageError, GlassformerError: see `MeasuredRows.check`.
    """
    alone = [
        Outcome(name=f"{named(each.reader)} alone", description=each.description, answers=each.answers)
        for each in readers
        if each.answers is not None
    ]
    rows.check({each.name: each.answers for each in (*baselines, *alone)})
    own = Outcome(
        name=TWO_READERS if readers else rows.transformer,
        description=str(model.get("name", "")),
        answers=rows.answers,
        fit_seconds=cost.fit_seconds,
        predict_seconds=cost.predict_seconds,
        size_bytes=cost.size_bytes,
    )
    contestant = rows.contestant(own)
    return rows.record(
        data=data,
        model=dict(model),
        metrics=contestant.metrics,
        duel=_duel(rows, contestant, baselines, readers, alone),
        **rows.looked_into([*baselines, *alone, own]),
        dropped=tuple(dropped),
        notes=tuple(notes),
        seed=rows.seed,
        resamples=rows.resamples,
        machine=Machine.here(),
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _duel(
    rows: MeasuredRows,
    model: Any,
    baselines: Sequence[Outcome],
    readers: Sequence[ReaderOutcome],
    alone: Sequence[Outcome],
) -> Duel[Any, Any]:
    """Compare the model with each baseline, and with each of its readers if it asks several."""
    answering = {each.reader for each in readers if each.answers is not None}
    linear = bool(answering) and answering <= {"counting", "body"}
    contestants = [rows.contestant(each) for each in baselines]
    against = [
        rows.compare(model, other, each.answers, alike=linear and each.name.startswith("TF-IDF"))
        for other, each in zip(contestants, baselines, strict=True)
    ]
    asked = [] if len(alone) == 1 else alone  # the answers of a single reader are those of the model
    by_itself = [rows.contestant(each) for each in asked]
    beside = [
        rows.compare(model, other, each.answers, alike=False) for other, each in zip(by_itself, asked, strict=True)
    ]
    duel = rows.duels(
        model=model,
        baselines=tuple(contestants),
        comparisons=tuple(against),
        verdict="No baseline was measured on these rows.",
        readers=tuple(by_itself),
        reader_comparisons=tuple(beside),
        reader_verdict=which_reader_decides(readers, model, by_itself, beside),
    )
    strongest = duel.strongest
    return duel if strongest is None else duel.model_copy(update={"verdict": against[strongest].verdict})
