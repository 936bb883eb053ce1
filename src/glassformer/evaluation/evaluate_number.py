"""Measure a model of a number on a table, and compare it with baselines trained on all rows that the model saw."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glassformer.data.arrays import FloatArray
from glassformer.data.known import KNOWN
from glassformer.data.numbers import check_varies, numbers_of
from glassformer.data.sources import read_like_training
from glassformer.data.splits import Splits, fingerprint
from glassformer.data.table import Table, other_columns
from glassformer.data.wording import counted, short
from glassformer.errors import UsageError, quoted
from glassformer.evaluation.evaluate_model import dropped_rows, learnable, model_summary
from glassformer.evaluation.input_shares import number_input_shares
from glassformer.evaluation.intervals import RESAMPLES, share_right
from glassformer.evaluation.number_baselines import NumberOutcome, answer_with_mean, answer_with_ridge
from glassformer.evaluation.number_errors import by_answer, doubtful_numbers, far_off
from glassformer.evaluation.number_metrics import difference_in_r2, measure_numbers
from glassformer.evaluation.number_next_steps import number_next_steps
from glassformer.evaluation.number_result import (
    IntervalCoverage,
    NumberComparison,
    NumberContestant,
    NumberDuel,
    NumberError,
    NumberEvaluation,
)
from glassformer.evaluation.readers import NAMES
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import DataSummary, Machine
from glassformer.evaluation.seen_rows import counted_of, remembered_rows, shared, split_again
from glassformer.evaluation.verdict import share, signed
from glassformer.prediction.folder_config import FolderConfig, Remembered
from glassformer.prediction.model_folder import FILES
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.reader_files import COUNTING_FILES
from glassformer.readers.counting.unlike import SEEN_FILE
from glassformer.targets.answers import Reader
from glassformer.targets.number.target import NumberAnswers, number_of

Numbers = NDArray[np.float64]
ASKED = (0.8, 0.9, 0.95)
WORST_ERRORS, MOST_POINTS = 20, 1_000
_ROOM, _MANY_OUTSIDE = 0.1, 0.1  # a tenth of the rows, by more than a tenth of the range


def evaluate_number(
    predictor: Predictor[NumberAnswers],
    folder: Path,
    data: str,
    *,
    text: str | None = None,
    label: str | None = None,
    train: str | None = None,
    data_dir: Path | None = None,
    resamples: int = RESAMPLES,
    command: str = "",
    say: Callable[[str], None] = lambda _: None,
    on_progress: Callable[[float], None] | None = None,
) -> NumberEvaluation:
    """Measure a model on a table. The arguments are those of `evaluate_model`.

    Raises:
        UsageError: the table cannot be read, a label is not a number, or all numbers are the same.
    """
    config, target = predictor.trained.config, number_of(predictor.trained.config.target)
    remembered = config.remembered
    table = read_like_training(
        data, remembered.read_as, data_dir, text=text, label=label, multilabel=None, labels=(), inputs=config.inputs
    )
    truth, texts, notes = numbers_of(table), table.frame["text"].to_list(), list(table.notes)
    check_varies(truth, table, so="R² cannot be measured. Add rows with other numbers")
    notes += _differences(table.label_column, truth, config)
    seen = _seen(remembered, train, data_dir)
    say(f"answering {counted(len(texts), 'text')} of {table.source}")
    began = time.perf_counter()
    by_reader = predictor.scores(texts, on_progress=on_progress)
    answers, seconds = target.values(predictor.weighed(by_reader, len(texts))), time.perf_counter() - began
    outcomes: list[NumberOutcome] = []
    if isinstance(seen, str):
        notes.append(f"{seen}; no baseline could be trained. `train=` names a table of the training rows")
    else:
        rows, overlap = _learnable(seen, table, predictor)
        notes += overlap
        outcomes = _baselines(rows, texts, say)
    measured = MeasuredRows(truth=truth, seed=config.seed, resamples=resamples)
    files = (*FILES, *(COUNTING_FILES if predictor.trained.counting else ()), SEEN_FILE)
    model = measured.contestant(
        "the model",
        folder.resolve().name,
        answers,
        fit_seconds=config.training_seconds,
        predict_seconds=seconds,
        size_bytes=sum((folder / name).stat().st_size for name in files if (folder / name).exists()),
    )
    columns = None if data in KNOWN else other_columns(Path(data), table)
    found = NumberEvaluation(
        data=DataSummary(
            source=table.source,
            split="test" if data in KNOWN else "the rows with text and number" if table.dropped else "the whole table",
            rows=len(texts),
            sha256=fingerprint(table),
            trained_on=remembered.data.source,
            training_rows=remembered.data.rows,
        ),
        model=model_summary(predictor.trained, folder),
        target=target.column,
        metrics=model.metrics,
        duel=duel_of(measured, model, answers, outcomes, _alone(predictor, by_reader)),
        intervals=_coverage(predictor, answers, truth),
        points=points_of(truth, answers),
        by_answer=by_answer(answers, truth, target.distance(predictor.held_out)),
        far_off=far_off(texts, answers, truth, columns),
        doubts=doubtful_numbers(predictor.trained.metrics, seen),
        inputs=number_input_shares(lambda rows: predictor.answer(rows).values, texts, truth, config.inputs),
        worst_errors=worst_numbers(truth, answers, texts, table.frame["row"].to_list()),
        dropped=dropped_rows(table),
        notes=tuple(notes),
        resamples=resamples,
        seed=config.seed,
        machine=Machine.here(),
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return found.model_copy(update={"next_steps": number_next_steps(found)})


def _differences(column: str | None, truth: Numbers, config: FolderConfig) -> list[str]:
    """Say it if the measured numbers are those of another column than the learned ones, or of another range."""
    target, found = number_of(config.target), list[str]()
    scale = target.scale
    if column is not None and column.casefold() != target.column.casefold():
        found.append(
            f"warning: the column {quoted(column)} is measured, but the model learned {quoted(target.column)}; "
            "`label=` names another column"
        )
    room = _ROOM * (scale.highest - scale.lowest)
    outside = float(((truth < scale.lowest - room) | (truth > scale.highest + room)).mean())
    if outside > _MANY_OUTSIDE:
        measured = f"{short(truth.min())} to {short(truth.max())}"
        learned = f"{short(scale.lowest)} to {short(scale.highest)}"
        found.append(
            f"warning: {outside:.0%} of the numbers, {measured}, are far outside of those of training, {learned}. Is "
            "it the same number, in the same unit?"
        )
    return found


@dataclass(frozen=True, kw_only=True)
class MeasuredRows:
    """The numbers of the measured rows, and how to measure on them."""

    truth: Numbers
    seed: int
    resamples: int

    def contestant(
        self,
        name: str,
        description: str,
        answers: Numbers,
        *,
        ranked: Numbers | None = None,
        fit_seconds: float | None = None,
        predict_seconds: float | None = None,
        size_bytes: int | None = None,
    ) -> NumberContestant:
        return NumberContestant(
            name=name,
            description=description,
            metrics=measure_numbers(answers, self.truth, ranked=ranked, seed=self.seed, resamples=self.resamples),
            fit_seconds=fit_seconds,
            predict_seconds=predict_seconds,
            size_bytes=size_bytes,
        )

    def compare(self, answers: Numbers, other: NumberContestant, others: Numbers) -> NumberComparison:
        own, theirs = ((each - self.truth) ** 2 for each in (answers, others))
        difference = difference_in_r2(own, theirs, self.truth, seed=self.seed, resamples=self.resamples)
        return NumberComparison(
            baseline=other.name,
            difference=difference,
            verdict=_verdict(other, difference, len(self.truth)),
        )


def in_r2(value: float) -> str:
    """Write an R², which may be below 0: .571 or −.012."""
    rounded = round(value, 3) + 0.0  # no −0.0
    return ("−" if rounded < 0 else "") + share(abs(rounded))


def _verdict(other: NumberContestant, difference: Estimate, rows: int) -> str:
    """Say whether the model or another contestant explains more of the variance, or that the rows do not show it."""
    r2, theirs = difference.value + other.metrics.r2.value, other.metrics.r2.value
    figures = (
        f"R² {in_r2(r2)} against {in_r2(theirs)} (difference {signed(difference.value)}, 95% interval "
        f"{signed(difference.low)} to {signed(difference.high)})"
    )
    if difference.low > 0:
        return f"The model is better than {other.name} on {counted(rows, 'row')}: {figures}."
    if difference.high < 0:
        return (
            f"{other.name[:1].upper()}{other.name[1:]} is better than the model on {counted(rows, 'row')}: {figures}."
        )
    return f"No clear winner between the model and {other.name} on {counted(rows, 'row')}: {figures}."


def duel_of(
    measured: MeasuredRows,
    model: NumberContestant,
    answers: Numbers,
    outcomes: Sequence[NumberOutcome],
    alone: Mapping[str, Numbers],
) -> NumberDuel:
    """Compare the answers of the model with those of baselines and of its readers alone, by their names."""
    baselines = [
        measured.contestant(
            each.name,
            each.description,
            each.answers,
            fit_seconds=each.fit_seconds,
            predict_seconds=each.predict_seconds,
            size_bytes=each.size_bytes,
        )
        for each in outcomes
    ]
    readers = [measured.contestant(name, "a reader of the model", own) for name, own in alone.items()]
    comparisons = [
        measured.compare(answers, each, own)
        for each, own in [
            *zip(baselines, (each.answers for each in outcomes), strict=True),
            *zip(readers, alone.values(), strict=True),
        ]
    ]
    strongest = max(range(len(baselines)), key=lambda i: baselines[i].metrics.r2.value, default=None)
    return NumberDuel(
        model=model,
        baselines=tuple(baselines),
        readers=tuple(readers),
        comparisons=tuple(comparisons),
        verdict="No baseline was measured on these rows." if strongest is None else comparisons[strongest].verdict,
    )


def _alone(predictor: Predictor[NumberAnswers], by_reader: Mapping[Reader, FloatArray]) -> dict[str, Numbers]:
    """Return the answers of each reader alone, with the bias and weight that fit the held-out rows of training."""
    if len(by_reader) < 2:  # its answers are those of the model
        return {}
    target = number_of(predictor.trained.config.target)
    found = {
        f"{NAMES[reader]} alone": target.alone(predictor.held_out, reader, scores)
        for reader, scores in by_reader.items()
    }
    return {name: answers for name, answers in found.items() if answers is not None}


def _seen(remembered: Remembered, train: str | None, data_dir: Path | None) -> Splits | str:
    """Read the rows that the model saw, from the table that the user names if there is one."""
    source = remembered.read_as
    if train is None or source is None:
        return remembered_rows(remembered, None, data_dir)
    seen = split_again(remembered, None, source.model_copy(update={"train": train}), data_dir)
    if seen is None:
        raise UsageError(
            f"`train={train!r}`: this table does not hold the rows that the model was trained on; leave out `train=` "
            "to measure without a baseline"
        )
    return seen


def _learnable(seen: Splits, measured: Table, predictor: Predictor[NumberAnswers]) -> tuple[Table, list[str]]:
    """Return the rows that the baselines learn from, and notes on measured texts among them."""
    rows, _ = learnable(seen, measured, predictor.trained)
    both = shared(measured, rows)
    return rows, [f"{counted_of(both, measured)} also in training; the figures are too good"] if both else []


def _baselines(rows: Table, texts: list[str], say: Callable[[str], None]) -> list[NumberOutcome]:
    train_texts, truth = rows.frame["text"].to_list(), numbers_of(rows)
    groups = rows.frame["group"].to_numpy() if "group" in rows.frame.columns else None
    say(f"training the baselines on all {len(train_texts):,} rows that the model saw")
    return [answer_with_mean(truth, len(texts)), answer_with_ridge(train_texts, truth, texts, groups)]


def _coverage(predictor: Predictor[NumberAnswers], answers: Numbers, truth: Numbers) -> tuple[IntervalCoverage, ...]:
    found = []
    for asked in ASKED:
        distance = number_of(predictor.trained.config.target).distance(predictor.held_out, asked)
        if distance is not None:
            inside = np.abs(answers - truth) <= distance
            coverage = share_right(inside, seed=predictor.trained.config.seed)
            found.append(IntervalCoverage(asked=asked, distance=distance, coverage=coverage))
    return tuple(found)


def points_of(truth: Numbers, answers: Numbers) -> tuple[tuple[float, float], ...]:
    """Return (truth, answer) of at most 1,000 rows, evenly drawn."""
    step = max(1, -(-len(truth) // MOST_POINTS))
    return tuple(zip(truth[::step].tolist(), answers[::step].tolist(), strict=True))


def worst_numbers(
    truth: Numbers, answers: Numbers, texts: Sequence[str], rows: Sequence[int]
) -> tuple[NumberError, ...]:
    """Return the rows that are farthest off, the farthest first."""
    order = np.argsort(-np.abs(truth - answers), kind="stable")[:WORST_ERRORS].tolist()
    return tuple(
        NumberError(row=rows[i], text=texts[i], truth=float(truth[i]), prediction=float(answers[i])) for i in order
    )
