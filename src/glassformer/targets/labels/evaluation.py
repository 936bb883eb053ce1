"""How a model that answers with labels is measured. `number/evaluation.py` measures a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from glassformer.data.arrays import Array, DoubleArray, IntArray
from glassformer.data.inputs import shown, texts_alone
from glassformer.data.labels import conflicting_rows
from glassformer.data.spellings import label_key
from glassformer.data.table import Table
from glassformer.data.wording import counted, listed
from glassformer.evaluation import drift_table
from glassformer.evaluation.baselines import MajorityBaseline, TfidfBaseline
from glassformer.evaluation.drift import LabelFigures
from glassformer.evaluation.intervals import bootstrap_mean, mcnemar, share_right
from glassformer.evaluation.measured import Alone, Baseline, MeasuredRows, Outcome, by_text
from glassformer.evaluation.metrics import confidences, confusion_counts, correct_rows, measure, reliability
from glassformer.evaluation.ranking import class_curves, class_thresholds, ranking
from glassformer.evaluation.ranks import ranks_of
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import Calibration, Duel
from glassformer.evaluation.review import review
from glassformer.evaluation.robustness import EXAMPLES, SEED
from glassformer.evaluation.rules import MeasuredRules, measure_rules
from glassformer.evaluation.slices import find_slices
from glassformer.evaluation.verdict import verdict
from glassformer.evaluation.weak_spots import DoubtfulRows, Robustness, TextChange
from glassformer.evaluation.worst_errors import explain_worst, worst_errors
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.predictor import Predictor
from glassformer.targets.costs import Costs
from glassformer.targets.labels.evaluation_comparison import (
    Flip,
    LabelModelComparison,
    which_is_more_accurate,
)
from glassformer.targets.labels.evaluation_costs import cost_figures
from glassformer.targets.labels.evaluation_levels import measure_levels
from glassformer.targets.labels.evaluation_result import (
    DoubtfulLabel,
    LabelComparison,
    LabelContestant,
    LabelEvaluation,
    LabelInputShare,
)
from glassformer.targets.labels.evaluation_steps import label_steps
from glassformer.targets.labels.target import Labels
from glassformer.targets.probabilities import given_by, one_hot, probabilities
from glassformer.targets.review import Thresholds

DOUBTED = ("label_doubts", DoubtfulRows[DoubtfulLabel])
"""The field of the evaluation with doubtful rows, and their record."""
next_steps, explained = label_steps, explain_worst
_LABELS_NAMED = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledRows(MeasuredRows):
    """The measured rows. Truth are class numbers (n,), or with several labels per text multi-hot (n, n_classes).

    Attributes:
        target: what the answers are. If they follow costs, those of the baselines do too.
        logits: (n, n_classes) those of the model, not divided by the temperature, which validation rows gave.
        by_rules: (n, n_classes) what they add to the logits. None if it is not known.
        thresholds: those that held-out rows of training gave. None if the model does not know them.
    """

    record: ClassVar = LabelEvaluation
    contestants: ClassVar = LabelContestant
    readers_in_words: ClassVar = {
        "counting": "the model’s logistic regression on n-grams of words and characters",
        "body": "the model’s logistic regression on the mean of the vectors of words",
        "encoder": "the model’s logistic regression on the vectors of a pre-trained encoder",
        "rules": "the rules of the model’s file, without its other readers",
        "transformer": "the model without the readers beside its transformer",
    }
    duels: ClassVar = Duel[LabelContestant, LabelComparison]
    changes: ClassVar = Robustness[TextChange]

    target: Labels
    logits: Array
    thresholds: Thresholds | None = None
    by_rules: Array | None = None

    @cached_property
    def answers(self) -> DoubleArray:
        return self.target.values({"": self.logits})

    @cached_property
    def wrong(self) -> Array:
        return ~self.right(self.answers)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each label."""
        return self.target.names

    @cached_property
    def costs(self) -> Costs | None:
        """What wrong answers cost, if the answers follow that."""
        return self.target.rule

    def right(self, answers: Array, places: IntArray | None = None) -> Array:
        truth = self.truth if places is None else self.truth[places]
        return correct_rows(answers, truth, self.costs)

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        about: Any = (outcome.answers, self.truth, self.names)
        return {
            "metrics": measure(*about, costs=self.costs, **self.draws_of(self.right(outcome.answers))),
            "ranking": ranking(*about),
        }

    def compare(
        self, model: LabelContestant, other: LabelContestant, answers: Array, *, alike: bool
    ) -> LabelComparison:
        correct, other_correct = self.right(self.answers), self.right(answers)
        differences = correct.astype(np.int8) - other_correct.astype(np.int8)
        draws = self.draws_of(differences)
        difference = bootstrap_mean(differences, **draws)
        only_model, only_other, p = mcnemar(correct, other_correct, worth=draws["worth"])
        return LabelComparison(
            baseline=other.name,
            difference=difference,
            only_model_right=only_model,
            only_baseline_right=only_other,
            mcnemar_p=p,
            verdict=verdict(model, other, difference, p, alike=alike),
        )

    def looked_into(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        probs, names, target = self.answers, self.names, self.target
        about: Any = (probs, self.truth, names)
        confusion = None if target.multilabel else confusion_counts(probs, self.truth, self.costs)
        by_name = {each.name: each.answers for each in outcomes}
        return {
            "class_names": names,
            "multilabel": target.multilabel,
            "calibration": self._calibration(),
            "confusion": None if confusion is None else tuple(tuple(map(int, line)) for line in confusion),
            "costs": cost_figures(target, probs, self.truth, outcomes, **self.draws),
            "class_curves": class_curves(*about),
            "ranks": ranks_of(by_name, self.truth, costs=self.costs, **self.draws) if target.ordered else (),
            "levels": None if target.tree is None else measure_levels(target.tree, by_name, self.truth, **self.draws),
            "class_thresholds": class_thresholds(*about),
            "rules": self._measured_rules(),
            "review": review(*about, thresholds=self.thresholds, costs=self.costs, **self.draws),
            "slices": find_slices(
                [texts_alone(text) for text in self.texts],
                self.right(probs),
                self.columns,
                worth=self.worth,
                worth_of_groups=self.worth_of_groups,
            ),
            "worst_errors": worst_errors(probs, self.truth, self.texts, self.rows, names, self.costs),
        }

    def _measured_rules(self) -> MeasuredRules | None:
        if self.rules is None or self.by_rules is None:
            return None
        without = self.target.values({"": self.logits - self.by_rules})
        return measure_rules(self.rules, self.texts, self.truth, self._given(self.answers), self._given(without))

    def _calibration(self) -> Calibration:
        raw = probabilities(self.logits, multilabel=self.target.multilabel)
        return Calibration(
            temperature=self.target.temperature,
            before=reliability(*confidences(raw, self.truth)),
            after=reliability(*confidences(self.answers, self.truth)),
        )

    def input_share(self, places: IntArray, answers: Array, without: Array, seed: int, **named: Any) -> LabelInputShare:
        right, right_without = self.right(answers, places), self.right(without, places)
        return LabelInputShare(
            accuracy=float(right.mean()),
            accuracy_without=float(right_without.mean()),
            gain=bootstrap_mean(right.astype(np.int8) - right_without, **self.draws_from(seed)),
            **named,
        )

    def change(
        self, places: IntArray, before: Array, after: Array, lengths: Sequence[int]
    ) -> tuple[dict[str, Any], list[tuple[int, Any, Any]]]:
        was, now = self._given(before), self._given(after)
        differs = (was != now).any(axis=1)
        figures = {
            "answers_changed": self._mean_share(by_text(places, differs)),
            "accuracy_before": float(by_text(places, self.right(before, places)).mean()),
            "accuracy_after": float(by_text(places, self.right(after, places)).mean()),
        }
        shortest = _shortest(lengths, places, differs)
        return figures, [(i, self._names(was[i]), self._names(now[i])) for i in shortest]

    def _given(self, probs: Array) -> Array:
        """Return which labels are given: (texts, n_classes)."""
        return given_by(probs, multilabel=self.target.multilabel, costs=self.costs)

    def _names(self, given: Array) -> tuple[str, ...]:
        return tuple(self.names[int(c)] for c in np.flatnonzero(given))

    def _mean_share(self, shares: Array) -> Estimate:
        """Return the mean over texts. If it is 0 or 1, its interval is that of `share_right`."""
        draws = self.draws_from(SEED)
        if 0 < shares.mean() < 1:
            return bootstrap_mean(shares, **draws)
        return share_right(shares > 0, **draws)

    def compared(self, other: LabelledRows, **about: Any) -> LabelModelComparison:
        both, names = (self, other), (about["model_a"], about["model_b"])
        right = [each.right(each.answers) for each in both]
        macro_f1 = [
            measure(each.answers, each.truth, each.names, costs=each.costs, **each.draws).macro_f1 for each in both
        ]
        accuracies = [share_right(each, **rows.draws) for each, rows in zip(right, both, strict=True)]
        differences = right[0].astype(np.int8) - right[1].astype(np.int8)
        draws = self.draws_of(differences)
        difference = bootstrap_mean(differences, **draws)
        p, f1 = (
            mcnemar(*right, worth=draws["worth"])[2],
            dict(zip(names, (each.value for each in macro_f1), strict=True)),
        )
        given = [["|".join(each._names(hot)) for hot in each._given(each.answers)] for each in both]
        truth = one_hot(self.truth, self.target.width)

        def flips(chosen: Array) -> tuple[Flip, ...]:
            return tuple(
                Flip(
                    row=self.rows[i],
                    text=shown(self.texts[i]),
                    truth="|".join(self._names(truth[i])),
                    answer_a=given[0][i],
                    answer_b=given[1][i],
                )
                for i in np.flatnonzero(chosen).tolist()
            )

        return LabelModelComparison(
            accuracy_a=accuracies[0],
            accuracy_b=accuracies[1],
            macro_f1_a=macro_f1[0],
            macro_f1_b=macro_f1[1],
            difference=difference,
            only_a_right=flips(right[0] & ~right[1]),
            only_b_right=flips(right[1] & ~right[0]),
            mcnemar_p=p,
            verdict=which_is_more_accurate(f1, accuracies[0], difference, p, len(self.truth)),
            **about,
        )


def why_not_compared(ours: FolderConfig, theirs: FolderConfig, *, fold: bool) -> str:
    """Return why two models cannot be compared. Empty if they can."""
    labels, others = ours.label_set, theirs.label_set
    if (set(labels.names), labels.multilabel) == (set(others.names), others.multilabel):
        return ""
    keys = [sorted(map(label_key, each.names)) for each in (labels, others)]
    if keys[0] != keys[1] or labels.multilabel != others.multilabel:
        return "only models of the same labels can be compared"
    return "" if fold else "the labels differ only by case or white space; `fold_labels=True` takes them for the same"


def in_words(config: FolderConfig) -> str:
    """Say what a model answers with."""
    return listed(config.label_set.names, _LABELS_NAMED)


def truth_of(config: FolderConfig, table: Table) -> Array:
    """Return the right answers of a table. Raises `UsageError` if it has others than the model."""
    return config.label_set.encode(table)


def label_figures(config: FolderConfig, truth: Array) -> LabelFigures:
    """Return the figures of right answers that are compared with those of other rows."""
    return drift_table.label_figures(config.label_set.names, truth)


def notes(config: FolderConfig, table: Table, truth: Array) -> list[str]:
    """Return sentences about a table and its right answers."""
    notes = []
    if conflicts := conflicting_rows(table):
        occur = counted(len(conflicts), "text occurs", "texts occur")
        notes.append(f"{occur} with different labels, so no model can get every row right")
    if not config.target.multilabel and len(set(truth.tolist())) == 1:
        only = config.label_set.names[int(truth[0])]
        notes.append(f"{only!r} is the only class in this table: the accuracy is the recall of this class")
    return notes


def answered(
    predictor: Predictor, table: Table, truth: Array, scores: Mapping[str, Array], **about: Any
) -> LabelledRows:
    """Return rows of a table, from the scores of each reader without a weight (`Answering.scores`)."""
    weighed = predictor.weighed(scores, len(truth))
    about |= {"logits": np.sum(list(weighed.values()), axis=0), "by_rules": weighed.get("rules")}
    thresholds = None if predictor.held_out is None else predictor.held_out.thresholds
    return LabelledRows.of(predictor.trained, table, truth, thresholds=thresholds, **about)


def readers(predictor: Predictor, scores: Mapping[str, Array], rows: int) -> Alone:
    """Return the answers of each reader alone. Nothing if there is one reader."""
    config = predictor.trained.config
    multilabel = config.target.multilabel
    if config.readers is None:
        return {}
    weighed = predictor.weighed(scores, rows)
    return {
        reader: probabilities(settings.alone(weighed[reader]), temperature=settings.temperature, multilabel=multilabel)
        if settings.weight
        else None
        for reader, settings in config.readers.root.items()
    }


def baselines(config: FolderConfig, groups: Array | None) -> list[Baseline]:
    """Return the baselines, not yet fitted."""
    return [MajorityBaseline(config.n_classes), TfidfBaseline(config.n_classes, groups=groups)]


def _shortest(lengths: Sequence[int], places: IntArray, differs: Array) -> list[int]:
    """Return the first change that turned the answer, for each of the shortest such texts."""
    first = {int(places[i]): int(i) for i in np.flatnonzero(differs)[::-1]}
    return [first[place] for place in sorted(first, key=lambda place: (lengths[first[place]], place))[:EXAMPLES]]
