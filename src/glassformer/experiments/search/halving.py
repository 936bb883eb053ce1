"""Successive halving: many candidates are trained for a short time, and the best of them for longer and more often.

Three rungs (Jamieson & Talwalkar 2016; with the sizes of Li et al. 2018, η = 3): all candidates for a third of their
steps on one part of the rows, the best third with all steps on the same part, and the best third of those on two other
parts too, each with a seed of its own. So no rung takes much longer than the others. If time is short, the last rung is
left out. If time is left, other candidates are drawn for another round. The recipe as it is takes part in every rung.
"""

import itertools
import math
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from glassformer.data.wording import about, counted
from glassformer.errors import UsageError
from glassformer.experiments.judging import Judge
from glassformer.experiments.keeper import keep, read_kept
from glassformer.experiments.search.budget import RUNGS, SHORT, Clock, Plan, Rung, rung_sizes, too_short
from glassformer.experiments.search.rows import PARTS, Part
from glassformer.experiments.search.space import Candidate, candidates
from glassformer.experiments.search.trial import DIGITS, Answered, Job, TrialRun, run_trial
from glassformer.experiments.watching import OutOfTimeError, Watcher
from glassformer.training.recipe import Recipe

_FEWEST = 4  # candidates: fewer are no search
_HEAVIER = 1.5  # how much longer a candidate is expected to take than the recipe as it is
_MOST = 2_000  # candidates
_MEASURING = 0.25  # of the time for the rungs: a candidate that would take longer to measure after them is left out
_SAFE = 1.15  # a measurement is expected to take this much more, because it is not stopped

_ENDS = (0.4, 0.7, 1.0)
"""The share of its time that the search has used at most when each rung ends."""


class SearchWatcher(Watcher, Protocol):
    """Is told about the progress of a search."""

    def on_rung(self, text: str) -> None:
        """A rung begins."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What the search of one cut is given.

    Attributes:
        final: the time of a training that measures a choice, as a multiple of that of a trial with all steps. 0: no
            choice is measured.
        measure: trains on all rows of the search, and answers the rows that it never saw. None: see `final`.
        earlier, later: how many searches come before and after this one and share its time.
    """

    judge: Judge
    recipe: Recipe
    space: Mapping[str, Sequence[Any]]
    parts: Sequence[Part]
    folder: Path
    device: str
    final: float
    measure: Callable[[Candidate], Answered] | None = None
    earlier: int = 0
    later: int = 0


@dataclass(frozen=True, kw_only=True)
class Searched:
    """The result of a search.

    Attributes:
        best: has the lowest mean loss over all parts that the last candidates share.
        losses: these losses, by the numbers of the candidates.
        dropped: why the other candidates were not trained further, by their numbers.
    """

    candidates: tuple[Candidate, ...]
    runs: tuple[TrialRun, ...]
    best: Candidate
    losses: Mapping[int, float]
    dropped: Mapping[int, str]
    parts: int


