"""What two processes check together. torchrun runs this file, with a folder: see test_many_processes.py."""

import signal
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import nn

from glassformer.data.batches import ModelInputs
from glassformer.data.documents import Documents
from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig
from glassformer.training import time_plan
from glassformer.training.loop import InterruptedTraining
from glassformer.training.many_processes import ManyProcesses
from glassformer.training.processes import wait_for_all
from glassformer.training.run import train_model
from glassformer.training.task import Examples
from glassformer.training.training_config import PretrainingConfig
from tests.training.samples import STILL, Memory, config, opinions, recipe, trainer


def check_that_gradients_are_summed(processes: ManyProcesses) -> None:
    both, first, none, frozen = (nn.Parameter(torch.zeros(2, 3)) for _ in range(4))
    both.grad = torch.full((2, 3), 1.0 + processes.rank)
    if processes.leads:
        first.grad = torch.arange(6.0).reshape(2, 3)
    frozen.requires_grad_(False)
    assert processes.sum([1.0, processes.rank, float("inf")], [both, first, none, frozen]) == [2, 1, float("inf")]
    assert torch.equal(both.grad, torch.full((2, 3), 3.0))
    assert first.grad is not None
    assert torch.equal(first.grad, torch.arange(6.0).reshape(2, 3))
    assert none.grad is None
    assert frozen.grad is None


def check_that_each_example_goes_to_one_process(processes: ManyProcesses) -> None:
    def batch(rows: int) -> Examples:
        ids = torch.arange(rows * 2).reshape(rows, 2)
        return Examples(ModelInputs(ids, torch.ones_like(ids, dtype=torch.bool)), torch.arange(rows))

    parts = processes.share([batch(5), batch(1)])
    assert [part.labels.tolist() for part in parts] == ([[0, 1, 2], [0]] if processes.leads else [[3, 4]])
    assert all(torch.equal(part.inputs.token_ids[:, 0], 2 * part.labels) for part in parts)


def check_that_random_numbers_part_and_meet(processes: ManyProcesses) -> None:
    torch.manual_seed(1)
    seen: list[float] = []
    for _ in range(2):
        with processes.apart():
            drawn = float(torch.rand(()))
        of_each = processes.sum([drawn * (processes.rank == rank) for rank in range(2)], [])
        assert of_each[0] != of_each[1]
        seen += of_each
        common = float(torch.rand(()))
        assert processes.agree(common, -common) == [common, -common]
    assert len(set(seen)) == 4


def check_that_the_loss_curve_is_that_of_one(processes: ManyProcesses) -> None:
    for training in ({}, {"accumulation": 2}, {"batch_size": 1, "epochs": 1}):
        made = [trainer(config(token_dropout=0.0, **training), model=STILL, randomised=True) for _ in range(2)]
        alone, together = made
        together.processes = processes
        expected, found = alone.run(), together.run()
        assert_close(found, expected)
        for name, weight in together.model.state_dict().items():
            low, high = processes.agree(-float(weight.double().sum()), float(weight.double().sum()))
            assert -low == high, name  # the weights of all processes are the same


def check_that_a_resumed_run_is_the_uninterrupted_one(processes: ManyProcesses, folder: Path) -> None:
    """With dropout, which each process draws for itself. The request to stop reaches one process alone."""
    random, file = config(token_dropout=0.2), folder / "state.safetensors"

    def stop(step: int) -> None:
        if step == 7 and not processes.leads:
            signal.raise_signal(signal.SIGINT)

    uninterrupted, stopped, resumed = (
        trainer(random, checkpoint=file, observer=Memory(stop if name == "stopped" else None))
        for name in ("uninterrupted", "stopped", "resumed")
    )
    for run in (uninterrupted, stopped, resumed):
        run.processes = processes
    torch.manual_seed(3)
    uninterrupted.run()
    torch.manual_seed(3)
    try:
        stopped.run()
    except InterruptedTraining:
        wait_for_all(processes)  # until the checkpoint is written
    torch.manual_seed(4)
    resumed.resume()
    assert resumed.state.step == 7
    resumed.run()
    for name, weight in uninterrupted.model.state_dict().items():
        assert torch.equal(weight, resumed.model.state_dict()[name]), name


def check_pretraining_and_cross_fitting(processes: ManyProcesses, folder: Path) -> None:
    """The first stage reads other texts, too; then five classifiers are trained."""
    pretraining = {"max_steps": 12, "batch_size": 5, "min_steps_per_epoch": 4, "precision": "float32"}
    two_stages = recipe(token_dropout=0.0).model_copy(
        update={
            "model": STILL.model_copy(update={"counting": "tfidf"}),
            "validation": ValidationConfig(min_rows=2000),
            "pretraining": PretrainingConfig.model_validate(pretraining | {"optimizer": "adamw"}),
        }
    )
    unlabelled = Documents(texts=opinions(40, first=500).frame["text"], source="more.txt")
    sources = Sources(train=opinions(), unlabelled=(unlabelled,))
    alone = train_model(sources, two_stages)
    together = train_model(sources, two_stages, out=folder / "together", processes=processes)
    assert_close(together.metrics["history"], alone.metrics["history"])
    first_stage = ("texts", "tokens", "passes", "train_loss")
    records = [{name: model.config.data["pretraining"][name] for name in first_stage} for model in (together, alone)]
    assert_close(records[:1], records[1:])
    accuracies = [model.metrics["readers"]["transformer_accuracy"] for model in (together, alone)]
    assert accuracies[0] == accuracies[1]
    if processes.leads:
        assert not (folder / "together" / "checkpoint").exists()


def check_that_there_is_one_plan_of_the_time(processes: ManyProcesses, folder: Path) -> None:
    """The recipe asks for more than its minutes allow, and each process measures other seconds."""
    long = recipe(epochs=100_000, min_steps_per_epoch=6)
    with patch.object(time_plan, "_PROBE", (0.01, 0.2, 0.2)):
        trained = train_model(
            Sources(train=opinions()), long, out=folder / "planned", minutes=0.015, processes=processes
        )
    (steps,) = trained.metrics["time_plan"]["settings"].values()
    assert processes.agree(steps, -steps) == [steps, -steps]
    assert trained.metrics["history"][-1]["step"] == steps


def assert_close(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    for row, other in zip(found, expected, strict=True):
        assert row.keys() == other.keys()
        for figure in row.keys() - {"seconds"}:
            assert abs(row[figure] - other[figure]) < 1e-5, (figure, row[figure], other[figure])


def main(folder: Path) -> None:
    processes = ManyProcesses("cpu")
    assert processes.size == 2
    assert processes.agree(processes.rank, -processes.rank) == [1, 0]
    check_that_gradients_are_summed(processes)
    check_that_each_example_goes_to_one_process(processes)
    check_that_random_numbers_part_and_meet(processes)
    check_that_the_loss_curve_is_that_of_one(processes)
    check_that_a_resumed_run_is_the_uninterrupted_one(processes, folder)
    check_pretraining_and_cross_fitting(processes, folder)
    check_that_there_is_one_plan_of_the_time(processes, folder)
    assert processes.sum([processes.first_to_fail()], []) == [1]
    if processes.leads:
        print("all checks passed")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
