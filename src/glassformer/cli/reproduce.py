"""`glassformer reproduce`: run the published systems again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from glassformer.cli.flags import as_flags
from glassformer.cli.live import Live, words
from glassformer.cli.options import Measuring
from glassformer.cli.output import command_line, doing, print_json, print_table, say, show
from glassformer.cli.resume import resumable
from glassformer.cli.writers import check_folder, check_replaced
from glassformer.data.locks import only_writer
from glassformer.data.wording import duration

if TYPE_CHECKING:
    from glassformer.experiments.published.system_run import SystemRun
    from glassformer.experiments.published.systems import VariantName
    from glassformer.experiments.published.table import Reproduction
    from glassformer.training.loop import StepReport


def reproduce(
    systems: Annotated[list[str] | None, typer.Argument(help="Names of systems. Default: all of them.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the runs. Finished runs in it are kept.")] = Path(
        "runs/reproduce"
    ),
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="A first look: few seeds, at most 400 steps per run (on zhou all of them: about 12 minutes), "
            "without imdb. Its figures prove little.",
        ),
    ] = False,
    data: Annotated[str | None, typer.Option(help="Run only on this data set.")] = None,
    init: Annotated[
        str | None,
        typer.Option(help="Weights for the system vinh-transfer: a model folder, or hf:… (see `train --init`)."),
    ] = None,
    *,
    run: Measuring,
) -> None:
    """Run the published systems again: as printed, corrected, and beside our default."""
    check_folder(out)
    from glassformer.experiments.published.reproduce import RESULTS_FILE, TABLE_FILE, check_init, choose
    from glassformer.experiments.published.reproduce import reproduce as run_systems
    from glassformer.experiments.published.systems import quick_in_words
    from glassformer.training.initial_weights import read_initial_weights

    check_replaced(out, (RESULTS_FILE, TABLE_FILE), key="lines")
    entries = choose(systems or [], data, first_look=quick)
    if init is not None:
        check_init(entries)
    start = None if init is None else read_initial_weights(init)
    target = run.place
    if quick:
        say(f"a first look: {quick_in_words(entries)}")
    stopped = resumable(out, "finished runs are kept", unfinished=Path.is_dir, again="")
    with stopped, only_writer(out), LiveTable() as view:
        found = run_systems(
            entries, out,
            first_look=quick, watcher=view, init=start, data_dir=run.data_dir, device=target, command=command_line(),
        )  # fmt: skip
    found = found.model_copy(update={"left_out": tuple(map(as_flags, found.left_out))})
    if run.json:
        print_json(found.model_dump(mode="json"))
    else:
        _show(found)
        show(f"\ntable: {out / TABLE_FILE}    every run: {out / RESULTS_FILE}")
    for sentence in found.left_out:
        say(f"left out: {sentence}")
    if quick:
        say(f"a first look only: {quick_in_words(entries)}; for figures that you can rely on, leave out --quick")


class LiveTable(Live):
    """Show a bar per system, and a line per finished run."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, TimeElapsedColumn, TimeRemainingColumn

        super().__init__(
            words("{task.description}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),  # moves also while a run is prepared or measured
            TimeRemainingColumn(),
            words("{task.fields[doing]}"),
            transient=False,
        )
        self._done = 0
        self._doing = ""

    def on_line(self, name: str, runs: int) -> None:
        self._done = 0
        self.begin(name, runs, doing="")
        self.line(f"{name}: {runs} run{'' if runs == 1 else 's'}")

    def on_run(self, variant: VariantName, seed: int) -> Self:
        self._doing = f"{variant}, seed {seed}"
        doing(f"{self._doing}: preparing")
        self.move(self._done, doing=f"{self._doing}: preparing")
        return self

    def on_done(self, run: SystemRun) -> None:
        self._done += 1
        self.move(self._done, doing="")
        self.line(
            f"  {self._doing}: accuracy {run.accuracy.value:.4f} on {run.test_rows:,} test rows, "
            f"trained in {duration(run.training_seconds)}"
        )

    def on_step(self, report: StepReport) -> None:
        share = ((report.epoch - 1) + report.step_of_epoch / report.steps_per_epoch) / report.epochs
        now = f"{self._doing}, epoch {report.epoch}: loss {report.loss:.3f}"
        self.move(self._done + share, doing=now)
        doing(now)

    def on_epoch(self, row: dict[str, float]) -> None: ...

    def on_message(self, text: str) -> None:
        super().on_message(f"  {text}")


def _show(found: Reproduction) -> None:
    from glassformer.experiments.published.table import rows

    show()
    print_table(list(rows(found.lines)), others=str.ljust)
