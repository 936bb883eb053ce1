"""Search for settings within a time, and measure the choice on rows that the search never saw.

The search is nested: some rows are held out before it begins. It trains and rates its trials on the other rows alone.
At the end, the recipe as it is and the best settings are trained on all of these as `train` does, and answer the
held-out rows. The lowest loss of many trials is too low by chance; the figure on the held-out rows is not.
"""

import math
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.data.arrays import Array
from glassformer.data.files import check_no_links, is_empty, write_aside
from glassformer.data.sources import Sources, Task
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.evaluation.intervals import worth_of_groups
from glassformer.experiments.judging import Judge
from glassformer.experiments.keeper import keep, measured_here, read_kept
from glassformer.experiments.pages import search_page
from glassformer.experiments.search.budget import Clock
from glassformer.experiments.search.effects import setting_effects
from glassformer.experiments.search.halving import Halving, Searched, SearchWatcher, Setup
from glassformer.experiments.search.recipe_file import recipe_toml
from glassformer.experiments.search.result import Choice, Measured, SearchedData, SearchResult, Trial
from glassformer.experiments.search.rows import FOLDS, all_rows, inner_parts, outer_cuts, units_of, usable_rows
from glassformer.experiments.search.space import Candidate, read_space, value_in
from glassformer.experiments.search.trial import FITTED, Answered, measure
from glassformer.experiments.search.words import described, notes_on, verdict_on
from glassformer.experiments.watching import Listener
from glassformer.readers.folds import Rows
from glassformer.targets.parts import part_of
from glassformer.training.loop import NotANumberError
from glassformer.training.out_folder import check_flags
from glassformer.training.preparation import check_duration
from glassformer.training.recipe import Recipe

RUNS_FOLDER, RESULT_FILE, PAGE_FILE, RECIPE_FILE = "trials", "search.json", "search.html", "recipe.toml"
_BEGUN = "search-of.json"  # in the folder of trials: what was begun


def search(
    sources: Sources,
    recipe: Recipe,
    out: Path,
    *,
    minutes: float,
    task: Task | None = None,
    over: Sequence[str] = (),
    given: Collection[str] = (),
    resume: bool = False,
    overwrite: bool = False,
    device: str = "cpu",
    command: str = "",
    watcher: SearchWatcher,
) -> SearchResult:
    """Search, measure the choice, and write the result, its page and the recipe into `out`.

    Args:
        over: `key=value,value,…`: the settings to search, in place of `space.VALUES`.
        given: settings of the recipe that the user has set, by dotted name. They are not searched.
        resume: continue the unfinished search in `out`. Data, recipe, settings and minutes must be the same.

    Raises:
        UsageError: `out` is taken, the table is too small, the time is too short, or a setting does not fit.
        InterruptedTraining, KeyboardInterrupt: on Ctrl-C. Finished trials are kept in `out`.
    """
    clock = Clock(60 * _checked(minutes, recipe))
    space = read_space(over, recipe, given)
    seed, judge = recipe.training.seed, part_of(task, "experiments")
    check_out(out, resume=resume, overwrite=overwrite)
    table = usable_rows(sources, judge, seed=seed)
    cuts = outer_cuts(table, recipe.validation, judge, seed=seed)
    begun = {
        "minutes": minutes,
        "target": [judge.kind, table.order and list(table.order)],
        "space": space,
        "recipe": recipe.model_dump(mode="json", exclude={"description"}),
        "rows": fingerprint(table),
        "validation rows": None if sources.validation is None else fingerprint(sources.validation),
        "device": device,
    }
    runs = out / RUNS_FOLDER
    if overwrite:
        _clear(out)
    _begin(runs, begun)
    outcomes = []
    try:
        for number, cut in enumerate(cuts):
            rest = replace(sources, train=cut.searched, test=None, unlabelled=())
            setup = Setup(
                judge=judge,
                recipe=recipe,
                space=space,
                parts=inner_parts(cut.searched, sources.validation, judge, seed=seed),
                folder=runs,
                device=device,
                final=0.0 if cut.unseen is None else _final(recipe, rest),
                earlier=number,
                later=len(cuts) - number - 1,
            )
            outcomes.append(_searched(setup, rest, cut.unseen, clock, watcher))
    except UsageError:
        if not resume and not outcomes:  # finished trials are kept
            _clear(out)
        raise
    made = {"minutes": minutes, **measured_here(device, command)}
    found = _result(judge, recipe, space, table, sources, outcomes, clock, made)
    write_aside(out / RECIPE_FILE, found.recipe)
    write_aside(out / PAGE_FILE, search_page(found))
    for fitted in runs.glob(f"{FITTED}*"):
        shutil.rmtree(fitted)
    write_aside(out / RESULT_FILE, found.model_dump_json(indent=2) + "\n")
    return found