class Halving:
    """The search within one cut."""

    def __init__(self, setup: Setup, clock: Clock, watcher: SearchWatcher) -> None:
        self._setup, self._clock, self._watcher = setup, clock, watcher
        self._began_with = clock.left
        self._spare = 0.0  # seconds for the searches after this one
        self._final, self._measured = setup.final, False  # whether the recipe as it is was measured
        self._runs: dict[tuple[int, int, float], TrialRun] = {}
        self._dropped: dict[int, str] = {}
        self._heaviest = math.inf  # seconds of a training with all steps

    def search(self) -> Searched:
        """Run all rungs, as far as time allows.

        Raises:
            UsageError: the time is too short, or the recipe as it is cannot be trained.
            InterruptedTraining, KeyboardInterrupt: on Ctrl-C. Finished trials are kept.
        """
        everything = candidates(self._setup.space, self._setup.recipe)
        first = next(everything)
        self._watcher.on_rung("first the recipe as it is, to measure how long a training takes")
        self._first(first)
        drawn = [first]
        for number in itertools.count(1):
            planned = self._planned(number, first, everything)
            if planned is None:
                break
            plan, alive = planned
            drawn += alive[1:]
            before = len(self._runs)
            self._round(alive, plan)
            if len(self._runs) == before:
                break  # the machine has become too slow for another trial
        finalists, parts = self._finalists(first, drawn)
        losses = {each.number: self._mean(each, range(parts), 1.0) for each in finalists}
        best = min(finalists, key=lambda each: (losses[each.number], each.number))
        return Searched(
            candidates=tuple(drawn),
            runs=tuple(self._runs.values()),
            best=best,
            losses=losses,
            dropped={number: why for number, why in self._dropped.items() if number not in losses},
            parts=parts,
        )

    def _round(self, alive: Sequence[Candidate], plan: Plan) -> None:
        """Run the rungs with these candidates, as far as time allows."""
        before = RUNGS[0]
        for rung, size, end in zip(RUNGS, plan.sizes, _ENDS, strict=True):
            if not size:
                break
            if rung is not RUNGS[0]:
                alive = self._best(alive, before, size)
            if len(alive) > 1:
                self._watcher.on_rung(f"rung {rung.number}, {counted(len(alive), 'candidate')}: {rung.in_words}")
                self._run_all(alive, rung, later=(1 - end) * plan.seconds)
            before = rung
        for each in alive:
            if math.isinf(self._mean(each, before.parts, before.share)):
                self._dropped.setdefault(each.number, self._why(each, before))

    def _finalists(self, first: Candidate, drawn: Sequence[Candidate]) -> tuple[list[Candidate], int]:
        """Return the candidates that were trained on the most parts, the recipe as it is among them, and how many."""
        for parts in range(PARTS, 0, -1):
            found = [each for each in drawn if math.isfinite(self._mean(each, range(parts), 1.0))]
            if first in found and len(found) > 1:
                return found, parts
        return [first], 1

    def _first(self, first: Candidate) -> None:
        """Train the recipe as it is in the first two rungs. Then measure it, which shows how long that takes.

        The first training is the short one, because it also warms up. The other one then shows how long a trial takes.
        After each it is seen whether the time is long enough.
        """
        for rung in RUNGS[:2]:
            run = self._run(first, 0, rung.share, deadline=self._clock.deadline(0.0))
            if run is None:
                minutes = self._clock.seconds / 60
                raise UsageError(
                    f"`minutes={minutes:g}` is too short: the first trainings alone take longer; give more"
                )
            if run.failed is not None:
                raise UsageError(f"the recipe as it is cannot be trained on a part of the rows: {run.failed}")
            self._check_time()
        if self._setup.measure is not None:
            self._final = self._setup.measure(first).seconds / self._trial_seconds
            self._measured = True
            self._check_time()

    def _check_time(self) -> None:
        """See whether there is time for a small search, and for those after this one. Set time apart for the latter."""
        setup, clock = self._setup, self._clock
        fewest = self._cost(rung_sizes(_FEWEST, len(RUNGS) - 1))
        own, trials = fewest + self._reserve([]), fewest + (1 + SHORT) * self._trial_seconds
        measurements = 2 * _SAFE * self._final * self._trial_seconds * max(0, setup.later - 1)  # the last has none
        later = setup.later * trials + measurements
        if not setup.earlier and clock.left < own + later and not self._plan_file(1).is_file():
            measuring = self._final * self._trial_seconds
            raise UsageError(
                too_short(clock, clock.used + own + later, self._trial_seconds, measuring, 1 + setup.later)
            )
        proportional = self._began_with * setup.later / (1 + setup.later)
        self._spare = max(later, min(proportional, clock.left - own))

    @property
    def _trial_seconds(self) -> float:
        """The time of a trial of the recipe as it is with all steps, with the fit of its other readers."""
        return self._unit(0) + self._readers_seconds

    @property
    def _readers_seconds(self) -> float:
        """The time of fitting the readers beside the transformer, as the first trial of the recipe as it is did."""
        return max(self._runs[0, 0, share].readers_seconds for share in (SHORT, 1.0) if (0, 0, share) in self._runs)

    def _plan_file(self, number: int) -> Path:
        return self._setup.folder / f"search-{self._setup.earlier + 1}-round-{number}.json"

    def _planned(
        self, number: int, first: Candidate, others: Iterator[Candidate]
    ) -> tuple[Plan, list[Candidate]] | None:
        """Return how many candidates each rung of a round has, and the candidates. None: no further round."""
        file = self._plan_file(number)
        plan = read_kept(file, Plan)
        if plan is None:
            seconds = self._clock.left - self._spare - self._reserve([])
            rungs = self._rungs(seconds, again=number > 1)
            if not rungs:
                return None
            counts = range(_FEWEST, _MOST)
            count = counts[bisect(counts, seconds, key=lambda size: self._cost(rung_sizes(size, rungs))) - 1]
        else:
            count = plan.sizes[0]
        drawn = [first, *itertools.islice(others, count - 1)]
        if len(drawn) == 1:
            self._watcher.on_message("every combination was tried")
            return None
        if plan is None:
            everyone = (len(drawn),) * len(RUNGS)
            sizes = everyone if self._cost(everyone) <= seconds else rung_sizes(len(drawn), rungs)
            plan = Plan(sizes=sizes, seconds=seconds)
            keep(file, plan)
        if number == 1:
            self._heaviest = self._heaviest_for(plan)
        return plan, drawn

    def _rungs(self, seconds: float, *, again: bool) -> int:
        """Return how many rungs these seconds are enough for, or 0.

        Args:
            again: this is not the first round. It then needs all rungs, or as many as the first round had.
        """
        whole = len(RUNGS)
        for rungs in (whole, whole - 1):
            if self._cost(rung_sizes(_FEWEST, rungs)) <= seconds:
                return 0 if again and rungs < whole and (0, PARTS - 1, 1.0) in self._runs else rungs
        return 0

    def _cost(self, sizes: Sequence[int]) -> float:
        """Return about how many seconds the rungs take with so many candidates, after the first two trials."""
        unit, counting, last = self._unit(0), self._readers_seconds, sizes[-1]
        trainings = sum(
            len(rung.parts) * rung.share * _HEAVIER * (size - 1)
            for rung, size in zip(RUNGS, sizes, strict=True)
            if size
        )
        trainings += len(RUNGS[-1].parts) if last else 0  # of the recipe as it is
        readers = len(self._setup.space.get("model.counting", ("",)))
        fits = (readers - 1) + (PARTS - 1) * min(readers, last)
        return trainings * unit + fits * counting

    def _run_all(self, alive: Sequence[Candidate], rung: Rung, *, later: float) -> None:
        """Train the candidates on all parts of a rung, as far as time allows."""
        for part, candidate in itertools.product(rung.parts, alive):
            if (candidate.number, part, rung.share) in self._runs:
                continue
            reserve = self._spare + self._reserve(alive) + later
            in_time = self._clock.left - reserve >= rung.share * self._unit(candidate.number)
            deadline = self._clock.deadline(reserve) if in_time else None
            if self._run(candidate, part, rung.share, deadline=deadline) is None and len(rung.parts) > 1:
                return  # the loss over several parts needs all candidates on each of them

    def _run(self, candidate: Candidate, part: int, share: float, *, deadline: float | None) -> TrialRun | None:
        """Return the trial, which may have been kept. None if there is no time for it.

        Args:
            deadline: see `run_trial`. None: only a kept trial is wanted.
        """
        setup = self._setup
        job = Job(
            candidate=candidate.number,
            recipe=candidate.recipe,
            part=setup.parts[part],
            number=part,
            share=share,
            device=setup.device,
            judge=setup.judge,
        )
        run = read_kept(job.file(setup.folder), TrialRun)
        if run is not None:
            self._clock.earlier += run.seconds
        elif deadline is None:
            return None
        else:
            self._watcher.on_run(candidate.name)
            try:
                run = run_trial(job, setup.folder, deadline=deadline, on_share=self._watcher.on_share)
            except OutOfTimeError:
                return None
            self._watcher.on_done(run, candidate.name)
        self._runs[candidate.number, part, share] = run
        return run

    def _best(self, alive: Sequence[Candidate], rung: Rung, count: int) -> list[Candidate]:
        """Return the best candidates of a rung, the recipe as it is always among them.

        Those that would take too long to measure after the search are left out.
        """
        first = min(alive, key=lambda each: each.number)
        rated = [
            each
            for each in alive
            if each is first
            or (
                math.isfinite(self._mean(each, rung.parts[:1], rung.share))
                and self._unit(each.number) <= self._heaviest
            )
        ]
        rated.sort(key=lambda each: self._rank(each, rung))
        chosen = rated[:count]
        if first not in chosen:
            chosen = [*chosen[: count - 1], first]
        for each in alive:
            if each not in rated:
                self._dropped[each.number] = self._why(each, rung)
            elif each not in chosen:
                loss = self._mean(each, rung.parts[:1], rung.share)
                place = f"place {rated.index(each) + 1} of {len(alive)}"
                self._dropped[each.number] = f"rung {rung.number}: loss {loss:.4f}, {place}"
        return chosen

    def _why(self, candidate: Candidate, rung: Rung) -> str:
        """Say why a candidate has no loss in a rung, or was left out after it."""
        runs = [self._runs.get((candidate.number, part, rung.share)) for part in rung.parts]
        if any(run is not None and run.failed is not None for run in runs):
            return f"rung {rung.number}: failed"
        if None in runs:
            return f"rung {rung.number}: no time"
        return f"rung {rung.number}: {about(self._final * self._unit(candidate.number))} to measure, too slow"

    def _rank(self, candidate: Candidate, rung: Rung) -> tuple[float, ...]:
        """Return what the candidates of a rung are sorted by: the loss, then that of the transformer alone.

        After few steps the transformer often has no weight beside the counting reader, and all losses are those of the
        counting reader alone.
        """
        run = self._runs.get((candidate.number, rung.parts[0], rung.share))
        own = math.inf if run is None or run.own_loss is None else run.own_loss
        return round(self._mean(candidate, rung.parts[:1], rung.share), DIGITS), own, candidate.number

    def _mean(self, candidate: Candidate, parts: Iterable[int], share: float) -> float:
        """Return the mean loss over parts. Infinite if a training failed or is missing."""
        runs = [self._runs.get((candidate.number, part, share)) for part in parts]
        losses = [math.inf if run is None or run.loss is None else run.loss for run in runs]
        return sum(losses) / len(losses) if losses else math.inf

    def _unit(self, number: int) -> float:
        """Return the seconds of a training of a candidate with all steps, without counting."""
        if not number and (0, 0, 1.0) not in self._runs:  # its short training warmed up
            return max(0.1, self._runs[0, 0, SHORT].steps_seconds / SHORT)
        runs = [self._runs.get((number, 0, share)) for share in (1.0, SHORT)]
        found = [(run.seconds - run.readers_seconds) / run.share for run in runs if run is not None]
        return max(0.1, min(found)) if found else _HEAVIER * self._unit(0)

    def _heaviest_for(self, plan: Plan) -> float:
        """Return the seconds that a training may take, so that there is time to measure it after the search."""
        final, unit = self._final, self._unit(0)
        return max(_HEAVIER * unit, _MEASURING * plan.seconds / final - unit) if final else math.inf

    def _reserve(self, alive: Sequence[Candidate]) -> float:
        """Return the seconds that measuring takes: the heaviest candidate, and the recipe as it is if that is not done.

        Args:
            alive: the candidates in question. If there are none yet, heavier ones than the recipe are expected.
        """
        if not self._final:
            return 0.0
        counting, unit = self._readers_seconds, self._unit(0)
        finished = {number for number, _, share in self._runs if share == 1}
        units = [self._unit(number) for number in {each.number for each in alive} | finished if number]
        heaviest = min(max([*units, *([] if alive else [_HEAVIER * unit])], default=unit), self._heaviest)
        trainings = [heaviest] if self._measured else [unit, heaviest]
        return _SAFE * self._final * sum(training + counting for training in trainings)
