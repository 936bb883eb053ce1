"""One training of a search, and one measurement on rows that the search never saw. Both are kept as small files."""

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from glassformer.data.arrays import mapping_in
from glassformer.data.sources import Sources
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.evaluation.record import Record
from glassformer.experiments.judging import Judge
from glassformer.experiments.keeper import keep, read_kept, run_key
from glassformer.experiments.search.rows import Part
from glassformer.experiments.watching import Listener, run_file, with_training
from glassformer.targets.parts import part
from glassformer.training.loop import NotANumberError
from glassformer.training.preparation import Prepared
from glassformer.training.recipe import Recipe
from glassformer.training.run import Kept, train_model, train_prepared
from glassformer.training.unfinished import content_of_readers, kept_held_out

FITTED = "readers"  # how the folders of fitted readers begin
_TRIAL = "trial"
DIGITS = 3  # of a loss: a smaller difference on a part of the rows is chance


class TrialRun(Record):
    """One training of one candidate.

    Attributes:
        share: the share of the recipe's steps that it was trained for.
        loss, own_loss, figure: see `Rating`. None if the training failed.
        readers_seconds: the part of `seconds` that fitting the readers beside the transformer took. 0 if they were
            fitted before.
        steps_seconds: the time from the end of the first step to that of the last one, so without warming up.
    """

    candidate: int
    part: int
    share: Annotated[float, Field(gt=0, le=1)]
    loss: float | None
    own_loss: float | None
    figure: float | None
    parameters: int
    seconds: float
    readers_seconds: float = 0.0
    steps_seconds: float = 0.0
    failed: str | None = None


class Answered(Record):
    """The answers of one training to the rows that the search never saw.

    Attributes:
        rows: what each figure is computed from, row by row (see `Judge.rows`).
    """

    rows: dict[str, tuple[float, ...]]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Job:
    """A training of a search: a recipe on the rows of a part, for a share of its steps."""

    candidate: int
    recipe: Recipe
    part: Part
    number: int
    share: float
    device: str
    judge: Judge

    def file(self, folder: Path) -> Path:
        """Return the file that keeps it. It is named by a digest of everything that decides the result."""
        learned, judged = self.part.learned, self.part.judged
        rows: dict[str, Any] = {"learned": fingerprint(learned), "order": learned.order, "judged": fingerprint(judged)}
        rows |= {"share": self.share, "seed": self.part.seed}
        return run_file(folder, self.judge, self.recipe, self.device, rows)


def run_trial(job: Job, folder: Path, *, deadline: float, on_share: Callable[[float], None]) -> TrialRun:
    """Train for a share of the steps, rate the answers to the part's other rows, and keep the run in `folder`.

    The readers beside the transformer are fitted once for all trials of a part that have them in common. A trial that
    diverges, or whose model cannot be built, is kept as failed.

    Args:
        deadline: the training is stopped at this time, by `time.perf_counter`.

    Raises:
        OutOfTimeError: it was stopped. Nothing of it is kept.
        InterruptedTraining, KeyboardInterrupt: on Ctrl-C. Nothing of it is kept.
    """
    began, work = time.perf_counter(), folder / _TRIAL
    listener = Listener(on_share, deadline=deadline)
    figures: Mapping[str, Any] = {"loss": None, "own_loss": None, "figure": None}
    failed = None
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        figures = _rated(job, folder, work, listener)
    except (UsageError, NotANumberError) as error:
        failed = error.message
    finally:
        shutil.rmtree(work, ignore_errors=True)
    run = TrialRun(
        candidate=job.candidate,
        part=job.number,
        share=job.share,
        parameters=listener.parameters,
        seconds=round(time.perf_counter() - began, 2),
        steps_seconds=round(listener.times[-1] - listener.times[0], 2) if listener.times else 0.0,
        failed=failed,
        **figures,
    )
    keep(job.file(folder), run)
    return run


def _rated(job: Job, folder: Path, work: Path, listener: Listener) -> dict[str, Any]:
    sources = Sources(train=job.part.learned, validation=job.part.judged)
    recipe = with_training(job.recipe, seed=job.part.seed)
    prepared = part(job.judge.kind, "training").prepare(sources, recipe, device=job.device, work=work)
    prepared = prepared.going_on(recipe=_shortened(prepared, job.share))
    fitted = folder / f"{FITTED}-{_readers_key(job)}"
    known = fitted.is_dir()
    if known:
        shutil.copytree(fitted, work, dirs_exist_ok=True, symlinks=True)  # one may lead to a file without end
    with mapping_in(work):
        trained = train_prepared(
            prepared, Kept(out=None), time.perf_counter(), listener, listener.on_prepared, resume=False
        )
    rated = job.judge.rated(trained.metrics)._asdict()
    made = {name: kept for name in recipe.model.beside if (kept := kept_held_out(work / name)) is not None}
    if made and not known:
        rated["readers_seconds"] = round(sum(seconds for _, seconds in made.values()), 2)
        half = folder / FITTED
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir()
        for name in made:
            (work / name).replace(half / name)
        half.replace(fitted)
    return rated


def measure(
    judge: Judge,
    recipe: Recipe,
    searched: Sources,
    unseen: Table,
    folder: Path,
    *,
    device: str = "cpu",
    listener: Listener | None = None,
) -> tuple[Answered, bool]:
    """Train as `train` does on all rows of the search, answer the rows that it never saw, and keep the answers.

    Returns:
        The answers, and whether they were kept from before.

    Raises:
        InterruptedTraining, KeyboardInterrupt: nothing is kept.
        NotANumberError: the training diverged, or the answers are not finite.
    """
    rows = {"searched": fingerprint(searched.train), "order": unseen.order, "unseen": fingerprint(unseen)}
    file = run_file(folder, judge, recipe, device, rows)
    kept = read_kept(file, Answered)
    if kept is not None:
        return kept, True
    began = time.perf_counter()
    trained = train_model(searched, recipe, family=judge.kind, device=device, observer=listener or Listener())
    rows_of = {key: tuple(map(float, each)) for key, each in judge.rows(trained, unseen).items()}
    found = Answered(rows=rows_of, seconds=round(time.perf_counter() - began, 2))
    keep(file, found)
    return found, False


def _shortened(prepared: Prepared, share: float) -> Recipe:
    """Return the recipe for a share of its steps. The schedule covers these steps."""
    recipe, training = prepared.recipe, prepared.recipe.training
    if share == 1:
        return recipe
    if training.max_seconds is not None:
        return with_training(recipe, max_seconds=share * training.max_seconds)
    steps = training.max_steps or prepared.training.epochs * len(prepared.task().steps(0))
    return with_training(recipe, max_steps=max(1, round(share * steps)))


def _readers_key(job: Job) -> str:
    """Return a digest of everything that decides the readers beside the transformer of a trial."""
    model, training = job.recipe.model, job.recipe.training
    made_of = {
        "readers": [getattr(model, name, None) for name in ("counting", "body", "readers", "rules")],
        "class_weights": training.class_weights,
        "tune_body": training.tune_body,
        "learned": fingerprint(job.part.learned),
        "judged": fingerprint(job.part.judged),
        "seed": job.part.seed,
    }
    return run_key(made_of | content_of_readers(model))
