import math
import signal
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

from glassformer.training.loop import InterruptedTraining
from glassformer.training.optimizers import learning_rate
from glassformer.training.training_config import TrainingConfig
from tests.training.samples import Memory, config, toy_data, trainer


@pytest.mark.parametrize("max_steps", [3, 5, 13], ids=["within an epoch", "one epoch", "mid-epoch"])
def test_exactly_so_many_steps_whatever_epochs_and_patience_say(max_steps: int) -> None:
    memory = Memory()
    training = config(max_steps=max_steps, epochs=1, patience=1)
    history = trainer(training, data=toy_data(wrong_validation=True), observer=memory).run()
    assert len(memory.steps) == max_steps
    assert [row["step"] for row in history] == [min(step, max_steps) for step in range(5, max_steps + 5, 5)]
    assert {report.epochs for report in memory.steps} == {math.ceil(max_steps / 5)}
    assert memory.steps[-1].seconds_left == pytest.approx(0)


def test_the_schedule_is_stretched_over_the_steps() -> None:
    training = config(max_steps=8, warmup=0.25)
    run, rates = trainer(training), list[float]()
    run.observer = Memory(lambda _: rates.append(run.state.learning_rate))
    run.run()
    assert rates == pytest.approx([learning_rate(training, (step + 0.5) / 8) for step in range(8)])
    assert rates[-1] < rates[4] < max(rates)


def test_the_last_weights_where_nothing_is_held_out() -> None:
    run = trainer(config(max_steps=7), data=toy_data(n_validation=0))
    last: dict[str, torch.Tensor] = {}
    run.observer = Memory(lambda step: last.update(run.model.state_dict()) if step == 7 else None)
    run.run()
    assert run.state.best_epoch == 2
    assert all(torch.equal(tensor, last[name]) for name, tensor in run.model.state_dict().items())


def test_the_best_epoch_otherwise() -> None:
    history = (run := trainer(config(max_steps=13, learning_rate=0.05), data=toy_data(wrong_validation=True))).run()
    losses = [row["validation_loss"] for row in history]
    assert len(losses) == 3
    assert run.state.best_epoch == losses.index(min(losses)) + 1 < 3


@pytest.mark.parametrize("step", [1, 5, 12, 13], ids=["first", "end of an epoch", "last but one", "last"])
def test_interrupted_and_resumed_is_uninterrupted(step: int, tmp_path: Path) -> None:
    training = config(max_steps=13, learning_rate=0.02, token_dropout=0.2)
    whole = trainer(training)
    whole.run()
    file = tmp_path / "state.safetensors"
    stop = Memory(lambda done: signal.raise_signal(signal.SIGINT) if done == step else None)
    with pytest.raises(InterruptedTraining):
        trainer(training, checkpoint=file, observer=stop).run()
    resumed = trainer(training, checkpoint=file)
    resumed.resume()
    resumed.run()
    assert resumed.state.step == 13
    assert [row["train_loss"] for row in resumed.state.history] == [row["train_loss"] for row in whole.state.history]
    weights = whole.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in resumed.model.state_dict().items())


def test_so_many_seconds_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1_000_000))  # every look at the clock finds it a second on
    monkeypatch.setattr("glassformer.training.loop.time.perf_counter", lambda: float(next(clock)))
    training = config(max_seconds=17.0, epochs=1, schedule="linear", warmup=0.0)
    run, rates = trainer(training), list[float]()
    memory = run.observer = Memory(lambda _: rates.append(run.state.learning_rate))
    history = run.run()
    # one second per step, one for the validation after every fifth
    assert [row["step"] for row in history] == [5, 10, 15]
    assert run.state.seconds == 18
    spent = [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16]
    assert rates == pytest.approx([1e-3 * (1 - seconds / 17) for seconds in spent])
    assert memory.steps[-1].seconds_left == 0
    assert memory.steps[1].seconds_left == pytest.approx(15)


def test_two_budgets_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"max_steps = 9 and max_seconds = 2\.5 are two budgets"):
        TrainingConfig(max_steps=9, max_seconds=2.5)
