"""How a model that answers with a number is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from glassformer.data.arrays import Array, IntArray, Numbers
from glassformer.data.inputs import shown, texts_alone
from glassformer.data.numbers import check_varies, numbers_of
from glassformer.data.table import Table
from glassformer.data.wording import counted, short
from glassformer.errors import quoted
from glassformer.evaluation.drift import LabelFigures
from glassformer.evaluation.intervals import bootstrap_mean, share_right
from glassformer.evaluation.measured import Alone, Baseline, MeasuredRows, Outcome, by_text
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import Comparison, Contestant, Duel
from glassformer.evaluation.robustness import EXAMPLES, SEED
from glassformer.evaluation.slices import FEWEST_ROWS, find_slices
from glassformer.evaluation.verdict import TWO_READERS, capital, share
from glassformer.evaluation.verdict import numbers_of as both_in_words
from glassformer.evaluation.weak_spots import DoubtfulRows, NextStep, Robustness
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.targets.number.evaluation_baselines import MeanBaseline, RidgeBaseline
from glassformer.targets.number.evaluation_metrics import difference_in_r2, measure_numbers
from glassformer.targets.number.evaluation_result import (
    AnswerRange,
    DoubtfulNumber,
    FarOff,
    IntervalCoverage,
    Nearer,
    NumberError,
    NumberEvaluation,
    NumberInputShare,
    NumberMetrics,
    NumberModelComparison,
    NumberTextChange,
)
from glassformer.targets.number.evaluation_rules import MeasuredRules, measure_number_rules
from glassformer.targets.number.evaluation_steps import number_steps
from glassformer.targets.number.target import Number, number_of

DOUBTED = ("doubts", DoubtfulRows[DoubtfulNumber])
ASKED = (0.8, 0.9, 0.95)
WORST_ERRORS, MOST_POINTS = 20, 1_000
_ROOM, _MANY_OUTSIDE = 0.1, 0.1  # a tenth of the rows, by more than a tenth of the range
_FAR = 0.8  # of the rows are nearer than a row that is far off
_PARTS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberedRows(MeasuredRows):
    """The measured rows. Truth and answers are numbers (n,).

    Attributes:
        distances: half of the width of the intervals, for each share of numbers that they should hold.
        ranked: the answers of Spearman's correlation, by the name of the contestant, if they are others.
        unruled: the answers without the rules.
    """

    record: ClassVar = NumberEvaluation
    contestants: ClassVar = Contestant[NumberMetrics]
    duels: ClassVar = Duel[Contestant[NumberMetrics], Comparison]
    changes: ClassVar = Robustness[NumberTextChange]
    transformer: ClassVar = TWO_READERS
    readers_in_words: ClassVar = {
        "counting": "ridge regression on n-grams",
        "body": "ridge regression on word vectors",
        "encoder": "ridge regression on the vectors of a pre-trained encoder",
        "rules": "the rules of a file",
        "transformer": "the transformer",
    }

    target: Number
    values: Numbers
    distances: Mapping[float, float] = field(default_factory=dict)
    away: float | None = None
    ranked: Mapping[str, Numbers] = field(default_factory=dict)
    unruled: Numbers | None = None

    @property
    def answers(self) -> Numbers:
        return self.values

    @cached_property
    def wrong(self) -> Numbers:
        return (self.values - self.truth) ** 2

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        ranked = self.ranked.get(outcome.name)
        draws = self.draws_of((outcome.answers - self.truth) ** 2)
        return {"metrics": measure_numbers(outcome.answers, self.truth, ranked=ranked, **draws)}

    def compare(self, model: Any, other: Any, answers: Array, *, alike: bool) -> Comparison:  # noqa: ARG002
        own, theirs = ((each - self.truth) ** 2 for each in (self.answers, answers))
        difference = difference_in_r2(own, theirs, self.truth, **self.draws_of(own - theirs))
        verdict = _verdict("the model", other.name, other.metrics.r2.value, difference, len(self.truth))
        return Comparison(baseline=other.name, difference=difference, verdict=capital(verdict))

    def looked_into(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:  # noqa: ARG002
        step = max(1, -(-len(self.truth) // MOST_POINTS))
        off = np.abs(self.answers - self.truth)
        return {
            "target": self.target.column,
            "intervals": tuple(
                IntervalCoverage(
                    asked=asked, distance=far, coverage=share_right(off <= far, seed=self.seed, worth=self.worth)
                )
                for asked, far in self.distances.items()
            ),
            "points": tuple(zip(self.truth[::step].tolist(), self.answers[::step].tolist(), strict=True)),
            "by_answer": self._by_answer(),
            "far_off": self._far_off(off),
            "rules": self._measured_rules(off),
            "worst_errors": self._worst(),
        }

    def _measured_rules(self, off: Numbers) -> MeasuredRules | None:
        if self.rules is None or self.unruled is None:
            return None
        return measure_number_rules(self.rules, self.texts, off, np.abs(self.unruled - self.truth))

    def _far_off(self, off: Numbers) -> FarOff | None:
        """Find slices of the rows on which answers are far off more often. None if all are equally far off."""
        distance = float(np.quantile(off, _FAR))
        near = off <= distance
        if near.all():
            return None
        shown_texts, worth = [texts_alone(text) for text in self.texts], self.worth
        slices = find_slices(shown_texts, near, self.columns, worth=worth, worth_of_groups=self.worth_of_groups)
        return FarOff(distance=distance, slices=slices)

    def _by_answer(self) -> tuple[AnswerRange, ...]:
        """Return the errors of each quarter of the rows, lowest answers first. Nothing if there are few rows."""
        answers, away = self.answers, self.away
        if len(answers) < _PARTS * FEWEST_ROWS:
            return ()
        off = answers - self.truth
        return tuple(
            AnswerRange(
                low=float(answers[part].min()),
                high=float(answers[part].max()),
                rows=len(part),
                mae=float(np.abs(off[part]).mean()),
                bias=float(off[part].mean()),
                held=None if away is None else float((np.abs(off[part]) <= away).mean()),
            )
            for part in np.array_split(np.argsort(answers, kind="stable"), _PARTS)
        )

    def _worst(self) -> tuple[NumberError, ...]:
        """Return the rows that are farthest off, the farthest first."""
        order = np.argsort(-np.abs(self.truth - self.answers), kind="stable")[:WORST_ERRORS].tolist()
        return tuple(
            NumberError(
                row=self.rows[i],
                text=self.texts[i],
                truth=float(self.truth[i]),
                prediction=float(self.answers[i]),
            )
            for i in order
        )

    def input_share(
        self, places: IntArray, answers: Array, without: Array, seed: int, **named: Any
    ) -> NumberInputShare | None:
        right = self.truth[places]
        spread = float(((right - right.mean()) ** 2).sum())
        if not spread:
            return None
        own, others = ((each - right) ** 2 for each in (answers, without))
        return NumberInputShare(
            r2=1 - float(own.sum()) / spread,
            r2_without=1 - float(others.sum()) / spread,
            gain=difference_in_r2(own, others, right, **self.draws_from(seed)),
            **named,
        )

    def change(
        self,
        places: IntArray,
        before: Array,
        after: Array,
        lengths: Sequence[int],  # noqa: ARG002
    ) -> tuple[dict[str, Any], list[tuple[int, Any, Any]]]:
        moved, truth = np.abs(after - before), self.truth[places]
        figures = {
            "moved": bootstrap_mean(by_text(places, moved), **self.draws_from(SEED)),
            "mae_before": float(by_text(places, np.abs(before - truth)).mean()),
            "mae_after": float(by_text(places, np.abs(after - truth)).mean()),
        }
        farthest = np.argsort(-moved, kind="stable")[:EXAMPLES].tolist()
        return figures, [(i, float(before[i]), float(after[i])) for i in farthest if moved[i]]

    def compared(self, other: NumberedRows, **about: Any) -> NumberModelComparison:
        metrics = [measure_numbers(each.answers, each.truth, **each.draws) for each in (self, other)]
        off = [np.abs(each.answers - each.truth) for each in (self, other)]
        squares = off[0] ** 2, off[1] ** 2
        difference = difference_in_r2(*squares, self.truth, **self.draws_of(squares[0] - squares[1]))
        gap = off[1] - off[0]

        def most(chosen: list[int]) -> tuple[Nearer, ...]:
            return tuple(
                Nearer(
                    row=self.rows[i],
                    text=shown(self.texts[i]),
                    truth=float(self.truth[i]),
                    answer_a=float(self.answers[i]),
                    answer_b=float(other.answers[i]),
                )
                for i in chosen[:WORST_ERRORS]
            )

        order = np.argsort(-gap, kind="stable").tolist()
        a_nearer, b_nearer = int((gap > 0).sum()), int((gap < 0).sum())
        return NumberModelComparison(
            r2_a=metrics[0].r2,
            r2_b=metrics[1].r2,
            mae_a=metrics[0].mae,
            mae_b=metrics[1].mae,
            difference=difference,
            a_nearer=a_nearer,
            b_nearer=b_nearer,
            most_a_nearer=most(order[:a_nearer]),
            most_b_nearer=most(order[::-1][:b_nearer]),
            verdict=_verdict(about["model_a"], about["model_b"], metrics[1].r2.value, difference, len(self.truth)),
            **about,
        )

    @classmethod
    def of(cls, trained: TrainedModel, table: Table, truth: Array, **about: Any) -> Self:
        target = number_of(trained.config.target)
        return super().of(trained, table, truth, away=target.distance(target.held_out(trained.metrics)), **about)


def why_not_compared(ours: FolderConfig, theirs: FolderConfig, *, fold: bool) -> str:  # noqa: ARG001
    names = {number_of(config.target).column.casefold() for config in (ours, theirs)}
    return "only models of the same number can be compared" if len(names) > 1 else ""


def in_words(config: FolderConfig) -> str:
    return f"the number {quoted(number_of(config.target).column)}"


def truth_of(config: FolderConfig, table: Table) -> Numbers:  # noqa: ARG001
    return numbers_of(table)


def label_figures(config: FolderConfig, truth: Array) -> LabelFigures:  # noqa: ARG001
    return LabelFigures("number", {"number": truth})


def notes(config: FolderConfig, table: Table, truth: Array) -> list[str]:
    """Say it if the measured numbers are those of another column than the learned ones, or of another range."""
    check_varies(truth, table, so="R² cannot be measured. Add rows with other numbers")
    target, column, found = number_of(config.target), table.label_column, list[str]()
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
            f"warning: {outside:.0%} of the numbers, {measured}, are far outside of those of training, {learned}. "
            "Is it the same number, in the same unit?"
        )
    return found


def answered(
    predictor: Predictor, table: Table, truth: Array, scores: Mapping[str, Array], **about: Any
) -> NumberedRows:
    target = number_of(predictor.trained.config.target)
    far = {asked: target.distance(predictor.held_out, asked) for asked in ASKED}
    distances = {asked: distance for asked, distance in far.items() if distance is not None}
    values = target.values(predictor.weighed(scores, len(truth)))
    others = {name: each for name, each in scores.items() if name != "rules"}
    about |= {"unruled": target.values(predictor.weighed(others, len(truth)))}
    return NumberedRows.of(predictor.trained, table, truth, values=values, distances=distances, **about)


def readers(predictor: Predictor, scores: Mapping[str, Array], rows: int) -> Alone:  # noqa: ARG001
    """Return the answers of each reader, with the bias and weight that fit the held-out rows of training."""
    config = predictor.trained.config
    names, target = config.weights if config.readers is None else config.readers.root, number_of(config.target)
    alone = {name: target.alone(predictor.held_out, name, scores[name]) if name in scores else None for name in names}
    for name, reader in predictor.trained.readers.items():
        if name in scores and not reader.weighed:
            alone[name] = target.values(target.decided({name: scores[name].astype(target.precision)}))
    return {} if len(names) < 2 or all(answers is None for answers in alone.values()) else alone


def baselines(config: FolderConfig, groups: Array | None) -> list[Baseline]:  # noqa: ARG001
    return [MeanBaseline(), RidgeBaseline(groups)]


def next_steps(found: NumberEvaluation, config: FolderConfig, folder: Path) -> tuple[NextStep, ...]:  # noqa: ARG001
    return number_steps(found)


def _verdict(name: str, other: str, theirs: float, difference: Estimate, rows: int) -> str:
    """Say which of two explains more of the variance, or that the rows do not show it.

    Args:
        theirs: R² of the other one.
    """
    first, second = share(difference.value + theirs), share(theirs)
    if lost := difference.high < 0:
        (name, first), (other, second), difference = (other, second), (name, first), difference.turned
    figures = f"R² {first} against {second} ({both_in_words(difference)})"
    on = f"on {counted(rows, 'row')}: {figures}."
    if lost or difference.low > 0:
        return f"{name} is better than {other} {on}"
    return f"No clear winner between {name} and {other} {on}"


def explained(predictor: Predictor, errors: Sequence[Any]) -> tuple[Any, ...]:  # noqa: ARG001
    return tuple(errors)
