"""Two processes that train one model, acted by two threads: where they share, sum and agree, and what comes of it."""

import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from glassformer.data.stopping import StopRequest
from glassformer.errors import UsageError
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER
from glassformer.training import loop
from glassformer.training.classification import Classification
from glassformer.training.loop import InterruptedTraining, Trainer
from glassformer.training.processes import LostProcessError, Processes, leader_first
from glassformer.training.task import Examples
from glassformer.training.unfinished import finish, work_in
from tests.training.samples import STILL, Memory, config, toy_data, trainer
from tests.training.test_resume import assert_same_end


class Meeting:
    """Where two threads exchange what each of them has."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(2, timeout=60)
        self.brought: list[Any] = [None, None]

    def exchange(self, rank: int, mine: Any) -> list[Any]:
        self.brought[rank] = mine
        self.barrier.wait()
        both = list(self.brought)
        self.barrier.wait()
        return both


class Member(Processes):
    """One of two processes."""

    def __init__(self, meeting: Meeting, rank: int) -> None:
        self.meeting, self.rank, self.leads = meeting, rank, rank == 0
        self.shared: list[int] = []
        self.called: list[str] = []

    size = 2

    def apart(self) -> AbstractContextManager[None]:
        return nullcontext()

    def share(self, batches: list[Examples]) -> list[Examples]:
        self.called.append("share")
        mine = [part for batch in batches for part in batch.split(2)[self.rank : self.rank + 1]]
        self.shared.append(sum(len(part.labels) for part in mine))
        return mine

    def sum(self, values: Sequence[float], parameters: Iterable[nn.Parameter]) -> Sequence[float]:
        self.called.append("sum")
        known = list(parameters)
        gradients = [None if weight.grad is None else weight.grad.clone() for weight in known]
        both = self.meeting.exchange(self.rank, (values, gradients))
        for weight, *given in zip(known, *(gradients for _, gradients in both), strict=True):
            there = [gradient for gradient in given if gradient is not None]
            weight.grad = torch.stack(there).sum(dim=0) if there else None
        return [first + second for first, second in zip(*(values for values, _ in both), strict=True)]

    def agree(self, *values: float) -> Sequence[float]:
        self.called.append("agree")
        return [max(both) for both in zip(*self.meeting.exchange(self.rank, values), strict=True)]


def together(make: Callable[[int, Member], Trainer[Any]]) -> list[tuple[Trainer[Any], Member, BaseException | None]]:
    """Two trainers run side by side; what each of them was stopped by, if by anything."""
    meeting = Meeting()
    members = [Member(meeting, rank) for rank in range(2)]
    trainers = [make(rank, member) for rank, member in enumerate(members)]
    ends: list[BaseException | None] = [None, None]

    def run(rank: int) -> None:
        try:
            trainers[rank].run()
        except BaseException as error:
            ends[rank] = error
            if not isinstance(error, InterruptedTraining):
                meeting.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,), name=str(rank)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return list(zip(trainers, members, ends, strict=True))


def member(training: dict[str, Any], processes: Any, observer: Memory | None = None) -> Trainer[Any]:
    found = trainer(config(token_dropout=0.0, **training), model=STILL, randomised=True, observer=observer)
    found.processes = processes
    return found


@pytest.mark.parametrize("training", [{}, {"accumulation": 2}, {"batch_size": 1, "epochs": 1}])
def test_two_processes_learn_what_one_learns(training: dict[str, Any]) -> None:
    """Of a batch of one example, the second process has none."""
    alone = member(training, Processes())
    alone.run()
    (first, its, error), (second, theirs, other) = together(lambda _, process: member(training, process))
    assert (error, other) == (None, None)
    for name, weight in alone.model.state_dict().items():
        assert torch.equal(first.model.state_dict()[name], second.model.state_dict()[name]), name
        torch.testing.assert_close(first.model.state_dict()[name], weight, rtol=1e-3, atol=2e-5, msg=name)
    for row, expected in zip(first.state.history, alone.state.history, strict=True):
        for figure in expected.keys() - {"seconds"}:
            assert row[figure] == pytest.approx(expected[figure], rel=1e-3), figure
    assert first.state.history == second.state.history
    counted = sum(its.shared) + sum(theirs.shared)
    assert counted == 47 * alone.state.epoch
    epochs = alone.state.epoch
    assert its.called.count("share") == its.called.count("sum") == alone.state.step
    assert its.called.count("agree") == 2 * (alone.state.step + epochs)  # on the time, on stopping, on the best


def test_one_process_is_alone_and_leaves_everything_as_it_is() -> None:
    batches, values = trainer(config()).task.steps(0)[0](), (1.5, 2.0, float("inf"))
    weight = nn.Parameter(torch.ones(2))
    alone, random = Processes(), torch.get_rng_state()
    with alone.apart():
        assert torch.equal(torch.get_rng_state(), random)
    assert (alone.size, alone.leads) == (1, True)
    assert alone.share(batches) is batches
    assert alone.sum(values, [weight]) == values
    assert weight.grad is None
    assert alone.agree(*values) == values


def test_a_stop_that_one_hears_stops_both(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"0": StopRequest(), "1": StopRequest()}
    monkeypatch.setattr(loop, "stop_requests", lambda: nullcontext(asked[threading.current_thread().name]))

    def make(rank: int, process: Member) -> Trainer[Any]:
        def hear(step: int) -> None:
            if rank == 1 and step == 3:
                asked["1"].number = signal.SIGTERM

        return member({}, process, Memory(after_step=hear))

    found = together(make)
    assert [type(error) for _, _, error in found] == [InterruptedTraining, InterruptedTraining]
    assert [str(error) for _, _, error in found] == ["stopped by SIGTERM"] * 2
    assert [run.state.step for run, _, _ in found] == [3, 3]


def test_a_budget_of_time_ends_for_both_after_the_same_step() -> None:
    def make(rank: int, process: Member) -> Trainer[Any]:
        return member({"max_seconds": 0.3}, process, Memory(after_step=lambda _: time.sleep(0.02 * rank)))

    found = together(make)
    assert [error for _, _, error in found] == [None, None]
    assert found[0][0].state.step == found[1][0].state.step
    assert found[0][0].state.history == found[1][0].state.history


class Disagreeing(Classification):
    """A task that finds other validation losses in each process."""

    def __init__(self, losses: Sequence[float]) -> None:
        super().__init__(toy_data(), config(), max_seq_len=STILL.max_seq_len)
        self.losses = iter(losses)

    def validate(self, model: nn.Module) -> dict[str, float]:  # noqa: ARG002
        return {"validation_loss": next(self.losses)}


def test_both_keep_the_same_epoch() -> None:
    losses = [[0.9, 0.8, 0.7], [0.5, 0.4, 0.6]]  # alone, the second would keep its second epoch

    def make(rank: int, process: Member) -> Trainer[Any]:
        found = member({"epochs": 3}, process)
        found.task = Disagreeing(losses[rank])
        return found

    found = together(make)
    assert [error for _, _, error in found] == [None, None]
    assert [run.state.best_epoch for run, _, _ in found] == [3, 3]
    assert [run.state.best_loss for run, _, _ in found] == [0.7, 0.7]


class LosesTheOther(Processes):
    """The other process is lost at this call of `sum` or `agree`."""

    size = 2

    def __init__(self, call: int, *, leads: bool = True) -> None:
        self.left, self.leads = call, leads

    def sum(self, values: Sequence[float], parameters: Iterable[nn.Parameter]) -> Sequence[float]:
        self._meet()
        return super().sum(values, parameters)

    def agree(self, *values: float) -> Sequence[float]:
        self._meet()
        return super().agree(*values)

    def _meet(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise LostProcessError


def test_wherever_a_process_is_lost_the_run_is_saved_and_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    training = config(epochs=2, token_dropout=0.2)
    uninterrupted = trainer(training)
    uninterrupted.run()
    calls = 2 * (5 * 3 + 2)  # in each of two epochs: five steps, and the end
    for call in [0, 1, 2, 3, *range(13, 19), calls - 1]:
        file = tmp_path / f"{call}.safetensors"
        loses = trainer(training, checkpoint=file)
        loses.processes = LosesTheOther(call)
        with pytest.raises(LostProcessError) as lost:
            loses.run()
        saved = loses.state.step
        assert f"the run is saved up to step {saved}. Continue it with `resume=True`" in str(lost.value)
        resumed = trainer(training, checkpoint=file)
        resumed.resume()
        assert resumed.state.step == saved
        resumed.run()
        assert_same_end(resumed, uninterrupted)
        assert resumed.state.history[0].keys() == uninterrupted.state.history[0].keys()
    unharmed = trainer(training)
    unharmed.processes = LosesTheOther(calls)
    unharmed.run()


def test_a_process_that_does_not_lead_saves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "state.safetensors"
    follows = trainer(config(), checkpoint=file)
    follows.processes = LosesTheOther(7, leads=False)
    with pytest.raises(LostProcessError, match="nothing is saved"):
        follows.run()
    assert not file.exists()


def test_the_leader_is_first() -> None:
    meeting, order = Meeting(), list[int]()

    def run(rank: int) -> None:
        with leader_first(Member(meeting, rank)):
            time.sleep(0.1 * (1 - rank))
            order.append(rank)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in (1, 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order == [0, 1]


def test_a_process_that_sees_other_data_or_another_folder_is_refused(tmp_path: Path) -> None:
    identity = {"train": "a" * 64, "recipe": {"training": {"seed": 1}}}
    leads, follows = LosesTheOther(9), LosesTheOther(9, leads=False)
    out = tmp_path / "out"
    with work_in(out, identity, resume=False, overwrite=False, processes=leads):
        with work_in(out, identity, resume=False, overwrite=False, processes=follows):
            pass
        other = identity | {"recipe": {"training": {"seed": 2}}}
        with (
            pytest.raises(UsageError, match=r"see other data or settings: training\.seed was 1 and is now 2"),
            work_in(out, other, resume=False, overwrite=False, processes=follows),
        ):
            pass
        with (
            pytest.raises(UsageError, match="need one folder in common; give it as `out=`"),
            work_in(tmp_path / "elsewhere", identity, resume=False, overwrite=False, processes=follows),
        ):
            pass
        assert (out / CHECKPOINT_FOLDER).is_dir()  # whoever follows removes nothing
    assert not (tmp_path / "elsewhere").exists()


def test_the_run_is_removed_by_the_process_that_has_written_the_model_alone(tmp_path: Path) -> None:
    """Whoever notices a loss leads from then on, but the model may not be there."""

    class Succeeds(LosesTheOther):
        def _meet(self) -> None:
            self.leads = True
            super()._meet()

    work = tmp_path / CHECKPOINT_FOLDER
    work.mkdir()
    with pytest.raises(LostProcessError):
        finish(tmp_path, lambda: None, saved_step=3, processes=Succeeds(0, leads=False))
    assert work.is_dir()
    finish(tmp_path, lambda: None, saved_step=3, processes=Succeeds(0))
    assert not work.exists()
