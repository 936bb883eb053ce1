"""Measure a model on the rows that its training held out, for the report in its folder."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from glassformer.data.arrays import Array, some_of
from glassformer.data.table import Table
from glassformer.data.wording import counted
from glassformer.evaluation.evaluate import evaluate
from glassformer.evaluation.evaluate_model import data_summary, dropped_rows, model_summary
from glassformer.evaluation.measured import Alone, MeasuredRows, doubts_of, doubts_of_encoder, measures_of
from glassformer.evaluation.next_steps import measure_it
from glassformer.evaluation.report import render
from glassformer.evaluation.weak_spots import NextStep
from glassformer.prediction.model_folder import TrainedModel
from glassformer.training.preparation import Prepared
from glassformer.training.readers import LearnedReaders

MOST_MEASURED, MOST_ANSWERS = 20_000, 400_000
"""Rows, and rows times scores. More of them would cost time and memory, and hardly change the figures."""

Worded = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOut(ABC):
    """The rows that were held out from training, and what was answered to them.

    Attributes:
        places: their places in `table`, in the order of the answers.
        folds: how many models answered them. 1 if they are validation rows.
    """

    known: ClassVar[bool] = True
    """Whether their right answers are known."""

    table: Table
    places: Array
    folds: int = 1

    @staticmethod
    def where(prepared: Prepared, learned: LearnedReaders | None) -> dict[str, Any]:
        """Return which rows a run held out: `table`, `places` and `folds`."""
        if prepared.splits.validation is None and learned is not None:
            places = np.concatenate([fold.held_out for fold in learned.folds])
            return {"table": prepared.splits.train, "places": places, "folds": len(learned.folds)}
        table = prepared.splits.validation or prepared.splits.train
        return {"table": table, "places": np.arange(table.frame.height)}

    @abstractmethod
    def measured(self, trained: TrainedModel, table: Table, which: Array) -> MeasuredRows:
        """Return some of the rows with the answers of the model."""

    @abstractmethod
    def alone(self, trained: TrainedModel, rows: MeasuredRows, which: Array) -> Alone:
        """Return the answers of each reader alone, also of one that the model does not ask."""

    @abstractmethod
    def chose(self, trained: TrainedModel) -> tuple[list[str], str]:
        """Return what the rows were used for beside the epoch, and what else is said of that, after a space."""

    @abstractmethod
    def weighed(self, trained: TrainedModel) -> str | None:
        """Say how the readers were weighed, if there are several."""

    def told(self, found: Any) -> Any:
        """Return the figures without those that mean nothing on held-out rows."""
        return found


def training_page(
    trained: TrainedModel, held_out: HeldOut, prepared: Prepared, folder: Path, worded: Worded, *, texts: bool
) -> str | None:
    """Return the report of the held-out rows, and add its next steps to the metrics of the model.

    Args:
        texts: show the texts of wrong answers and of doubtful labels. Otherwise their rows are named by number.

    Returns:
        None if the labels of the rows are not known.
    """
    if not held_out.known:
        return None
    found = worded(measure_held_out(trained, held_out, prepared, folder, texts=texts))
    trained.metrics["next_steps"] = [step.model_dump() for step in found.next_steps]
    return render(found, trained.metrics["history"], of_training=True)


def measure_held_out(
    trained: TrainedModel, held_out: HeldOut, prepared: Prepared, folder: Path, *, texts: bool = False
) -> Any:
    """Measure a model on its held-out rows, or on some of them if there are many. No baseline is trained."""
    config, count = trained.config, len(held_out.places)
    which = some_of(count, min(MOST_MEASURED, MOST_ANSWERS // config.n_classes), config.seed)
    table = replace(held_out.table, frame=held_out.table.frame[held_out.places[which]])
    rows = held_out.measured(trained, table, which)
    drawn = f"of {counted(count, 'held-out row')}, {len(which):,} drawn at random were measured for this report"
    splits = prepared.splits
    found = evaluate(
        rows,
        data=data_summary(
            table, "held out from training" if splits.validation is not None else "cross-validation", config
        ),
        model=model_summary(trained, folder),
        readers=held_out.alone(trained, rows, which),
        fit_seconds=config.training_seconds,
        dropped=[dropped for each in splits.tables for dropped in dropped_rows(each)],
        notes=[
            *held_out.table.notes,
            *splits.notes,
            *doubts_of_encoder(config),
            *([drawn] if len(which) < count else []),
        ],
    )
    return _told(held_out.told(found), held_out, trained, prepared, folder, texts=texts)


def _told(
    found: Any, held_out: HeldOut, trained: TrainedModel, prepared: Prepared, folder: Path, *, texts: bool
) -> Any:
    """Return the figures with what they mean, and what to do next."""
    config, part = trained.config, measures_of(trained.config)
    read_as = config.remembered.read_as
    chosen, more = held_out.chose(trained)
    said = {"verdict": used_for(chosen, prepared) + more, "reader_verdict": held_out.weighed(trained)}
    errors = [each if texts else each.model_copy(update={"text": ""}) for each in found.worst_errors]
    added = read_as is not None and bool(read_as.added)
    about = {
        "duel": found.duel.model_copy(update=said),
        "drift": prepared.drift,
        "worst_errors": () if added else tuple(errors),  # the numbers of added rows are those of several tables
        **doubts_of(trained, prepared.splits if texts else "no texts are to be shown"),
    }
    found = found.model_copy(update=about)
    steps = [_shown(step, found) for step in part.next_steps(found, config, folder)]
    return found.model_copy(update={"next_steps": (measure_it(folder), *steps)})


def _shown(step: NextStep, found: Any) -> NextStep:
    """Return a step without a link to a section that is not there."""
    return step if found.duel.readers or step.section != "duel" else step.model_copy(update={"section": None})


def used_for(what: list[str], prepared: Prepared) -> str:
    """Say what the held-out rows were used for beside the epoch, and what that means."""
    measure = "Only glassformer evaluate on rows that the model has not seen gives the honest figure."
    if prepared.splits.validation is None:
        return (
            "Each row was answered by a model that had not learned it, but all rows together were used to choose "
            f"{' and '.join(what)}. {measure} The intervals are wider than those of as many validation rows, because "
            "the models share most of their rows (Nadeau & Bengio 2003)."
        )
    by_epoch = not prepared.recipe.training.without_transformer
    parts, expect = (["the epoch", *what], " So expect a little less on new texts.") if by_epoch else (what, "")
    chosen = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    return f"The model did not learn these rows, but they were used to choose {chosen}.{expect} {measure}"
