"""Assemble an evaluation from the answers of a model and of baselines to the same rows."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from glassformer.errors import UsageError
from glassformer.evaluation.measured import Alone, MeasuredRows, Outcome
from glassformer.evaluation.record import Machine
from glassformer.evaluation.result import Comparison, Contestant, DataSummary, DroppedRows, Duel
from glassformer.evaluation.verdict import TWO_READERS, capital, is_clear, numbers_of, share, why_not_clear
from glassformer.prediction.answering_config import named

_NO_READERS: Alone = {}
_A_READER = "a reader of another package"


def evaluate(
    rows: MeasuredRows,
    *,
    data: DataSummary,
    model: Mapping[str, JsonValue],
    baselines: Sequence[Outcome] = (),
    readers: Alone = _NO_READERS,
    dropped: Sequence[DroppedRows] = (),
    notes: Sequence[str] = (),
    command: str = "",
    **cost: Any,
) -> Any:
    """Measure a model and the baselines on the same rows. Return the evaluation of this kind of answer.

    Args:
        model: facts about the model for the report: name, preset, parameters, versions, ….
        baselines: the verdict compares the model with the best one.
        cost: what is known of the model's (see `Outcome`).

    Raises:
        UsageError: there are no rows.
    """
    alone = [
        Outcome(name=f"{named(name)} alone", description=rows.readers_in_words.get(name, _A_READER), answers=answers)
        for name, answers in readers.items()
        if answers is not None
    ]
    if not len(rows.truth):
        raise UsageError("There is no labelled row to evaluate on; give a table with at least one text and its label.")
    own = Outcome(
        name=TWO_READERS if readers else rows.transformer,
        description=str(model.get("name", "")),
        answers=rows.answers,
        **cost,
    )
    contestant = rows.contestant(own)
    return rows.record(
        data=data,
        model=dict(model),
        metrics=contestant.metrics,
        duel=_duel(rows, contestant, baselines, readers, alone),
        **rows.looked_into([*baselines, *alone, own]),
        dropped=tuple(dropped),
        notes=(*notes, *rows.about_groups),
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
    readers: Alone,
    alone: Sequence[Outcome],
) -> Duel[Any, Any]:
    """Compare the model with each baseline, and with each of its readers if it asks several."""
    answering = {name for name, answers in readers.items() if answers is not None}
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


def which_reader_decides(
    readers: Alone,
    model: Contestant[Any],
    alone: Sequence[Contestant[Any]],
    comparisons: Sequence[Comparison],
) -> str | None:
    """Say which reader decides on these rows, and whether the other one adds more than noise. None without readers."""
    if not readers:
        return None
    asked = [named(name) for name, answers in readers.items() if answers is not None]
    silent = [named(name) for name, answers in readers.items() if answers is None]
    unshown = f"no held-out training rows showed that {' or '.join(silent)} adds anything."
    if len(asked) == 1:
        return f"The model answers by {asked[0]} alone: {unshown}"
    sentence = _of_several(asked, model, alone, comparisons)
    sentence += next(filter(None, (why_not_clear(each.difference, each.p) for each in comparisons)), "")
    unused = f"{capital(' and '.join(silent))} {'is' if len(silent) == 1 else 'are'} not used"
    return f"{sentence} {unused}: no held-out rows showed a sure gain." if silent else sentence


def _of_several(
    asked: Sequence[str], model: Contestant[Any], alone: Sequence[Contestant[Any]], comparisons: Sequence[Comparison]
) -> str:
    own = [_figure(each) for each in alone]
    numbers = [numbers_of(each.difference, each.p) for each in comparisons]
    both = _figure(model)
    against = [
        f"{right} for {name} alone ({difference})" for name, right, difference in zip(asked, own, numbers, strict=True)
    ]
    if len(asked) > 2:
        return f"All readers together give {both}, against {', '.join(against)}."
    gains = [_gain(each) for each in comparisons]
    if gains[0] == gains[1] != -1:
        first = "Both readers are needed here" if gains[0] else "These rows do not show which reader is needed"
        return f"{first}: both together give {both}, against {against[0]} and {against[1]}."
    decides = min((0, 1), key=lambda i: (gains[i], comparisons[i].difference.value))
    name, other = asked[decides], asked[1 - decides]
    together = f"it gives {own[decides]} alone, and with {other} {both} ({numbers[decides]})"
    if gains[decides] < 0:
        return f"{capital(name)} is {comparisons[0].better} alone here: {together}."
    sentence = f"{capital(name)} decides here: {together}; these rows do not show that {other} helps."
    return sentence if name == "counting" else f"{sentence} Both together give {both}, against {against[0]}."


def _figure(contestant: Contestant[Any]) -> str:
    return f"{contestant.metrics.named}{share(contestant.metrics.leading.value)}"


def _gain(comparison: Comparison) -> int:
    """Return 1 if the model is clearly better than a reader alone, −1 if clearly worse, else 0."""
    if not is_clear(comparison.difference, comparison.p):
        return 0
    return 1 if comparison.difference.value > 0 else -1
