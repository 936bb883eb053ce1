"""How the later rows of a split by time differ from the earlier ones: in their labels, their length and their words."""

from dataclasses import replace

from glassformer.data.table import Table
from glassformer.evaluation.drift import DriftTable
from glassformer.evaluation.drift_table import Side, drift_table, some_rows
from glassformer.targets.number.held_out import Mean
from glassformer.targets.target import Followed
from glassformer.training.preparation import Prepared
from glassformer.training.unlike import learn_seen


def with_drift(prepared: Prepared) -> Prepared:
    """Return the run with what is said of how the later rows differ, if its rows are split by time."""
    splits = prepared.splits
    if prepared.recipe.validation.time is None or splits.validation is None:
        return prepared
    drift = _compare(prepared, splits.validation)
    return replace(prepared, drift=drift, splits=replace(splits, notes=(*splits.notes, drift.sentence)))


def _compare(prepared: Prepared, later: Table) -> DriftTable:
    earlier, later = some_rows(prepared.splits.train), some_rows(later)
    seen, shares = learn_seen(earlier, None)
    unseen = seen.unseen_shares(later.frame["text"].to_list())
    before, after = (
        Side(texts=table.frame["text"], labels=prepared.label_figures(table)) for table in (earlier, later)
    )
    followed = Followed("", unseen.tolist(), Mean.of(shares))
    return drift_table(before, after, followed, len(shares), ("the earlier ones", "the later rows"))