def is_unfinished(out: Path) -> bool:
    """Return whether a folder holds a search that has not ended."""
    return (out / RUNS_FOLDER / _BEGUN).is_file() and not (out / RESULT_FILE).is_file()


def check_out(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Check the folder of a search.

    Raises:
        UsageError: it holds a finished search, an unfinished one that is not to be resumed, or something else; or there
            is nothing to resume.
    """
    check_flags(resume=resume, overwrite=overwrite)
    check_no_links(out / RUNS_FOLDER)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; `out=` must be a folder")
    finished, unfinished = (out / RESULT_FILE).is_file(), is_unfinished(out)
    if overwrite and (finished or unfinished):
        return
    if finished:
        raise UsageError(f"{out} holds a finished search; choose another `out=`, or `overwrite=True` to replace it")
    if unfinished and not resume:
        raise UsageError(f"{out} holds an unfinished search; `resume=True` continues it, `overwrite=True` replaces it")
    if resume and not unfinished:
        raise UsageError(f"{out} holds no unfinished search; leave out `resume=True`")
    if not unfinished and out.is_dir() and not is_empty(out):
        raise UsageError(f"{out} is a folder with other files in it; choose an `out=` that is new or empty")


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    """What the search of one cut found, and the answers to the rows that it never saw."""

    searched: Searched
    choice: Candidate
    unseen: Table | None
    found: Answered | None
    default: Answered | None


def _searched(setup: Setup, sources: Sources, unseen: Table | None, clock: Clock, watcher: SearchWatcher) -> _Outcome:
    """Search within these rows, and measure the recipe as it is and the best settings on the unseen ones."""
    if unseen is None:
        searched = Halving(setup, clock, watcher).search()
        return _Outcome(searched=searched, choice=searched.best, unseen=None, found=None, default=None)
    watcher.on_message(
        f"{unseen.frame.height:,} of {sources.train.frame.height + unseen.frame.height:,} rows are held out from the "
        "search, to measure what it chose"
    )

    answers: dict[int, Answered] = {}

    def measured(candidate: Candidate) -> Answered:
        if candidate.number in answers:
            return answers[candidate.number]
        watcher.on_rung(f"training on all rows of the search: {candidate.name}")
        watcher.on_run(candidate.name)
        how: dict[str, Any] = {"device": setup.device, "listener": Listener(watcher.on_share)}
        found, kept = measure(setup.judge, candidate.recipe, sources, unseen, setup.folder, **how)
        clock.earlier += found.seconds if kept else 0.0
        answers[candidate.number] = found
        return found

    searched = Halving(replace(setup, measure=measured), clock, watcher).search()
    first, choice = searched.candidates[0], searched.best
    default = measured(first)
    try:
        found = measured(choice)
    except NotANumberError:  # it did not diverge on fewer rows
        watcher.on_message(f"{choice.name}: training diverged on all rows of the search, so it is not chosen")
        choice, found = first, default
    return _Outcome(searched=searched, choice=choice, unseen=unseen, found=found, default=default)


def _final(recipe: Recipe, sources: Sources) -> float:
    """Return the time of training as `train` does, as a multiple of that of a trial with all steps."""
    validation, rows = recipe.validation, sources.train.frame.height
    learned = (FOLDS - 1) / FOLDS
    if sources.validation is not None:
        return 1.0
    if validation.fraction and rows >= validation.min_rows:
        return (1 - validation.fraction) / learned
    return (FOLDS if recipe.model.beside else 0) + 1 / learned


def _result(
    judge: Judge,
    recipe: Recipe,
    space: dict[str, list[Any]],
    table: Table,
    sources: Sources,
    outcomes: Sequence[_Outcome],
    clock: Clock,
    made: Mapping[str, Any],
) -> SearchResult:
    """Put together what the searches found. The last one chose the settings."""
    last, seed = outcomes[-1], recipe.training.seed
    outer = [each for each in outcomes if each.unseen is not None]
    unseen = all_rows([each.unseen for each in outer if each.unseen is not None])
    units, grouped = units_of(unseen), "group" in table.frame.columns
    figures = _figures(judge, outer, unseen, seed=seed, units=units, grouped=grouped)
    trials = _trials(space, last.searched)
    result = SearchResult(
        data=SearchedData(
            source=table.source,
            rows=table.frame.height,
            inputs=None if table.inputs is None else table.inputs.in_words,
            sha256=fingerprint(table),
            unseen_rows=len(units),
            unseen_groups=len(np.unique(units)) if grouped else None,
            folds=len(outer),
            rated_on="parts of the other rows" if sources.validation is None else sources.validation.source,
        ),
        seconds=round(clock.used, 1),
        space=space,
        trials=trials,
        best=last.choice.number,
        parts=last.searched.parts,
        loss=judge.loss,
        choices=tuple(
            Choice(name=each.choice.name, settings=each.choice.settings, unseen_rows=each.unseen.frame.height)
            for each in outcomes
            if each.unseen is not None
        ),
        figures=figures,
        recommended="default",
        verdict="",
        effects=setting_effects(space, trials),
        notes=(),
        recipe="",
        seed=seed,
        **made,
    )
    if result.best and result.deciding.better and not any(figure.worse for figure in figures):
        result = result.model_copy(update={"recommended": "found"})
    toml = recipe_toml(last.choice.recipe, described(result))
    notes = notes_on(result, judge.never_held_out(table, unseen), _steps(outcomes))
    return result.model_copy(update={"verdict": verdict_on(result), "notes": notes, "recipe": toml})


def _steps(outcomes: Sequence[_Outcome]) -> list[tuple[float, str]]:
    """Return the seconds of each training, and what it was for."""
    measured = [each for outcome in outcomes for each in (outcome.default, outcome.found) if each is not None]
    return [(run.seconds, "a trial") for outcome in outcomes for run in outcome.searched.runs] + [
        (each.seconds, "a training on all rows of the search, which is not stopped") for each in measured
    ]


def _figures(
    judge: Judge, outer: Sequence[_Outcome], unseen: Table, *, seed: int, units: Rows, grouped: bool
) -> tuple[Measured, ...]:
    """Return the figures of the choices and of the recipe as it is."""
    answered = [[getattr(each, name).rows for each in outer] for name in ("found", "default")]
    found, default = ({key: np.concatenate([rows[key] for rows in of]) for key in of[0]} for of in answered)

    def draws(values: Array) -> dict[str, Any]:
        return {"seed": seed, "worth": worth_of_groups(values, units)}

    return tuple(
        Measured(
            **figure.model_dump(),
            found=judge.estimate(figure.key, one, unseen, **draws(one)),
            default=judge.estimate(figure.key, other, unseen, **draws(other)),
            difference=judge.difference(figure.key, one, other, unseen, **draws(one.astype(float) - other)),
            p=None if grouped or figure is not judge.figures[0] else judge.p(found, default),
        )
        for figure in judge.figures
        for one, other in [(found[figure.key], default[figure.key])]
    )


def _trials(space: Mapping[str, Sequence[Any]], searched: Searched) -> tuple[Trial, ...]:
    """Return all candidates that were trained, the best first."""
    trials = []
    for candidate in searched.candidates:
        runs = tuple(run for run in searched.runs if run.candidate == candidate.number)
        if not runs:
            continue
        loss = searched.losses.get(candidate.number, math.inf)
        trials.append(
            Trial(
                number=candidate.number,
                name=candidate.name,
                settings=candidate.settings,
                values={key: value_in(candidate.recipe, key) for key in space},
                first_loss=next((run.loss for run in runs if run.share < 1), None),
                loss=loss if math.isfinite(loss) else None,
                dropped=searched.dropped.get(candidate.number),
                parameters=max(run.parameters for run in runs),
                seconds=round(sum(run.seconds for run in runs), 1),
                failed=next((run.failed for run in runs if run.failed), None),
                runs=runs,
            )
        )

    def order(trial: Trial) -> tuple[float, ...]:
        """By the loss, then by how far it came."""
        losses = (math.inf if loss is None else loss for loss in (trial.loss, trial.first_loss))
        loss, first_loss = losses
        return loss, -len(trial.runs), first_loss

    return tuple(sorted(trials, key=order))


def _checked(minutes: Any, recipe: Recipe) -> float:
    check_duration(minutes, such_as=60)
    if recipe.training.without_transformer:
        raise UsageError(
            "`training.epochs=0` trains no transformer, and the search compares trainings of it; leave it out"
        )
    return float(minutes)


def _begin(runs: Path, begun: dict[str, Any]) -> None:
    """Keep what is searched, or compare it with what was begun."""
    kept = read_kept(runs / _BEGUN, dict)
    if kept is None:
        keep(runs / _BEGUN, begun)
        return
    if differ := [name for name, value in begun.items() if kept.get(name) != value]:
        raise UsageError(
            f"{runs.parent}: the unfinished search has other {' and '.join(differ)}; continue it with the same "
            "command, or start again with `overwrite=True`"
        )


def _clear(out: Path) -> None:
    """Remove what a search wrote."""
    shutil.rmtree(out / RUNS_FOLDER, ignore_errors=True)
    for name in (RESULT_FILE, PAGE_FILE, RECIPE_FILE):
        (out / name).unlink(missing_ok=True)
