"""The rows that the training of a number held out: how far off their answers are, and which numbers are doubtful."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from glassformer.data.arrays import Array, Numbers
from glassformer.data.numbers import numbers_of
from glassformer.data.table import Table
from glassformer.data.wording import figure
from glassformer.evaluation.measured import Alone, MeasuredRows
from glassformer.evaluation.verdict import TWO_READERS, capital
from glassformer.prediction.answering_config import TRANSFORMER, named, of_several
from glassformer.prediction.label_doubts import DoubtedNumber, NumberDoubts
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.kept_rows import KeptNumbers
from glassformer.targets.number.evaluation import NumberedRows
from glassformer.targets.number.evaluation_report import in_unit
from glassformer.targets.number.evaluation_result import NumberEvaluation
from glassformer.targets.number.held_out import HeldOutNumbers
from glassformer.targets.number.labels import far_off
from glassformer.targets.number.target import COVERAGE, number_of
from glassformer.training.readers import TOO_LITTLE
from glassformer.training.report import HeldOut

MOST_LISTED = 20
_RESAMPLES = 500  # a quarter of those of `evaluate`, so that 20,000 rows take seconds
_FEWEST_ROWS = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Off:
    """How far each held-out row is off: truth − answer, in the unit of the number, if all is fitted without this row.

    Attributes:
        model: (rows,)
        alone: (rows,) for each reader alone, if there are two.
        ranked: (rows,) answers whose weights were fitted to all rows, on any scale. Without its row, an answer moves
            away from the truth, which can turn the order of answers that hardly differ.
        unruled: (rows,) without the rules. None if there are none.
    """

    model: Numbers
    alone: Mapping[str, Numbers]
    ranked: Numbers
    unruled: Numbers | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutNumberRows(HeldOut):
    """The rows that were held out from training, and how far each of them is off."""

    off: Off

    def measured(self, trained: TrainedModel, table: Table, which: Array) -> NumberedRows:
        truth, ranked = numbers_of(table), {TWO_READERS: self.off.ranked[which]}
        values, off = truth - self.off.model[which], self.off.unruled
        about = {"ranked": ranked, "unruled": None if off is None else truth - off[which]}
        return NumberedRows.of(trained, table, truth, values=values, **about, folds=self.folds, resamples=_RESAMPLES)

    def alone(self, trained: TrainedModel, rows: MeasuredRows, which: Array) -> Alone:  # noqa: ARG002
        return {name: rows.truth - own[which] for name, own in self.off.alone.items()}

    def chose(self, trained: TrainedModel) -> tuple[list[str], str]:
        target = number_of(trained.config.target)
        distance = target.distance(target.held_out(trained.metrics))
        said = (
            ""
            if distance is None
            else f" An interval of {COVERAGE:.0%} reaches {in_unit(distance)} to each side of an answer."
        )
        what = "the weights of the readers" if self.off.alone else "how answers are scaled"
        return [what, "the width of the intervals"], said

    def weighed(self, trained: TrainedModel) -> str | None:
        held_out = number_of(trained.config.target).held_out(trained.metrics)
        if held_out is None or not self.off.alone:
            return None
        said = readers_in_words(held_out, trained.config.weights)
        return f"{capital(said)}."

    def told(self, found: NumberEvaluation) -> NumberEvaluation:
        return found if found.metrics.r2.low > 0 else found.model_copy(update={"by_answer": ()})  # see `Off.ranked`

    def kept(self, *, numbered: bool) -> KeptNumbers:
        """Return some rows with the answers to them. `numbered`: their numbers are those of one table."""
        frame = self.table.frame[self.places]
        truth = numbers_of(replace(self.table, frame=frame))
        return KeptNumbers.of(truth - self.off.model, frame["row"].to_numpy() if numbered else None)

    def doubts(self) -> NumberDoubts | None:
        """Return the rows whose errors are far off (see `far_off`).

        Returns:
            None if there are too few rows to say so.
        """
        off, numbers = self.off.model, numbers_of(self.table)[self.places]
        found = far_off(off)
        if len(off) < _FEWEST_ROWS or found is None:
            return None
        rows, labels = self.table.frame["row"].to_numpy()[self.places], self.table.frame["label"]
        return NumberDoubts(
            source=self.table.source,
            rows=len(off),
            doubtful=len(found),
            listed=tuple(
                DoubtedNumber(
                    row=int(rows[at]),
                    label=str(labels[int(self.places[at])]),
                    answer=float(f"{numbers[at] - off[at]:.6g}"),
                )
                for at in found[:MOST_LISTED]
            ),
        )


def readers_in_words(found: HeldOutNumbers, weights: Mapping[str, float]) -> str:
    """Say which reader answers, by R² on held-out rows."""
    said = ", ".join(f"{named(name)} alone {figure(alone.r2)}" for name, alone in found.readers.items())
    others = " and ".join(named(name) for name, weight in weights.items() if weight and name != TRANSFORMER)
    said = said or f"{others} alone {figure(found.r2)}"  # rules by themselves
    if found.cut_short:
        return f"{said}. {TOO_LITTLE}, so the model answers by {others} alone"
    if TRANSFORMER not in found.readers:
        return f"{said}. No transformer was trained, so the model answers by {others}"
    if len(found.readers) == 1:
        return said
    if not weights[TRANSFORMER]:
        return f"{said}. These rows do not show that the transformer helps, so the model answers by {others} alone"
    if not others:
        return f"{said}. No other reader adds to it, so the model answers by the transformer alone"
    return f"{said}, {of_several([*found.readers], weights)} together {figure(found.r2)}"
