"""`glassformer search`: which settings to train with, found within a time and measured on rows of their own."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.flags import as_typed
from glassformer.cli.given import given_settings
from glassformer.cli.live import Live, words
from glassformer.cli.options import FromRecipe, HeldOut, Learned, Reading, Running, Seed
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
from glassformer.data.wording import duration

if TYPE_CHECKING:
    from glassformer.experiments.search.result import SearchResult, Trial
    from glassformer.experiments.search.trial import TrialRun

_SHOWN = 8


def search(
    data: Learned,
    minutes: Annotated[float, typer.Option(metavar="<number>", help="Time for the whole search.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for search.html, search.json, recipe.toml and the trials. Default: runs/search-NAME."
        ),
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<key=value,value>",
            help="Search this setting with these values, in place of the usual settings. May be repeated.",
        ),
    ] = None,
    *,
    reading: Reading,
    held_out: HeldOut,
    recipe: FromRecipe,
    seed: Seed = None,
    run: Running,
) -> None:
    """Search for the best settings of a recipe within a time."""
    from glassformer.data.addresses import name_in, without_password

    data = without_password(data)
    out = out or Path("runs") / f"search-{name_in(data)}"
    check_folder(out)
    source = reading.source(data)  # before PyTorch is loaded: the table may be refused
    from glassformer.experiments.search.search import check_out, is_unfinished
    from glassformer.experiments.search.search import search as search_settings
    from glassformer.experiments.search.space import read_space
    from glassformer.training.recipe import load_recipe

    overrides = given_settings(recipe.set_, held_out, seed=seed)
    chosen = load_recipe(recipe.recipe, preset=recipe.preset, overrides=overrides).for_data(data, run.data_dir)
    check_out(out, **run.again)  # before all of the table is read
    read_space(over or (), chosen, overrides)
    place = run.place
    sources = read_aloud(source, chosen.validation, run.data_dir)
    stopped = resumable(out, "the unfinished search is saved", unfinished=is_unfinished)
    with stopped, only_writer(out), LiveSearch(minutes) as view:
        found = search_settings(
            sources, chosen, out,
            minutes=minutes, task=source.task, over=over or (), given=set(overrides), **run.again, device=place,
            command=command_line(), watcher=view,
        )  # fmt: skip
    usual = as_typed(vars(recipe) | vars(held_out) | {"seed": None if seed is None else str(seed)})
    following = ["--recipe", str(out / "recipe.toml")] if found.recommended == "found" else usual
    read = as_typed(vars(reading) | {"data_dir": run.data_dir})
    command = ["glassformer", "train", data, "--out", f"runs/{name_in(data)}", *read, *following]
    _show_result(found, out, shlex.join(command), json=run.json)


def _show_result(found: SearchResult, out: Path, following: str, *, json: bool) -> None:
    if json:
        print_json(found.model_dump(mode="json") | {"train": following})
    else:
        _show(found)
        show(f"\ntrain: {following}")
        which = "best settings" if found.recommended == "found" else "settings of the lowest loss"
        recipe = f"{which if found.best else 'the recipe as it is'}: {out / 'recipe.toml'}"
        show(f"page: {out / 'search.html'}    figures: {out / 'search.json'}    {recipe}")
    for note in found.notes:
        say(f"note: {note}")


def _show(found: SearchResult) -> None:
    """Show the best trials, then the figures on the rows that the search never saw."""
    show(
        f"{found.data.source}: {len(found.trials):,} trials in {duration(found.seconds)}; "
        f"{found.data.unseen_rows:,} rows were held out from the search\n"
    )
    head = ("settings", "loss", "seconds", "dropped after")
    first = next(trial for trial in found.trials if trial.number == 0)
    shown = list(found.trials[:_SHOWN])
    lines = [_cells(trial) for trial in (shown if first in shown else [*shown, first])]
    print_table([head, *lines], others=str.ljust)
    if len(found.trials) > len(lines):
        show(f"and {len(found.trials) - len(lines):,} more, on the page")
    if mattering := [effect.key for effect in found.effects if effect.matters]:
        show(f"\nwhat mattered: {', '.join(mattering)}")
    elif found.effects:
        show("\nwhat mattered: no setting clearly")
    show(f"\n{found.verdict}")


def _cells(trial: Trial) -> tuple[str, ...]:
    loss = "" if trial.loss is None else f"{trial.loss:.4f}"
    return trial.name, loss, f"{trial.seconds:.0f}", trial.dropped or "–"


class LiveSearch(Live):
    """Show a bar over the time, the training that is running, and a line for each finished trial."""

    def __init__(self, minutes: Any) -> None:
        from rich.progress import BarColumn, TimeElapsedColumn

        super().__init__(
            TimeElapsedColumn(), words("of {task.fields[minutes]} min"), BarColumn(bar_width=24),
            words("{task.fields[doing]}"),
        )  # fmt: skip
        self._minutes, self._began, self._doing = minutes, time.perf_counter(), ""

    def on_rung(self, text: str) -> None:
        self.line(text)

    def on_run(self, name: str) -> None:
        self._doing = name
        self.on_share(0.0)

    def on_share(self, share: float) -> None:
        gone, all_of_it = time.perf_counter() - self._began, 60 * self._minutes
        self.move(min(gone, all_of_it), all_of_it, minutes=f"{self._minutes:g}", doing=f"{share:.0%} {self._doing}")
        doing(f"{share:.0%} of {self._doing}")

    def on_done(self, run: TrialRun, name: str) -> None:
        loss = f"failed: {run.failed}" if run.loss is None else f"loss {run.loss:.4f}"
        self.line(f"  {loss}, {duration(run.seconds)}: {name}")
