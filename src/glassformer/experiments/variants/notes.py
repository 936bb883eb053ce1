"""What a comparison of variants did with the rows, and what its runs cannot show."""

from collections.abc import Iterable, Sequence

from glassformer.data.table import Table
from glassformer.data.wording import counted, in_a_row
from glassformer.experiments.judging import Judge
from glassformer.experiments.variants.plan import Plan, key_name
from glassformer.experiments.variants.variant_run import VariantRun

FEW_SEEDS = 5


def notes_on(plan: Plan, runs: Sequence[VariantRun], table: Table, judge: Judge, *, same_rows: bool) -> tuple[str, ...]:
    """Return notes on the rows that were used, and on what the runs cannot show.

    Args:
        table: the rows from which the rows of each run were drawn.
        same_rows: whether all runs were measured on the same rows. These are not part of `table`.
    """
    notes = [f"{counted(len(dropped.rows), 'row')} left out: {dropped.reason}" for dropped in table.dropped]
    notes += _notes_on_rows(plan, runs, table, same_rows=same_rows)
    if (seeds := len(plan.seeds)) < FEW_SEEDS:
        notes.append(
            f"{seeds} seeds show only large differences, because their intervals are wide. {FEW_SEEDS} seeds are usual."
        )
    notes += _notes_on_equal(plan, runs)
    if diverged := sum(run.diverged for run in runs):
        each = "it" if diverged == 1 else "each"
        notes.append(f"{diverged} of {len(runs)} runs diverged; {each} counts as if it {judge.without_reading}.")
    if len({(run.threads, *run.versions.values()) for run in runs}) > 1:
        notes.append("The runs used different versions or numbers of threads, so their times cannot be compared.")
    return tuple(notes)


def _notes_on_equal(plan: Plan, runs: Sequence[VariantRun]) -> list[str]:
    """Name the variants that are one model, and the models that gave the same answers in all runs."""
    answers = [tuple(run.answers for run in runs[number :: len(plan.variants)]) for number in range(len(plan.variants))]
    models = sorted(set(plan.models))
    alike = [[other for other in models if answers[other] == each] for each in dict.fromkeys(answers) if all(each)]
    one = [[number for number, of in enumerate(plan.models) if of == model] for model in models]
    said = [("are one model", "nothing about", group) for group in one]
    said += [("gave the same answers in all runs", "no effect of", group) for group in alike]
    notes = []
    for are, what, group in said:
        if len(group) > 1:
            same = [plan.variants[number] for number in group]
            differ = [
                key_name(key) for key, value in same[0].settings.items() if any(v.settings[key] != value for v in same)
            ]
            show = "this pair shows" if len(same) == 2 else "these variants show"
            notes.append(f"{in_a_row([v.name for v in same])} {are}, so {show} {what} {' or '.join(differ)}.")
    return notes


def _notes_on_rows(plan: Plan, runs: Sequence[VariantRun], table: Table, *, same_rows: bool) -> list[str]:
    """Return notes on how many rows the runs learned from, and why some rows were not used."""
    config = {variant.name: variant.recipe.validation for variant in plan.variants}
    notes = [f"Each run learned from {_rows(run.training_rows for run in runs)}."]
    if held_out := [run.validation_rows for run in runs if run.validation_rows]:
        notes[0] = f"{notes[0][:-1]}; its epoch was chosen by {_rows(held_out, 'validation ')}."
    left_out = [
        table.frame.height
        - run.training_rows
        - (0 if same_rows else run.rows)
        - (0 if config[run.variant].file is not None else run.validation_rows)
        for run in runs
    ]
    if any(left_out):
        texts_are = "its text is" if max(left_out) == 1 else "their texts are"
        notes.append(
            f"Each run left out {_rows(left_out)} of the table, because {texts_are} also among the measured or the "
            "validation rows."
        )
    if without := [run for run in runs if not run.validation_rows]:
        where = "" if len(without) == len(runs) else f" in {len(without)} of {len(runs)} runs"
        fewest = max(config[run.variant].min_rows for run in without)
        why = (
            f"fewer than validation.min_rows={fewest} rows were left to learn from"
            if any(config[run.variant].fraction for run in without)
            else "validation.fraction is 0"
        )
        notes.append(f"No rows were held out for validation{where}, because {why}. Such a run keeps its last weights.")
    with_others = {variant.name for variant in plan.variants if variant.recipe.model.beside}
    if not with_others:
        notes.append("No run has the counting reader and the word vectors that `train` sets beside a transformer.")
    if crossed := [run for run in without if run.variant in with_others]:
        more = "every run" if len(crossed) == len(runs) else f"{len(crossed):,} of {len(runs):,} runs"
        notes.append(
            f"In {more}, the readers were cross-fitted: the transformer was trained several times, each time with the "
            "whole budget. With a smaller validation.min_rows every run trains it once."
        )
    return notes


def _rows(numbers: Iterable[int], kind: str = "") -> str:
    """Write "1 row", "43 validation rows" or "41 to 44 rows"."""
    low, high = min(found := list(numbers)), max(found)
    return counted(low, f"{kind}row", f"{kind}rows") if low == high else f"{low:,} to {high:,} {kind}rows"
