import itertools
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from glassformer.errors import UsageError
from glassformer.experiments.keeper import keep, read_kept
from glassformer.experiments.search import budget, halving
from glassformer.experiments.search.budget import RUNGS, Clock, Plan
from glassformer.experiments.search.halving import Halving, Searched, Setup
from glassformer.experiments.search.rows import inner_parts
from glassformer.experiments.search.space import Candidate, read_space
from glassformer.experiments.search.trial import Answered, Job, TrialRun
from glassformer.experiments.watching import OutOfTimeError
from glassformer.targets.labels.experiments import PART as LABELS
from tests.experiments.search.samples import Notes, recipe
from tests.training.samples import opinions

OVER = ("dropout=0.0,0.1,0.2,0.3,0.4", "training.learning_rate=1e-4,1e-3,1e-2", "training.token_dropout=0,0.1,0.2")
UNIT = 10.0  # seconds of a training with all steps


class World:
    """Trainings that take no time: the clock moves, and the loss is that of a function of the recipe."""

    def __init__(self, loss: Callable[[Job], float | None], slower: Callable[[Job], float]) -> None:
        self.now, self.jobs, self.steps = 0.0, list[Job](), 0.0
        self._loss, self._slower = loss, slower

    def perf_counter(self) -> float:
        return self.now

    def run_trial(self, job: Job, folder: Path, *, deadline: float, on_share: Callable[[float], None]) -> TrialRun:
        on_share(0.5)
        took = UNIT * job.share * self._slower(job)
        if self.now + took > deadline:
            self.now = deadline
            raise OutOfTimeError
        self.now += took
        self.jobs.append(job)
        loss = self._loss(job)
        run = TrialRun(
            candidate=job.candidate, part=job.number, share=job.share, loss=loss, own_loss=own(job), figure=0.5,
            parameters=7, seconds=took, steps_seconds=self.steps * took, failed="diverged" if loss is None else None,
        )  # fmt: skip
        keep(job.file(folder), run)
        return run


def by_dropout(job: Job) -> float:
    model: Any = job.recipe.model
    return 1 + abs(model.dropout - 0.2) + (job.number + 1) / 1000


def own(job: Job) -> float:
    """Of the transformer alone: it differs from the loss of both readers."""
    return abs(job.recipe.training.learning_rate - 1e-2)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    def made(loss: Callable[[Job], float | None] = by_dropout, slower: Callable[[Job], float] = lambda _: 1) -> World:
        found = World(loss, slower)
        monkeypatch.setattr(budget, "time", SimpleNamespace(perf_counter=found.perf_counter))
        monkeypatch.setattr(halving, "run_trial", found.run_trial)
        return found

    return made


def run(
    folder: Path,
    world: World,
    *,
    minutes: float,
    final: float = 1.0,
    watcher: Notes | None = None,
    began: float | None = None,
    **more: Any,
) -> Searched:
    base = recipe(**{"model.dropout": 0.4})
    setup = Setup(
        judge=LABELS, recipe=base, space=read_space(OVER, base),
        parts=inner_parts(opinions(120), None, LABELS, seed=0), folder=folder, device="cpu", final=final,
        **more,
    )  # fmt: skip
    return Halving(setup, Clock(60 * minutes, began=world.now if began is None else began), watcher or Notes()).search()


def planned(folder: Path, number: int) -> Plan:
    found = read_kept(folder / f"search-1-round-{number}.json", Plan)
    assert found is not None
    return found


def rung(jobs: list[Job], number: int) -> set[int]:
    chosen = RUNGS[number]
    return {job.candidate for job in jobs if job.share == chosen.share and job.number in chosen.parts}


