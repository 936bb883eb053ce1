"""`glassformer compare-variants`: compare variants on the same data, with the same budget and several seeds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.live import Live, words
from glassformer.cli.options import FromRecipe, Learned, Measuring, Reading
from glassformer.cli.output import (
    command_line,
    doing,
    print_json,
    print_table,
    read_aloud,
    say,
    show,
)
from glassformer.cli.resume import resumable
from glassformer.cli.writers import check_folder
from glassformer.data.locks import only_writer
from glassformer.data.wording import counted, duration, figure

if TYPE_CHECKING:
    from glassformer.data.sources import SourceConfig, Sources
    from glassformer.data.table import Table
    from glassformer.experiments.variants.comparison_result import VariantComparison
    from glassformer.experiments.variants.variant_run import VariantRun


def compare_variants(
    data: Learned,
    vary: Annotated[
        list[str],
        typer.Option(
            metavar="<key=value,value>", help="A setting of the recipe and the values to try. May be repeated."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for results.json, report.html and the runs. Finished runs in it are kept.")
    ],
    seeds: Annotated[int, typer.Option(help="Number of seeds per variant.")] = 5,
    steps: Annotated[int | None, typer.Option(help="Steps of training per run. Default: 1000.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds of training per run, instead of --steps.")] = None,
    test: Annotated[str | None, typer.Option(help="Measure on this table. Default: a fifth of the rows.")] = None,
    *,
    reading: Reading,
    recipe: FromRecipe,
    run: Measuring,
) -> None:
    """Train every combination of some settings with several seeds, and tell real differences from chance."""
    check_folder(out)
    source = reading.source(data)  # before PyTorch is loaded: the table may be refused
    from glassformer.experiments.variants.comparison import RESULTS_FILE, RUNS_FOLDER
    from glassformer.experiments.variants.comparison import compare_variants as compare
    from glassformer.experiments.variants.comparison_result import read_comparison
    from glassformer.experiments.variants.plan import plan_variants
    from glassformer.training.recipe import parse_overrides

    overrides = parse_overrides(recipe.set_ or [])
    plan = plan_variants(
        vary, seeds=seeds, recipe=recipe.recipe, preset=recipe.preset, overrides=overrides, steps=steps, seconds=seconds
    )
    place = run.place
    sources = read_aloud(source, plan.variants[0].recipe.validation, run.data_dir)
    measured = None if test is None else _read_test(test, source, sources, run.data_dir)
    earlier = read_comparison(out / RESULTS_FILE)

    def kept() -> str:
        return counted(len([*(out / RUNS_FOLDER).glob("*.json")]), "finished run is kept", "finished runs are kept")

    stopped = resumable(out, kept, unfinished=Path.is_dir, again="")
    title = f"{len(plan.variants)} variants × {seeds} seeds, {plan.budget} each"
    with stopped, only_writer(out), _LiveRuns(title) as view:
        how: dict[str, Any] = {"task": source.task, "test": measured, "device": place}
        found = compare(plan, sources, out, **how, command=command_line(), watcher=view)
    if run.json:
        print_json(found.model_dump(mode="json"))
    else:
        _show(found, out)
    if earlier is not None and not found.holds(earlier):
        say(f"note: this replaces the report on {earlier.in_words()}, whose runs are kept; another --out keeps both")
    for note in found.notes:
        say(f"note: {note}")


def _read_test(test: str, source: SourceConfig, sources: Sources, data_dir: Path | None) -> Table:
    """Read the table to measure on as the training table was read."""
    from glassformer.data.sources import read_like_training
    from glassformer.data.spellings import flat_labels

    labels = flat_labels(sources.train).unique().to_list()
    measured = read_like_training(test, source, data_dir, labels=labels, inputs=sources.train.inputs)
    say(f"note: if you choose a variant by its figures on {test}, measure its final figure on other rows")
    return measured


class _LiveRuns(Live):
    """Show a bar over all runs with the time that is left, and a line per finished run."""

    def __init__(self, title: str) -> None:
        from rich.progress import BarColumn

        super().__init__(
            words("{task.fields[count]}"),
            BarColumn(bar_width=24),
            words("{task.fields[doing]}"),
        )
        self._title = title
        self._runs = self._done = self._before = 0
        self._began = 0.0
        self._doing = ""

    def on_plan(self, runs: int, done: int, seconds: float | None) -> None:
        self._runs, self._done, self._before, self._began = runs, done, done, time.perf_counter()
        kept = f", {done:,} of them kept from before" if done else ""
        rest = "" if seconds is None or done == runs else f"; about {duration(seconds)} of training to go"
        self.line(f"{self._title}: {runs:,} runs{kept}{rest}")

    def on_run(self, name: str) -> None:
        self._doing = name
        self.on_share(0.0)

    def on_share(self, share: float) -> None:
        left = self._left(share)
        count = f"{self._done}/{self._runs}"
        now = self._doing if left is None else f"{duration(left)} left  {self._doing}"
        self.move(self._done + share, self._runs, count=count, doing=now)
        doing(f"{count} runs done, {now}")

    def on_done(self, run: VariantRun, name: str) -> None:
        self._done += 1
        left = f"; {duration(self._left(0.0) or 0.0)} left" if self._done < self._runs else ""
        self.line(
            f"{self._done}/{self._runs} {run.variant}, seed {run.seed}: {name} {figure(run.mean)}"
            f"{' (diverged)' if run.diverged else ''}, {duration(run.seconds)}{left}"
        )

    def _left(self, share: float) -> float | None:
        """Return the seconds that are left, or None before a tenth of the first run is done."""
        here = self._done + share - self._before
        if here < 0.1:
            return None
        return (time.perf_counter() - self._began) / here * (self._runs - self._done - share)


def _show(found: VariantComparison, out: Path) -> None:
    """Show the table of variants, then the effect of each setting, and where the report is."""
    from glassformer.evaluation.report import seconds

    data = found.data
    show(f"{data.source}: measured on {data.measured_on}, {data.measured_rows:,} per run\n")
    heads = ("variant", found.figure, "95% interval", "spread", "behind", "p", "parameters", "seconds", "tokens/s")
    lines = [heads]
    for variant in found.variants:
        behind = variant.behind_best
        lines.append(
            (
                variant.name + (f" ({variant.diverged} diverged)" if variant.diverged else ""),
                figure(variant.mean.value),
                f"{figure(variant.mean.low)} to {figure(variant.mean.high)}",
                f"{variant.spread:.4f}",
                "" if behind is None else f"{behind.difference.value:.4f}",
                "" if behind is None else f"{behind.holm_p:.3f}",
                f"{variant.parameters:,}",
                seconds(variant.seconds),
                f"{variant.tokens_per_second:,.0f}",
            )
        )
    print_table(lines)
    show(f"\n{found.verdict}")
    for key in filter(lambda key: key.verdict, found.keys):
        show(f"{key.key}: {key.verdict}")
    show(f"Intervals include {found.covers}. Spread is the standard deviation over seeds; p is Holm-corrected.")
    show(f"\nreport: {out / 'report.html'}    figures: {out / 'results.json'}")
