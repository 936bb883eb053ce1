"""`glassformer predict --file FOLDER`: answer all tables of a folder."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.output import (
    command_line,
    doing,
    insist,
    print_json,
    say,
    say_note,
    show,
)
from glassformer.cli.pace import per_second
from glassformer.cli.resume import Stopped
from glassformer.cli.unknown import USUALLY_UNLIKE, counts_of, most_given, review_below, say_needs_review
from glassformer.data.wording import counted, duration
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.prediction.answering import Answering
    from glassformer.prediction.shards import Bulk, Engine, Progress

ENGINES = ("plain", "ray")


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Who answers the shards of a folder."""

    engine: Annotated[
        str | None, typer.Option(help="What answers a folder of shards: plain (default), one process; or ray.")
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="<int>", help="With Ray: how many shards at once. Default: one per core."),
    ] = None
    address: Annotated[
        str | None, typer.Option(help="With Ray: the address of a cluster. Default: Ray starts on this machine.")
    ] = None

    def check(self, *, folder: bool) -> None:
        """Raise `UsageError` if the flags do not go together."""
        for name in (name for name, value in vars(self).items() if value is not None):
            if not folder:
                raise UsageError(f"--{name} is for a folder of shards in --file; leave it out")
            if name != "engine" and self.engine != "ray":
                raise UsageError(f"--{name} goes with --engine ray")
        if self.engine not in (None, *ENGINES):
            raise UsageError(f"--engine {self.engine}: choose {' or '.join(ENGINES)}")

    def begin(self, predictor: Answering) -> Engine:
        if self.engine != "ray":
            from glassformer.prediction.shards import in_this_process

            return in_this_process(predictor)
        from glassformer.prediction.on_ray import on_ray

        return on_ray(address=self.address, workers=self.workers)


def predict_shards(
    model: Path,
    shards: Path,
    out: Path,
    *,
    by: Workers,
    text: str | None,
    automatic: float | None,
    device: str,
    safe_csv: bool | None,
    overwrite: bool,
    json: bool,
) -> None:
    """Answer the shards that have no answers yet. Show how far the work is, and at the end counts over all shards."""
    from glassformer.data.encodings import named_encoding
    from glassformer.prediction.load_answering import load_answering
    from glassformer.prediction.shards import Job, answer_folder

    if by.engine == "ray":
        device = "cpu" if device == "auto" else device  # a task of Ray has the devices that it asks for
    # The workers of Ray load the model themselves. This process learns early whether it can be loaded.
    predictor = load_answering(model, device="cpu" if by.engine == "ray" else device, answers="many")
    below = review_below(predictor, automatic)
    inputs = predictor.trained.config.inputs
    if inputs is not None and text is not None:
        raise UsageError(f"--text: this model reads {inputs.in_words}, by their names; leave it out")
    column = text or predictor.text_column if inputs is None else " and ".join(inputs.names)
    if column is None:
        raise UsageError("this model does not know which column its texts come from; name it with --text")
    job = Job(
        model=model,
        out=out,
        text_column=column,
        safe_csv=safe_csv is not False,
        device=device,
        review_below=below,
        encoding=named_encoding(),
    )
    engine = by.begin(predictor)
    doing("starting Ray" if by.engine == "ray" else "answering")
    begun, rows = time.monotonic(), 0

    def on_progress(progress: Progress) -> None:
        nonlocal rows
        rows = progress.rows
        doing(words(progress, time.monotonic() - begun))

    try:
        bulk = answer_folder(job, shards, engine=engine, overwrite=overwrite, on_progress=on_progress, on_note=say_note)
    except KeyboardInterrupt as error:
        again = command_line(leave_out="--overwrite")
        insist(f"stopped; finished shards are kept in {out}. Continue with:\n  {again}")
        raise Stopped(error) from error
    doing("")
    _warn(bulk, shards)
    bulk.check()
    target = predictor.trained.config.target
    review = None if below is None and not target.asks else bulk.needs_review
    _report(bulk, out, review, labelled=target.counted, seconds=time.monotonic() - begun, rows=rows, json=json)


def words(progress: Progress, seconds: float) -> str:
    """Return for example `answering: 3 of 40 shards, 12,288 rows, 1,200/s, 1 min 15 s left`.

    The seconds are those of this run, as the rows are.
    """
    parts = [f"{progress.finished:,} of {progress.shards:,} shards"]
    if progress.rows:
        parts.append(f"{progress.rows:,} rows")
    if progress.rows and seconds:
        speed = progress.rows / seconds
        parts.append(per_second(speed))
        if progress.rows_left is not None:
            parts.append(f"{duration(progress.rows_left / speed)} left")
    return f"answering: {', '.join(parts)}"


def _warn(bulk: Bulk, shards: Path) -> None:
    if bulk.earlier:
        say(f"{counted(bulk.earlier, 'shard was', 'shards were')} finished by an earlier run")
    if bulk.gone:
        gone = counted(len(bulk.gone), "shard with answers is", "shards with answers are")
        say(f"warning: {gone} no longer in {shards} (first: {bulk.gone[0]}); the answers are still there")
    of_rows = f"of {counted(bulk.rows, 'row')}"
    if bulk.unlike > USUALLY_UNLIKE * bulk.rows:
        said = "is" if bulk.unlike == 1 else "are"
        say(f"warning: {bulk.unlike:,} {of_rows} {said} unlike the training data; 1 in 100 is usual")
    if bulk.empty:
        said = "has an empty text and gets" if bulk.empty == 1 else "have an empty text and get"
        say(f"warning: {bulk.empty:,} {of_rows} {said} no answer")


def _report(
    bulk: Bulk, out: Path, needs_review: int | None, *, labelled: bool, seconds: float, rows: int, json: bool
) -> None:
    if needs_review is not None:
        say_needs_review(needs_review, bulk.rows, "row")
    given = bulk.predictions if labelled else None
    if json:
        earlier = {"shards": bulk.shards, "finished_by_earlier_runs": bulk.earlier}
        counts = counts_of(bulk.rows, bulk.empty, needs_review, given)
        of_this_run = {"rows_of_this_run": rows, "seconds_of_this_run": round(seconds, 3)}
        print_json({"out": str(out), **earlier, **counts, **of_this_run})
        return
    where = f"{counted(bulk.rows, 'row')} in {counted(bulk.shards, 'shard')}"
    show(f"{out}: {where} answered{most_given(given or Counter())}")
