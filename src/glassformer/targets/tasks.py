"""What is to be learned from a label column: classes, several labels per text, ordered classes, or a number.

The kind of answer is chosen here, before there is a target. So this file, `SourceConfig.wanted` and `read_sources`
compare names of tasks; everything after them asks the target.
"""

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from glassformer.data.addresses import local_path
from glassformer.data.column_kinds import kind_of
from glassformer.data.columns import Wanted, find_columns
from glassformer.data.known import KNOWN, check_source
from glassformer.data.labels import how_to_order, in_order
from glassformer.data.rows import ROWS_PER_BATCH, batches_of
from glassformer.data.several_labels import SEPARATORS, json_list
from glassformer.data.shards import files_of
from glassformer.data.sources import SourceConfig
from glassformer.data.table import tidy_values
from glassformer.errors import UsageError, quoted

MOST_STEPS = 10  # whole numbers of a scale such as 1 to 5, or 0 to 10, are ordered classes
_FEWEST_CELLS, _LEAST_SHARE = 5, 0.05  # cells with a separator
_IN_OTHER_CELLS, _ALONE = 0.9, 0.5  # shares of the parts of such cells
_PERHAPS_IN_OTHERS, _PERHAPS_ALONE = 0.5, 0.3  # the same where several labels are possible
LEVELS = (" > ", " / ", "::", ">", "/")
_IN_LEVELS = 0.9  # share of the cells with a separator


class Found(NamedTuple):
    """A source with its task, and a sentence that says what was found. None if there is nothing to say."""

    source: SourceConfig
    said: str | None


def find_task(source: SourceConfig, *, by_content: bool = False) -> Found:
    """Decide the task by the settings, and where they leave it open, by the first rows of the label column.

    Args:
        by_content: whether numbers may be learned as a number or as ordered classes. Without it they are classes.

    Raises:
        UsageError: the settings contradict each other, or the table cannot be read.
    """
    found = _found(source, by_content=by_content)
    if found.source.task == "number" and source.fold_labels:
        raise UsageError("`fold_labels=True` is for models that answer with labels; leave it out to learn a number")
    return found


def _found(source: SourceConfig, *, by_content: bool) -> Found:
    _check(source)
    if source.train in KNOWN or source.multilabel is not None:
        return Found(source, None)
    if source.task in ("classes", "ordered", "number") or source.order is not None or source.levels is not None:
        named = source.task or ("classes" if source.levels is not None else "ordered")
        return Found(source.model_copy(update={"task": named}), None)
    check_source(source.train)
    batches = batches_of(files_of(local_path(source.train)), rows_per_batch=ROWS_PER_BATCH)
    sample = next(batches)
    asked = "|" if source.task == "several" else None
    wanted: Wanted = {**source.wanted, "multilabel": asked}
    columns = find_columns(sample, source.train, labelled=True, **wanted)
    assert columns.label is not None
    values = sample[columns.label]
    place = f"column {quoted(columns.label)}"
    if separator := separator_of(values):
        how = "lists of them" if _are_lists(values) else f"them with {separator!r} in between"
        said = f"task: several labels per text ({place} holds {how}). `task='classes'` takes each cell as one class"
        return Found(source.model_copy(update={"task": "several", "multilabel": separator}), said)
    if source.task == "several":
        raise UsageError(
            f"{source.train}, {place}: it is not clear what separates several labels; name it: `multilabel='|'`"
        )
    if levels := levels_separator_of(values):
        said = (
            f"task: classes with levels ({place} holds paths with {levels!r} in between). `task='classes'` takes each "
            "cell as a class without levels"
        )
        return Found(source.model_copy(update={"task": "classes", "levels": levels}), said)
    if separator := separator_of(values, perhaps=True):
        said = f"task: classes. Perhaps {place} holds several labels with {separator!r} in between: is it"
        return Found(source, f"{said} `multilabel={separator!r}`?")
    return _by_content(source, values, place, rest=batches) if by_content else Found(source, None)


def _by_content(source: SourceConfig, values: pl.Series, place: str, *, rest: Iterator[pl.DataFrame]) -> Found:
    values = tidy_values(values).drop_nulls()
    kind = kind_of(values)
    if kind not in ("whole numbers", "decimal numbers"):
        names = in_order(values.cast(pl.String).unique().to_list())
        hint = ""
        if 3 <= len(names) <= MOST_STEPS:
            all_are_known = next(rest, None) is None
            hint = how_to_order(names) if all_are_known else "`task='ordered'` lists them all, for you to sort"
            hint = f". If they have an order, {hint}"
        return Found(source, f"task: classes ({place} holds {kind}){hint}")
    distinct = sorted({float(value) for value in values.unique() if _is_number(value)})
    if kind == "whole numbers" and distinct == [0.0, 1.0]:
        return Found(source, f"task: classes ({place} holds 0 and 1). `task='number'` learns a number")
    if kind == "whole numbers" and is_scale(distinct):
        said = (
            f"task: ordered classes ({place} holds {len(distinct)} whole numbers from {distinct[0]:g} to "
            f"{distinct[-1]:g}). `task='number'` learns a number, `task='classes'` classes without an order"
        )
        return Found(source.model_copy(update={"task": "ordered"}), said)
    said = f"task: a number ({place} holds {kind}). `task='classes'` takes each number as a class"
    return Found(source.model_copy(update={"task": "number"}), said)


