"""What a search found, in words."""

import math
from collections.abc import Sequence

from glassformer.data.wording import about, counted, listed
from glassformer.errors import quoted
from glassformer.evaluation.verdict import p_value
from glassformer.experiments.search.result import Measured, SearchResult
from glassformer.experiments.search.rows import FEW_ROWS

_FEW_TRIALS, _FEW_UNSEEN, _FEW_GROUPS = 10, 200, 20
_NAMED = 5
_ON_TIME = 1.05


def verdict_on(found: SearchResult) -> str:
    """Say whether the best settings are better than the recipe as it is, and what to train with."""
    rows, first = f"{counted(found.data.unseen_rows, 'row')} that the search never saw", found.figures[0]
    if all(not choice.settings for choice in found.choices) and not found.best:
        return (
            f"No trial was better than the recipe as it is: keep it. Its {first.name} on {rows} is "
            f"{_with_interval(first)}."
        )
    gained = found.deciding.difference
    if gained.low == gained.high == 0:
        return (
            f"The best settings give the same answers as the recipe as it is to {rows}: keep the recipe as it is. Its "
            f"{first.name} on them is {_with_interval(first)}."
        )
    figures = ", ".join(map(_against, found.figures))
    if found.recommended == "found":
        return f"The best settings answer better than the recipe as it is on {rows}: {figures}. Train with them."
    if not found.best:
        return (
            f"On all rows, no trial was better than the recipe as it is: keep it. What the searches without a part of "
            f"the rows chose, measured on {rows}: {figures}."
        )
    if any(figure.worse for figure in found.figures):
        return (
            f"The best settings answer worse than the recipe as it is on {rows}: {figures}. They seemed better by "
            "chance; keep the recipe as it is."
        )
    return (
        f"The best settings are not clearly better than the recipe as it is on {rows}: {figures}. Keep the recipe as "
        "it is."
    )


def described(found: SearchResult) -> str:
    """Describe the recipe that the search writes."""
    on = f"a search on {found.data.source}"
    if not found.best:
        return f"The recipe as it is: no trial of {on} was better."
    if found.recommended == "found":
        return f"The best settings of {on}."
    return f"The settings with the lowest loss in {on}. They are not clearly better than the recipe as it is."


def notes_on(found: SearchResult, never: Sequence[str], steps: Sequence[tuple[float, str]]) -> tuple[str, ...]:
    """Return what a reader must know beside the figures.

    Args:
        steps: the seconds of each training, and what it was for.
    """
    notes = []
    if found.seconds > _ON_TIME * 60 * found.minutes:
        seconds, step = max(steps)
        notes.append(
            f"the search took {about(found.seconds)} in place of {about(60 * found.minutes)}; the longest step was "
            f"{step} ({about(seconds)})"
        )
    if found.data.folds > 1:
        notes.append(
            f"the table has fewer than {FEW_ROWS:,} rows, so the search was repeated without each of "
            f"{found.data.folds} parts, and what it chose was measured on that part; the settings below are those of a "
            "last search on all rows"
        )
    if found.data.unseen_rows < _FEW_UNSEEN:
        notes.append(f"{counted(found.data.unseen_rows, 'held-out row')} show only large differences")
    groups = found.data.unseen_groups
    if groups is not None:
        few = "; of so few groups they are too narrow" if groups < _FEW_GROUPS else ""
        notes.append(f"rows of a group are alike ({counted(groups, 'group')}), so intervals may count fewer rows{few}")
    if never:
        names = listed([*map(quoted, never)], _NAMED)
        notes.append(f"no held-out row has the label {names}: it has too few rows to hold one out")
    combinations = math.prod(map(len, found.space.values()))
    if len(found.trials) < min(_FEW_TRIALS, combinations):
        notes.append(f"{counted(len(found.trials), 'trial')} in this time; more minutes try more settings")
    if failed := sum(trial.failed is not None for trial in found.trials):
        notes.append(f"{counted(failed, 'trial')} could not be trained; the list of trials says why")
    return tuple(notes)


def _against(figure: Measured) -> str:
    difference, low, high = map(figure.signed, figure.difference.model_dump().values())
    chance = "" if figure.p is None else f", {p_value(figure.p)}"
    return (
        f"{figure.name} {figure.written(figure.found.value)} against {figure.written(figure.default.value)} "
        f"(difference {difference}, 95% interval {low} to {high}{chance})"
    )


def _with_interval(figure: Measured) -> str:
    value, low, high = map(figure.written, figure.default.model_dump().values())
    return f"{value} (95% interval {low} to {high})"
