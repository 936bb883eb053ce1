"""Compare variants on the same data with the same budget and several seeds, and find differences beyond noise.

Every run trains for the whole budget of steps or seconds. The schedule is stretched over the budget. Then the run keeps
the weights of the best epoch by the validation rows (`training.best_epoch_by`), as `train` does. These rows are held
out from the rows to learn from. The last weights would instead rate a variant by how far it overfits when the budget is
too long for it, and `train` does not keep those. `validation.fraction=0` keeps the last weights. The measured rows
never influence the choice (see `plan.cut_rows`).
"""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import JsonValue

from glassformer.data.files import is_empty, write_aside
from glassformer.data.sources import Sources, Task
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.evaluation.verdict import share
from glassformer.experiments.keeper import measured_here
from glassformer.experiments.pages import comparison_page
from glassformer.experiments.variants.comparison_result import ComparedData, VariantComparison, VariantSummary
from glassformer.experiments.variants.effects import (
    SAME,
    Difference,
    Outcomes,
    corrected_together,
    differences,
    key_effects,
)
from glassformer.experiments.variants.notes import notes_on
from glassformer.experiments.variants.plan import Cut, Plan, check_buildable, cut_rows, key_name, value_name
from glassformer.experiments.variants.variant_run import (
    ComparisonWatcher,
    VariantRun,
    read_run,
    run_variant,
    seconds_per_step,
)
from glassformer.experiments.watching import run_file, with_training
from glassformer.targets.parts import part_of

RUNS_FOLDER, RESULTS_FILE, REPORT_FILE = "runs", "results.json", "report.html"
MOST_RUNS = 1_000
_COVERS = {
    False: (
        "the variation over seeds and over measured rows, because each seed measures on its own rows; they are wider "
        "than usual, because the training rows of the seeds overlap (Nadeau & Bengio 2003)"
    ),
    True: (
        "the variation over seeds and over measured rows, as two crossed factors, but not over training rows, which "
        "are the same in all runs"
    ),
}


def compare_variants(
    plan: Plan,
    sources: Sources,
    out: Path,
    *,
    task: Task | None = None,
    test: Table | None = None,
    device: str = "cpu",
    command: str = "",
    watcher: ComparisonWatcher,
) -> VariantComparison:
    """Train every variant with every seed, keep each run in `out`, and report what the runs show.

    Runs that `out` holds already are not trained again. All variants train with a seed before the next seed begins. So
    a stopped comparison is balanced.

    Args:
        test: measure on these rows instead of a fifth of the training rows.

    Raises:
        UsageError: `out` is taken, the rows are too few, a variant cannot be built, or there are too many runs.
        InterruptedTraining: on Ctrl-C. Finished runs are kept.
    """
    prepare_folder(out)
    validation, judge = plan.variants[0].recipe.validation, part_of(task, "experiments")
    cuts = {seed: cut_rows(judge, sources, seed, validation, test) for seed in plan.seeds}
    todo = [
        (variant, recipe, cuts[seed], run_file(out / RUNS_FOLDER, judge, recipe, device, cuts[seed].identity))
        for seed in plan.seeds
        for variant in plan.variants
        for recipe in [with_training(variant.recipe, seed=seed)]
    ]
    kept = [read_run(file, variant) for variant, _, _, file in todo]
    if (left := kept.count(None)) > MOST_RUNS:
        raise UsageError(
            f"{len(plan.variants):,} variants with {len(plan.seeds)} seeds need {left:,} runs, but a comparison may "
            f"have at most {MOST_RUNS:,}; vary fewer keys, or fewer values of each"
        )
    check_buildable(plan.variants, cuts[plan.seeds[0]])
    seconds = _estimate(plan, cuts[plan.seeds[0]], left, device) if left else 0.0
    watcher.on_plan(len(todo), len(todo) - left, seconds)
    runs = []
    for (variant, recipe, cut, file), before in zip(todo, kept, strict=True):
        run = before
        if run is None:
            watcher.on_run(f"{variant.name}, seed {recipe.training.seed}")
            run = run_variant(variant, recipe, cut, file, device=device, watcher=watcher)
            watcher.on_done(run, judge.figures[0].name)
        runs.append(run)
    how: dict[str, Any] = {"same_rows": test is not None, "device": device, "command": command}
    found = comparison_of(plan, runs, sources.train, list(cuts.values()), **how)
    write_aside(out / RESULTS_FILE, found.model_dump_json(indent=2) + "\n")
    write_aside(out / REPORT_FILE, comparison_page(found))
    return found