def test_the_best_third_goes_on_and_the_recipe_as_it_is_always(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world()
    found = run(tmp_path, made, minutes=5)
    sizes = planned(tmp_path, 1).sizes
    jobs = [job for job in made.jobs if job.candidate < sizes[0]]  # of the first round
    assert sizes[0] > 12
    assert sizes == (sizes[0], math.ceil(sizes[0] / 3), math.ceil(sizes[0] / 9))
    assert [len(rung(jobs, number)) for number in range(3)] == list(sizes)
    assert rung(jobs, 2) < rung(jobs, 1) < rung(jobs, 0)
    assert all(0 in rung(jobs, number) for number in range(3))
    assert found.best.recipe.model.dropout == 0.2  # type: ignore[union-attr]
    assert found.parts == 3
    assert found.losses[found.best.number] == pytest.approx(1.002)
    assert made.now < 300 - 2 * UNIT  # time is left for the two trainings after the search


def test_time_that_is_left_is_for_another_round(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world(slower=lambda job: 0.3 if job.candidate else 1.0)  # faster than the plan expects
    found = run(tmp_path, made, minutes=4)
    assert len(found.candidates) > planned(tmp_path, 1).sizes[0]
    assert planned(tmp_path, 2).sizes[2]
    assert found.parts == 3
    assert 2 * len(found.candidates) > 3 * planned(tmp_path, 1).sizes[0]
    assert made.now < 240 - 1.3 * UNIT
    keys = [(job.candidate, job.number, job.share) for job in made.jobs]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("minutes", [4, 5, 6, 8])
def test_every_round_trains_some_candidates(minutes: int, tmp_path: Path, world: Callable[..., World]) -> None:
    """Also if a training at the end takes long, and candidates take less time than was expected."""
    made, watcher = world(slower=lambda job: 0.3 if job.candidate else 1.0), Notes()
    found = run(tmp_path, made, minutes=minutes, final=5.0, watcher=watcher)
    trained = {job.candidate for job in made.jobs}
    rounds = len(list(tmp_path.glob("search-1-round-*.json")))
    sizes = [planned(tmp_path, number).sizes[0] - 1 for number in range(1, rounds + 1)]
    assert len(found.candidates) <= 1 + sum(sizes)
    ends = list(itertools.accumulate(sizes, initial=0))
    empty = [number for number in range(rounds) if trained.isdisjoint(range(ends[number] + 1, ends[number + 1] + 1))]
    assert empty in ([], [rounds - 1])
    assert made.now < 60 * minutes - 5 * 1.3 * UNIT


def test_parts_have_seeds_of_their_own(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world()
    run(tmp_path, made, minutes=5)
    assert {(job.number, job.part.seed) for job in made.jobs} == {(0, 0), (1, 1), (2, 2)}


def test_with_time_for_all_every_candidate_sees_every_part(tmp_path: Path, world: Callable[..., World]) -> None:
    made, watcher = world(), Notes()
    found = run(tmp_path, made, minutes=60, watcher=watcher)
    assert watcher.messages == ["every combination was tried"]
    assert len(found.candidates) == 1 + 5 * 3 * 3  # the rate of the recipe as it is is none of the three
    assert [len(rung(made.jobs, number)) for number in range(3)] == [46, 46, 46]


def test_if_time_is_short_the_last_rung_is_left_out(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world()
    found = run(tmp_path, made, minutes=1.8)
    assert len(rung(made.jobs, 0)) > 4
    assert len(rung(made.jobs, 1)) > 1
    assert not rung(made.jobs, 2)
    assert found.parts == 1
    assert made.now < 108 - 2 * UNIT


def test_too_little_time_is_said_with_the_time_that_is_needed(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world()
    with pytest.raises(
        UsageError, match=r"`minutes=1` is too short: .*10 seconds.*Give at least (\d) minutes"
    ) as error:
        run(tmp_path, made, minutes=1)
    minutes = int(error.value.message.split()[-2])
    assert len(run(tmp_path / "again", world(), minutes=minutes).candidates) >= 4


def test_the_short_training_alone_may_show_that_the_time_is_too_short(
    tmp_path: Path, world: Callable[..., World]
) -> None:
    made = world()
    made.steps = 1.0
    with pytest.raises(UsageError, match="`minutes=1` is too short: a trial takes about 10 seconds"):
        run(tmp_path, made, minutes=1)
    assert len(made.jobs) == 1
    endless = world(slower=lambda _: 1000)
    with pytest.raises(UsageError, match="`minutes=1` is too short: the first trainings take longer; give more"):
        run(tmp_path / "endless", endless, minutes=1)
    assert endless.now < 70


def test_warming_up_does_not_count_as_the_time_of_a_trial(tmp_path: Path, world: Callable[..., World]) -> None:
    def slower(job: Job) -> float:
        each, first = 5, 20  # seconds, of each training and of the first one
        return 1 + (each if made.jobs else each + first) / (UNIT * job.share)

    made = world(slower=slower)
    with pytest.raises(UsageError, match="a trial takes about 15 seconds"):
        run(tmp_path, made, minutes=1)


def test_the_measurement_is_timed_before_the_rungs(tmp_path: Path, world: Callable[..., World]) -> None:
    """It takes five times what was expected, and the rungs leave as much for that of the choice."""
    made = world()

    def measure(candidate: Candidate) -> Answered:
        assert candidate.number == 0
        assert len(made.jobs) == 2
        made.now += 5 * UNIT
        return Answered(rows={}, seconds=5 * UNIT)

    found = run(tmp_path, made, minutes=5, measure=measure)
    assert found.best.recipe.model.dropout == 0.2  # type: ignore[union-attr]
    assert 250 - 1.5 * 5 * 1.2 * UNIT - 2 * UNIT < made.now < 300 - 5 * UNIT
    short = world()
    with pytest.raises(UsageError, match=r"trainings that measure the choice 50 seconds. Give at least 4 minutes"):
        run(tmp_path / "short", short, minutes=2, measure=lambda _: slow(short))
    assert len(short.jobs) == 2


def slow(world: World) -> Answered:
    world.now += 5 * UNIT
    return Answered(rows={}, seconds=5 * UNIT)


def test_the_first_of_several_searches_sees_that_there_is_time_for_all(
    tmp_path: Path, world: Callable[..., World]
) -> None:
    words = r"fewer than 500 rows, a table needs 5 such searches\. Give at least (\d+) minutes"
    with pytest.raises(UsageError, match=words) as error:
        run(tmp_path / "short", world(), minutes=5, later=4)
    minutes = int(error.value.message.split()[-2])
    made = world()
    for number in range(5):
        found = run(tmp_path / str(number), made, minutes=minutes, later=4 - number, earlier=number, began=0.0)
        assert len({job.candidate for job in made.jobs}) > 1
        assert len(found.candidates) >= 4
        made.jobs.clear()
        made.now += 2 * UNIT if number < 4 else 0  # both measurements
    assert made.now < 60 * minutes


def test_a_later_search_without_time_keeps_the_recipe_as_it_is(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world()
    assert run(tmp_path, made, minutes=0.5, earlier=1).best.number == 0
    assert len(made.jobs) == 2


def test_why_a_candidate_was_not_trained_further(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world(loss=lambda job: None if job.candidate == 5 else by_dropout(job))
    found = run(tmp_path, made, minutes=5)
    trained = {job.candidate for job in made.jobs}
    assert set(found.losses).isdisjoint(found.dropped)
    assert trained <= set(found.losses) | set(found.dropped)
    assert found.dropped[5] == "rung 1: failed"
    sizes = planned(tmp_path, 1).sizes
    losses = {
        job.candidate: by_dropout(job) for job in made.jobs if job.share < 1 and 0 < job.candidate < sizes[0] != 5
    }
    worst = max(losses.values())
    places = [why for number, why in found.dropped.items() if number in losses and losses[number] == worst]
    assert places
    assert all(why.startswith(f"rung 1: loss {worst:.4f}, place ") for why in places)
    assert all(why.endswith(f" of {sizes[0]}") for why in places)
    assert any(why.startswith("rung 2: loss ") for why in found.dropped.values())


def test_a_candidate_without_time_is_said_to_have_none(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world(slower=lambda job: 1.0 if job.candidate == 0 else 4.0)
    found = run(tmp_path, made, minutes=5)
    assert "rung 1: no time" in found.dropped.values()


def test_slow_candidates_do_not_take_the_time_of_the_measurement(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world(slower=lambda job: 1.0 if job.candidate == 0 else 4.0)
    found = run(tmp_path, made, minutes=5)
    assert made.now < 300 - 2 * UNIT
    assert 1 < len(rung(made.jobs, 0)) < len(found.candidates)


def test_a_candidate_that_takes_too_long_to_measure_is_left_out(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world(slower=lambda job: 5.0 if job.candidate % 2 else 1.0)
    found = run(tmp_path, made, minutes=6, final=5.0)
    assert any(number % 2 for number in rung(made.jobs, 0))
    assert "rung 1: 4.2 minutes to measure, too slow" in found.dropped.values()
    assert not any(number % 2 for number in rung(made.jobs, 1))
    assert found.best.number
    assert made.now < 360 - 5 * 2 * UNIT
    assert len(rung(made.jobs, 2)) > 1


def test_what_fails_does_not_go_on(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world(loss=lambda job: None if job.candidate % 2 else by_dropout(job))
    found = run(tmp_path, made, minutes=5)
    assert not any(number % 2 for number in rung(made.jobs, 1))
    assert found.best.number % 2 == 0


def test_if_all_others_fail_the_recipe_as_it_is_stays(tmp_path: Path, world: Callable[..., World]) -> None:
    found = run(tmp_path, world(loss=lambda job: None if job.candidate else 1.0), minutes=5)
    assert found.best.number == 0


def test_a_recipe_that_cannot_be_trained_is_refused(tmp_path: Path, world: Callable[..., World]) -> None:
    with pytest.raises(UsageError, match="cannot be trained on a part of the rows: diverged"):
        run(tmp_path, world(loss=lambda _: None), minutes=5)


def test_of_equal_losses_the_transformer_alone_decides_who_goes_on(tmp_path: Path, world: Callable[..., World]) -> None:
    made = world(loss=lambda _: 1.0)
    run(tmp_path, made, minutes=5)
    jobs = [job for job in made.jobs if job.candidate < planned(tmp_path, 1).sizes[0]]  # of the first round
    rates = {job.candidate: job.recipe.training.learning_rate for job in jobs}
    going = [rates[number] for number in rung(jobs, 1) if number]
    others = [rate for number, rate in rates.items() if number and number not in rung(jobs, 1)]
    assert min(going) >= max(others)


def test_equal_losses_leave_the_recipe_as_it_is(tmp_path: Path, world: Callable[..., World]) -> None:
    assert run(tmp_path, world(loss=lambda _: 1.0), minutes=5).best.number == 0


@pytest.mark.parametrize("stop_after", [1, 2, 9, 25])
def test_resumed_is_uninterrupted(stop_after: int, tmp_path: Path, world: Callable[..., World]) -> None:
    whole = run(tmp_path / "whole", world(), minutes=5)
    made = world()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "parts", made, minutes=5, watcher=Notes(stop_after))
    before = len(made.jobs)
    assert before == stop_after
    again = run(tmp_path / "parts", made, minutes=5)
    assert (again.best.settings, again.losses) == (whole.best.settings, whole.losses)
    assert [each.settings for each in again.candidates] == [each.settings for each in whole.candidates]
    keys = [(job.candidate, job.number, job.share) for job in made.jobs]
    assert len(set(keys)) == len(keys), "a kept trial was repeated"
    assert again.runs == whole.runs


def test_candidates_are_drawn_in_the_same_order_whatever_the_time(tmp_path: Path, world: Callable[..., World]) -> None:
    short = run(tmp_path / "short", world(), minutes=4)
    long = run(tmp_path / "long", world(), minutes=6)
    assert len(short.candidates) < len(long.candidates)
    same = itertools.zip_longest(short.candidates, long.candidates[: len(short.candidates)])
    assert all(one.settings == other.settings for one, other in same)
