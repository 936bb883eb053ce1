from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch

from glassformer.training.classification import Classification
from glassformer.training.order import balanced_rows, even_parts, passes_per_epoch, plan_epoch
from glassformer.training.training_config import TrainingConfig
from tests.training.samples import N_CLASSES, toy_data

LENGTHS = np.random.default_rng(4).integers(1, 30, 53)
SAME = np.zeros(53, np.int64)


def rows(epoch: int, **settings: object) -> list[list[int]]:
    """The rows of each step."""
    config = TrainingConfig.model_validate({"batch_size": 7, "accumulation": 3, "min_steps_per_epoch": 1} | settings)
    windows, steps = plan_epoch(LENGTHS, config, max_seq_len=16, epoch=epoch, classes=SAME)
    assert windows.lengths.max() == 15
    return [[row for batch in step for row in windows.rows[batch].tolist()] for step in steps]


@pytest.mark.parametrize("order", ["bucketed", "shuffled"])
def test_each_pass_holds_every_row_once_in_an_order_of_its_own(order: str) -> None:
    once = rows(2, order=order)
    thrice = rows(2, order=order, min_steps_per_epoch=2 * len(once) + 1)
    passes = [list(chain(*thrice[i : i + len(once)])) for i in range(0, len(thrice), len(once))]
    assert thrice[: len(once)] == once
    assert [sorted(rows) for rows in passes] == [list(range(53))] * 3
    assert len(set(map(tuple, passes))) == 3
    assert rows(2, order=order) == once
    assert rows(3, order=order) != once != rows(2, order=order, seed=8)


@pytest.mark.parametrize("order", ["bucketed", "shuffled", "as-given"])
@pytest.mark.parametrize(("fewest", "passes"), [(1, 1), (2, 1), (3, 1), (4, 2), (10, 4)])
def test_passes_are_counted_as_they_are_made(order: str, fewest: int, passes: int) -> None:
    config = TrainingConfig.model_validate(
        {"batch_size": 7, "accumulation": 3, "order": order, "min_steps_per_epoch": fewest}
    )
    assert passes_per_epoch(LENGTHS, config, max_seq_len=16, classes=SAME) == passes
    assert len(list(chain(*rows(0, order=order, min_steps_per_epoch=fewest)))) == 53 * passes


def test_rows_as_given_stay_in_order() -> None:
    assert rows(5, order="as-given") == [list(range(21)), list(range(21, 42)), list(range(42, 53))]


def test_balanced_rows_are_as_many_of_each_class_and_others_in_each_epoch() -> None:
    classes = np.array([0] * 40 + [2] * 11 + [3] * 2)
    np.random.default_rng(1).shuffle(classes)
    rows = balanced_rows(classes, seed=7, epoch=2)
    assert np.bincount(classes[rows]).tolist() == [18, 0, 18, 18]  # 53 rows, rounded up
    times = np.bincount(rows, minlength=53)
    assert [sorted(set(times[classes == name].tolist())) for name in (0, 2, 3)] == [[0, 1], [1, 2], [9]]
    assert rows.tolist() == sorted(rows.tolist())
    assert rows.tolist() == balanced_rows(classes, seed=7, epoch=2).tolist()
    others = [set(balanced_rows(classes, seed=7, epoch=epoch).tolist()) for epoch in range(20)]
    assert set.union(*others) == set(range(53))
    assert set(rows.tolist()) != set(balanced_rows(classes, seed=8, epoch=2).tolist())


def test_balanced_rows_are_planned_as_they_are_read() -> None:
    lengths, classes = np.array([3] * 95 + [400] * 5), np.array([0] * 95 + [1] * 5)
    config = TrainingConfig.model_validate({"resample": "balanced", "batch_tokens": 800, "min_steps_per_epoch": 40})
    _, steps = plan_epoch(lengths, config, max_seq_len=512, epoch=0, classes=classes)
    passes = passes_per_epoch(lengths, config, max_seq_len=512, classes=classes)
    assert 40 <= len(steps) < 40 + len(steps) / passes
    assert passes < passes_per_epoch(lengths, config, max_seq_len=512, classes=np.zeros(100, np.int64))


@pytest.mark.parametrize("order", ["bucketed", "shuffled", "as-given"])
def test_an_epoch_of_balanced_rows_reads_the_windows_of_these_rows(order: str) -> None:
    settings = {"resample": "balanced", "order": order, "batch_size": 7, "min_steps_per_epoch": 9}
    config, classes = TrainingConfig.model_validate(settings), np.arange(53) // 43
    windows, steps = plan_epoch(LENGTHS, config, max_seq_len=16, epoch=1, classes=classes)
    passed = list(chain(*(windows.rows[batch].tolist() for step in steps for batch in step)))
    drawn = balanced_rows(classes, seed=0, epoch=1).tolist()
    assert sorted(passed) == sorted(2 * drawn)
    assert order != "as-given" or passed == 2 * drawn
    assert windows.lengths.tolist() == np.minimum(LENGTHS[drawn], 15).tolist()
    assert (windows.starts + windows.lengths <= LENGTHS[drawn]).all()
    starts = [set(windows.starts[windows.rows == row].tolist()) for row in range(43, 53) if LENGTHS[row] > 20]
    assert max(map(len, starts)) > 1, "a text that is drawn again is read from another place"


@pytest.mark.parametrize(("resample", "read"), [("none", [16, 31]), ("balanced", [24, 24])])
def test_the_transformer_reads_each_text_with_its_label_as_often_as_the_recipe_says(
    resample: str, read: list[int]
) -> None:
    data = toy_data()
    data = replace(data, train_labels=np.minimum(data.train_labels, 1))
    config = TrainingConfig.model_validate({"resample": resample, "min_steps_per_epoch": 1})
    batches = [each for step in Classification(data, config, max_seq_len=99).steps(0) for each in step()]
    labels = torch.cat([each.labels for each in batches])
    assert torch.bincount(labels, minlength=N_CLASSES).tolist() == [*read, 0]
    first = torch.cat([each.inputs.token_ids[:, 1] for each in batches])
    assert torch.equal((first - 3).clamp(max=1), labels)


@pytest.mark.parametrize(("count", "sizes"), [(1, [1]), (4, [4]), (5, [3, 2]), (9, [3, 3, 3])])
def test_parts_are_few_and_of_nearly_equal_size(count: int, sizes: list[int]) -> None:
    parts = even_parts(np.arange(count), 4)
    assert list(map(len, parts)) == sizes
    assert np.concatenate(parts).tolist() == list(range(count))
