"""What a model folder says about the rows that were held out from training: how they are answered, and which labels
are doubtful."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np

from glassformer.data.arrays import Array, FloatArray
from glassformer.data.table import Table
from glassformer.evaluation.intervals import worth_of_folds, worth_of_groups
from glassformer.evaluation.measured import Alone, MeasuredRows
from glassformer.evaluation.metrics import correct_rows
from glassformer.evaluation.verdict import capital
from glassformer.labels.doubts import doubtful
from glassformer.labels.findings import knows_little
from glassformer.prediction.answering_config import TRANSFORMER, Readers
from glassformer.prediction.calibration import fit_temperature
from glassformer.prediction.label_doubts import DoubtedLabel, LabelDoubts
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.labels.evaluation import LabelledRows
from glassformer.targets.labels.held_out import HeldOutAnswers
from glassformer.targets.labels.target import Labels
from glassformer.targets.labels.training_readers import each_alone
from glassformer.targets.probabilities import probabilities
from glassformer.targets.review import Thresholds
from glassformer.training.preparation import Prepared
from glassformer.training.readers import LearnedReaders
from glassformer.training.report import HeldOut
from glassformer.training.run import Ended

MOST_LISTED = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutLabels(HeldOut):
    """The rows that were held out from training, and what each reader said about them.

    Attributes:
        labels: the right labels. None if they are not known.
        readers: the weights of the readers. None if the model is a transformer alone.
        scores: the logits (rows, n_classes) of each reader that answered.
    """

    labels: Array | None
    readers: Readers | None
    scores: Mapping[str, FloatArray]

    @classmethod
    def of(
        cls,
        prepared: Prepared,
        readers: Readers | None,
        learned: LearnedReaders | None,
        transformer: FloatArray | None,
    ) -> Self | None:
        """Return the held-out rows of a run, or None if nothing is held out."""
        if learned is None and transformer is None:
            return None
        return cls(
            **cls.where(prepared, learned),
            labels=prepared.known_labels if learned is None else learned.truth,
            readers=readers,
            scores=({} if learned is None else learned.held_out)
            | ({} if transformer is None else {TRANSFORMER: transformer}),
        )

    @property
    def known(self) -> bool:  # type: ignore[override] # not the same for all rows
        return self.labels is not None

    def worth(self, probs: FloatArray, target: Labels) -> float:
        """Return the share of the rows that tells something of its own (see `Draws`)."""
        assert self.labels is not None
        frame = self.table.frame
        groups = frame["group"].to_numpy()[self.places] if "group" in frame.columns else None
        return worth_of_folds(self.folds) * worth_of_groups(~correct_rows(probs, self.labels, target.rule), groups)

    def measured(self, trained: TrainedModel, table: Table, which: Array) -> LabelledRows:
        assert self.labels is not None
        thresholds = Thresholds.model_validate(trained.metrics["held_out_answers"]["thresholds"])
        scores = self.by_reader(which)
        about = {"logits": reduce(np.add, scores.values()), "by_rules": scores.get("rules")}
        return LabelledRows.of(trained, table, self.labels[which], thresholds=thresholds, folds=self.folds, **about)

    def alone(self, trained: TrainedModel, rows: MeasuredRows, which: Array) -> Alone:  # noqa: ARG002
        if self.readers is None or self.labels is None:
            return {}
        alone: dict[str, Array | None] = {}
        multilabel = trained.config.target.multilabel
        for reader, settings in self.readers.root.items():
            found, probs = self.scores.get(reader), None
            if found is not None:
                weighted, temperature = settings.alone(found * (settings.weight or 1)), settings.temperature
                if not settings.weight:
                    temperature = fit_temperature(found, self.labels, multilabel=multilabel)
                probs = probabilities(weighted[which], temperature=temperature, multilabel=multilabel)
            alone[reader] = probs
        return alone

    def chose(self, trained: TrainedModel) -> tuple[list[str], str]:
        return [*(["the weights of the readers"] if trained.config.readers else []), "the calibration"], ""

    def weighed(self, trained: TrainedModel) -> str | None:
        if trained.config.readers is None:
            return None
        said = each_alone(trained.config.readers, trained.metrics["readers"])
        return f"{capital(said)}."

    def by_reader(self, which: Array | None = None) -> dict[str, FloatArray]:
        """Return the weighted logits of each reader that answered. Their sum is that of the model.

        Args:
            which: the numbers of some of the rows. None means all of them.
        """
        some = {name: found if which is None else found[which] for name, found in self.scores.items()}
        if self.readers is None:
            return some
        return {name: self.readers[name].weight * found for name, found in some.items()}


def held_out_figures(held_out: HeldOutLabels | None, run: Ended, target: Labels) -> dict[str, Any]:
    """Return the entries of `metrics.json` about held-out rows. They are empty if nothing is held out."""
    if held_out is None:
        return {}
    total = reduce(np.add, held_out.by_reader().values())
    answers = target.answers({"": total}, None, empty=np.zeros(len(total), np.bool_))
    added = run.source is not None and bool(run.source.added)
    numbers = None if added else held_out.table.frame["row"].to_numpy()[held_out.places]
    found = HeldOutAnswers.of(answers, labels=held_out.labels, costs=target.costs, numbers=numbers, **run.seen[1])
    figures: dict[str, Any] = {"held_out_answers": found.model_dump()}
    if held_out.labels is not None:
        figures["held_out_worth"] = held_out.worth(answers.probs, target)
    if not added and (doubts := _label_doubts(held_out, run.prepared, answers.probs)):
        figures["label_doubts"] = doubts.model_dump(mode="json")
    return figures


def _label_doubts(held_out: HeldOutLabels, prepared: Prepared, probs: FloatArray) -> LabelDoubts | None:
    """Compare the labels of the held-out rows with the answers to them, by confident learning (see `doubtful`).

    Returns:
        None if the rows have several labels, or none of their own (those of a student are its teacher's), or if the
        model is hardly better than always the most frequent label: then its doubts say little.
    """
    labels = held_out.labels
    if labels is None or prepared.labels.multilabel or "teacher" in prepared.record:
        return None
    most_frequent = float(np.bincount(labels).max() / len(labels))
    if knows_little(float((probs.argmax(axis=1) == labels).mean()), most_frequent):
        return None
    numbers = held_out.table.frame["row"].to_numpy()[held_out.places]
    found, names = doubtful(probs, labels), prepared.labels.names
    listed = [
        DoubtedLabel(
            row=int(numbers[at]),
            label=names[labels[at]],
            suggested=names[suggested],
            probability=round(float(probs[at, suggested]), 6),
        )
        for at, suggested in zip(found.rows[:MOST_LISTED], found.suggested, strict=False)
    ]
    return LabelDoubts(source=held_out.table.source, rows=len(labels), doubtful=len(found.rows), listed=tuple(listed))
