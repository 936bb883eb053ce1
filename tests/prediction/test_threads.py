"""Batches are read at once, each with one thread, and the answers are those of one after the other."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from glassformer.data.store import TokenStore
from glassformer.prediction.scoring import score
from glassformer.prediction.threads import at_once, one_thread_each
from tests.prediction.samples import small_trained_model


@pytest.fixture
def three_threads() -> Iterator[None]:
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(1)


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("training", [True, False])
def test_answers_do_not_depend_on_the_threads(training: bool) -> None:
    """A model in training mode would drop features at random."""
    model = small_trained_model().model.train(training)
    rows = [np.full(1 + number % 17, 3 + number % 5) for number in range(200)]
    store = TokenStore.in_memory(rows)
    progress = list[float]()
    found = score(model, store, max_seq_len=24, n_classes=3, batch_tokens=64, on_progress=progress.append)
    torch.set_num_threads(1)
    assert np.array_equal(found, score(model, store, max_seq_len=24, n_classes=3, batch_tokens=64))
    assert progress == sorted(progress)
    assert progress[-1] == 1
    assert len(progress) > 10


@pytest.mark.usefixtures("three_threads")
def test_each_batch_takes_one_thread() -> None:
    seen = set()

    def threads_of(_: int) -> None:
        time.sleep(0.01)
        seen.add((threading.get_ident(), torch.get_num_threads()))

    with one_thread_each() as threads:
        list(at_once(threads_of, range(20), threads))
    assert {number for _, number in seen} == {1}
    assert len(seen) == 3
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_order_and_few_items_are_taken_ahead(threads: int) -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(50):
            taken.append(number)
            yield number

    for done, (number, square) in enumerate(at_once(lambda number: number**2, items(), threads), 1):
        assert square == number**2 == (done - 1) ** 2
        assert len(taken) <= done + 2 * threads
    assert done == 50


@pytest.mark.parametrize("threads", [1, 3])
def test_after_an_error_nothing_else_begins(threads: int) -> None:
    begun = []

    def refuse(number: int) -> None:
        begun.append(number)
        raise MemoryError(str(number))

    with pytest.raises(MemoryError, match="0"):
        list(at_once(refuse, range(100), threads))
    assert len(begun) <= 2 * threads
    assert list(at_once(refuse, [], threads)) == []
