"""How the later rows of a split by time differ from the earlier ones: in their labels, their length and their words."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from glassformer.data.arrays import Array
from glassformer.data.table import Table, text_keys
from glassformer.data.wording import counted, short
from glassformer.evaluation.drift import FEWEST, Compared, compared
from glassformer.targets.number.held_out import Mean
from glassformer.targets.target import Followed
from glassformer.training.preparation import Prepared
from glassformer.training.unlike import learn_seen

_MOST_ROWS = 20_000  # of each side
_SHOWN = 5


def with_drift(prepared: Prepared) -> Prepared:
    """Return the run with a note on how the later rows differ, if its rows are split by time."""
    splits = prepared.splits
    if prepared.recipe.validation.time is None or splits.validation is None:
        return prepared
    return replace(
        prepared, splits=replace(splits, notes=(*splits.notes, _drift_in_words(prepared, splits.validation)))
    )


def changes(prepared: Prepared, later: Table) -> list[Compared]:
    """Compare the shares of labels or the numbers, the words per text and the share of unseen words of both sides."""
    earlier, later = _some(prepared.splits.train), _some(later)
    seen, shares = learn_seen(earlier, None)
    unseen = seen.unseen_shares(later.frame["text"].to_list())
    before, after = (prepared.label_figures(table) for table in (earlier, later))
    before |= {"words per text": _lengths(earlier), "unseen words and pairs": shares}
    after |= {"words per text": _lengths(later), "unseen words and pairs": unseen}
    return [
        compared(Followed(name, after[name].tolist(), Mean.of(values)), len(values)) for name, values in before.items()
    ]


def _some(table: Table) -> Table:
    return replace(table, frame=table.frame.gather_every(-(-table.frame.height // _MOST_ROWS)))


def _lengths(table: Table) -> Array:
    return text_keys(table.frame["text"]).str.count_matches(r"\S+").cast(pl.Float64).to_numpy()


def _drift_in_words(prepared: Prepared, later: Table) -> str:
    if later.frame.height < FEWEST:
        return f"{counted(later.frame.height, 'later row is', 'later rows are')} too few to tell how later rows differ"
    *of_labels, length, unseen = changes(prepared, later)
    moved = sorted((each for each in of_labels if each.moved), key=_size, reverse=True)
    more = [f"{len(moved) - _SHOWN:,} more labels"] if len(moved) > _SHOWN else []
    said = [*map(_shown, moved[:_SHOWN]), *more, *(_shown(each) for each in (length, unseen) if each.moved)]
    if not said:
        return "the later rows are like the earlier ones in their labels, their length and their words"
    return f"the later rows differ from the earlier ones by more than chance explains: {', '.join(said)}"


def _size(each: Compared) -> float:
    return abs(each.recent - (each.held_out or 0))


def _shown(each: Compared) -> str:
    before, after = each.held_out or 0, each.recent
    if each.name in ("number", "words per text"):
        return f"{each.name} {short(before)} → {short(after)}"
    return f"{each.name} {before:.0%} → {after:.0%}"