def is_scale(distinct: list[float]) -> bool:
    """Whether these are the steps of a scale: from 3 to 11 whole numbers that follow each other."""
    return 3 <= len(distinct) <= MOST_STEPS + 1 and distinct[-1] - distinct[0] == len(distinct) - 1


def separator_of(values: pl.Series, *, perhaps: bool = False) -> str | None:
    """Return what separates several labels in a cell, if the evidence is clear, or None.

    Of the parts of the cells with a separator, nearly all must occur in several
    different cells, and half of them also alone, as in "drama|comedy", "drama" and "comedy|crime". Cells that are
    lists are read with any separator.

    Args:
        perhaps: whether less evidence will do: half of the parts occur in several cells, and some of them alone or in
            several places, as "comedy" in "drama|comedy" and "comedy|crime". The second level of a path does not.
    """
    if _are_lists(values):
        return SEPARATORS[0]
    if values.dtype != pl.String or (perhaps and kind_of(values) != "words"):
        return None
    cells = Counter(cell for cell in values.drop_nulls().str.strip_chars() if cell)
    return next((separator for separator in SEPARATORS if _separates(separator, cells, perhaps=perhaps)), None)


def _are_lists(values: pl.Series) -> bool:
    if values.dtype != pl.String:
        return values.dtype == pl.List
    cells = [cell for cell in values.drop_nulls().unique() if cell.strip()]
    return bool(cells) and all(json_list(cell) is not None for cell in cells)


def _separates(separator: str, cells: Counter[str], *, perhaps: bool) -> bool:
    if all(cell.endswith(separator) for cell in cells):  # some forms write it behind each label
        cells = Counter({cell.removesuffix(separator): rows for cell, rows in cells.items()})
    split = {cell: [part.strip() for part in cell.split(separator)] for cell in cells if separator in cell}
    rows = sum(cells[cell] for cell in split)
    if rows < (2 if perhaps else max(_FEWEST_CELLS, _LEAST_SHARE * cells.total())):
        return False
    if any("" in parts or len(set(parts)) < len(parts) for parts in split.values()):
        return False
    found = Counter(part for parts in split.values() for part in parts)
    places = Counter(part for part, _ in {each for parts in split.values() for each in zip(parts, itertools.count())})
    alone = [part for part in found if part in cells or (perhaps and places[part] > 1)]
    elsewhere = [part for part in found if found[part] + (part in cells) > 1]
    most, some = (_PERHAPS_IN_OTHERS, _PERHAPS_ALONE) if perhaps else (_IN_OTHER_CELLS, _ALONE)
    return len(elsewhere) >= most * len(found) and len(alone) >= some * len(found)


def levels_separator_of(values: pl.Series) -> str | None:
    """Return what separates the levels of labels, if the evidence is clear, or None.

    Of the cells, nine in ten must hold it. The names of the first level must have two labels each on average, and
    most of them must not be names of other levels, as in "food/fruit", "food/bread" and "drink/tea".
    """
    if values.dtype != pl.String or kind_of(values) != "words":
        return None
    cells = Counter(cell for cell in values.drop_nulls().str.strip_chars() if cell)
    return next((separator for separator in LEVELS if _makes_levels(separator, cells)), None)


def _makes_levels(separator: str, cells: Counter[str]) -> bool:
    paths = {cell: [part.strip() for part in cell.split(separator)] for cell in cells if separator in cell}
    if sum(cells[cell] for cell in paths) < max(_FEWEST_CELLS, _IN_LEVELS * cells.total()):
        return False
    if any("" in parts for parts in paths.values()):
        return False
    first, lower = {parts[0] for parts in paths.values()}, {part for parts in paths.values() for part in parts[1:]}
    return len(first) > 1 and len(paths) >= 2 * len(first) and 2 * len(first & lower) < len(first)


def _check(source: SourceConfig) -> None:
    task, several, ordered = source.task, source.multilabel is not None, source.order is not None
    if source.levels == "":
        raise UsageError("`levels=` is empty; name what stands between two levels: `levels=' > '`")
    if source.levels is not None and (several or ordered or task not in (None, "classes")):
        raise UsageError(f"`levels={source.levels!r}` is for classes, one for each text; leave it out")
    if several and task not in (None, "several"):
        raise UsageError(f"`task={task!r}` and `multilabel={source.multilabel!r}` contradict each other; leave one out")
    if ordered and task not in (None, "ordered"):
        raise UsageError(f"`task={task!r}` has no order of classes; leave out `order=`, or choose `task='ordered'`")
    if ordered and several:
        raise UsageError("several labels per text have no order; leave out `order=` or `multilabel=`")


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