def prepare_folder(out: Path) -> None:
    """Create the folder of a comparison, and refuse a folder that holds something else.

    Raises:
        UsageError: `out` is a file, or a folder with other files in it.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; `out=` must be a folder")
    if out.is_dir() and not is_empty(out) and not (out / RUNS_FOLDER).is_dir():
        raise UsageError(f"{out} is a folder with other files in it; choose a new or empty folder for `out=`")
    (out / RUNS_FOLDER).mkdir(parents=True, exist_ok=True)


def comparison_of(
    plan: Plan,
    runs: list[VariantRun],
    table: Table,
    cuts: list[Cut],
    *,
    same_rows: bool,
    device: str,
    command: str = "",
) -> VariantComparison:
    """Return everything that the runs show. Runs are ordered by seed, and within a seed by the order of the plan."""
    grid = [runs[number :: len(plan.variants)] for number in range(len(plan.variants))]
    rows = min(run.rows for run in runs)
    latest = not same_rows and plan.variants[0].recipe.validation.time is not None
    learned, judge = min(run.training_rows for run in runs), cuts[0].judge  # without validation rows
    outcomes = Outcomes(
        values=tuple(np.array([run.values for run in of_seed]) for of_seed in zip(*grid, strict=True)),
        same_rows=same_rows or latest,
        overlap=rows / learned,
        lowest=judge.lowest,
        better=judge.better,
    )
    keys = key_effects(
        outcomes,
        [(key_name(key), [value_name(key, value, values) for value in values]) for key, values in plan.keys.items()],
        plan.models,
    )
    names = [variant.name for variant in plan.variants]
    pairs = keys[0].differences if len(keys) == 1 else corrected_together(differences(outcomes, outcomes.values, names))
    best = max(zip(names, grid, strict=True), key=lambda line: statistics.mean(run.mean for run in line[1]))[0]
    variants = _summaries(plan, grid, outcomes, best, {frozenset((pair.better, pair.worse)): pair for pair in pairs})
    nothing = _learned_nothing(variants, cuts, plan.budget)
    if nothing:
        keys = tuple(key.model_copy(update={"verdict": ""}) for key in keys)
    return VariantComparison(
        data=_compared_data(table, cuts, rows, same_rows=same_rows, latest=latest),
        figure=judge.figures[0].name,
        varied={key_name(key): list(values) for key, values in plan.keys.items()},
        recipe=plan.variants[0].recipe.model_dump(mode="json"),
        seeds=plan.seeds,
        budget=plan.budget,
        variants=variants,
        keys=keys,
        best=best,
        verdict=nothing or _verdict(variants, best, judge.better),
        covers=_COVERS[same_rows or latest],
        notes=notes_on(plan, runs, table, judge, same_rows=same_rows),
        runs=tuple(run.model_copy(update={"values": ()}) for run in runs),
        **measured_here(device, command),
    )


def _compared_data(table: Table, cuts: Sequence[Cut], rows: int, *, same_rows: bool, latest: bool) -> ComparedData:
    measured_on = (
        f"{cuts[0].measured.source}, the same rows for all"
        if same_rows
        else "the latest fifth of the rows, the same for all"
        if latest
        else "a random fifth of the rows, different for each seed"
    )
    return ComparedData(
        source=table.source,
        rows=table.frame.height,
        sha256=fingerprint(table),
        measured_on=measured_on,
        measured_rows=rows,
        measured_sha256=fingerprint(cuts[0].measured) if same_rows or latest else None,
    )


def _estimate(plan: Plan, cut: Cut, left: int, device: str) -> float | None:
    """Estimate the seconds of all runs, from the budget or from timed steps of the first and the last variant."""
    training = plan.variants[0].recipe.training
    if training.max_seconds is not None:
        return left * training.max_seconds
    assert training.max_steps is not None
    timed = [seconds_per_step(variant.recipe, cut, device) for variant in (plan.variants[0], plan.variants[-1])]
    known = [seconds for seconds in timed if seconds is not None]
    return left * training.max_steps * statistics.mean(known) if known else None


def _summaries(
    plan: Plan,
    grid: list[list[VariantRun]],
    outcomes: Outcomes,
    best: str,
    pairs: dict[frozenset[str], Difference],
) -> tuple[VariantSummary, ...]:
    """Return the variants, the highest mean first."""
    summaries = []
    for number, (variant, line) in enumerate(zip(plan.variants, grid, strict=True)):
        settings: dict[str, JsonValue] = {key_name(key): value for key, value in variant.settings.items()}
        summaries.append(
            VariantSummary(
                name=variant.name,
                settings=settings,
                mean=outcomes.mean([of_seed[number] for of_seed in outcomes.values]),
                spread=statistics.stdev(run.mean for run in line),
                parameters=line[0].parameters,
                seconds=statistics.mean(run.seconds for run in line),
                tokens_per_second=statistics.mean(run.tokens_per_second for run in line),
                diverged=sum(run.diverged for run in line),
                behind_best=None if variant.name == best else pairs[frozenset((variant.name, best))],
            )
        )
    return tuple(sorted(summaries, key=lambda summary: -summary.mean.value))


def _learned_nothing(variants: tuple[VariantSummary, ...], cuts: Sequence[Cut], budget: str) -> str | None:
    """Say it if no variant is better than one that gives all texts the same answer."""
    judge = cuts[0].judge
    rows = [(cut.measured, judge.rows_without_reading(cut.sources.train, cut.measured)) for cut in cuts]
    blind = statistics.mean(float(judge.values(found, measured).mean()) for measured, found in rows)
    if variants[0].mean.value > blind + SAME:
        return None
    return (
        f"No variant is {judge.better} than a model that {judge.without_reading}, {share(blind)}, so these runs "
        f"compare nothing. More than {budget} may teach them something."
    )


def _verdict(variants: tuple[VariantSummary, ...], best: str, better: str) -> str:
    others = [variant.behind_best for variant in variants if variant.behind_best is not None]
    worse = sum(pair.beyond_noise for pair in others)
    first = [variant.name for variant in variants if variants[0].mean.value - variant.mean.value < SAME]
    if len(first) > 1:
        value, remaining = share(variants[0].mean.value), len(variants) - len(first)
        if not remaining:
            return f"{'Both' if len(first) == 2 else f'All {len(first)}'} variants have the same mean, {value}."
        behind = f"{worse or 'none'} of the other {remaining} {'is' if worse < 2 else 'are'} worse beyond noise"
        return f"{', '.join(first[:-1])} and {first[-1]} share the highest mean, {value}; {behind}."
    lead = f"{best} has the highest mean, {share(variants[0].mean.value)}"
    if worse == len(others):
        return f"{lead}, and is {better} than {'the other' if worse == 1 else f'all {worse} others'} beyond noise."
    if worse == 0:
        rest = "the other" if len(others) == 1 else f"any of the other {len(others)}"
        return f"{lead}, but these runs show no clear difference to {rest}."
    are = "is" if worse == 1 else "are"
    return f"{lead}; {worse} of the other {len(others)} {are} worse beyond noise, {len(others) - worse} not clearly."
