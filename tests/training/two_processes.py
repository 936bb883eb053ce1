"""What two processes check together. torchrun runs this file: see test_many_processes.py."""

import torch
from torch import nn

from glassformer.data.batches import ModelInputs
from glassformer.training.many_processes import ManyProcesses
from glassformer.training.task import Examples
from tests.training.samples import STILL, config, trainer


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
        for row, other in zip(expected, found, strict=True):
            for figure in row.keys() - {"seconds"}:
                assert abs(row[figure] - other[figure]) < 1e-5, (training, figure, row[figure], other[figure])
        for name, weight in together.model.state_dict().items():
            low, high = processes.agree(-float(weight.double().sum()), float(weight.double().sum()))
            assert -low == high, name  # the weights of all processes are the same


def main() -> None:
    processes = ManyProcesses("cpu")
    assert processes.size == 2
    assert processes.agree(processes.rank, -processes.rank) == [1, 0]
    check_that_gradients_are_summed(processes)
    check_that_each_example_goes_to_one_process(processes)
    check_that_random_numbers_part_and_meet(processes)
    check_that_the_loss_curve_is_that_of_one(processes)
    assert processes.sum([processes.first_to_fail()], []) == [1]
    if processes.leads:
        print("all checks passed")


if __name__ == "__main__":
    main()
