"""Batches are read at once, each with one thread, and the answers are those of one after the other."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from glassformer.data.store import TokenStore
from glassformer.models.listening import listening
from glassformer.prediction import scoring
from glassformer.prediction.scoring import score
from glassformer.prediction.threads import in_threads
from tests.prediction.samples import small_trained_model

ROWS = [np.full(1 + number % 17, 3 + number % 5) for number in range(200)]


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
    store, progress = TokenStore.in_memory(ROWS), list[float]()
    found = score(model, store, max_seq_len=24, n_classes=3, batch_tokens=64, on_progress=progress.append)
    assert torch.get_num_threads() == 3
    torch.set_num_threads(1)
    assert np.array_equal(found, score(model, store, max_seq_len=24, n_classes=3, batch_tokens=64))
    assert progress == sorted(progress)
    assert progress[-1] == 1
    assert len(progress) > 10


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize(
    ("case", "taken"), [("many", 1), ("few", 1), ("few of a large model", 3), ("heard", 3), ("with a hook", 3)]
)
def test_a_batch_has_one_thread_unless_others_would_be_idle(
    case: str, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, seen = small_trained_model().model, set[tuple[int, int]]()
    if case == "few of a large model":
        monkeypatch.setattr(scoring, "_LARGE", 10)
    forward = model.forward

    def threads_of(*inputs: torch.Tensor) -> torch.Tensor:
        time.sleep(0.01)
        seen.add((threading.get_ident(), torch.get_num_threads()))
        logits: torch.Tensor = forward(*inputs)
        return logits

    monkeypatch.setattr(model, "forward", threads_of)
    if case == "with a hook":
        model.register_forward_hook(lambda *_: None)
    store = TokenStore.in_memory(ROWS[:2] if "few" in case else ROWS)
    if case == "heard":
        with listening(model):
            score(model, store, max_seq_len=24, n_classes=3, batch_tokens=64)
    else:
        score(model, store, max_seq_len=24, n_classes=3, batch_tokens=64)
    assert {number for _, number in seen} == {taken}
    assert ({ident for ident, _ in seen} == {threading.get_ident()}) is (taken == 3)
    assert len(seen) == (3 if case == "many" else 1)
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_order_and_few_items_are_taken_ahead(threads: int) -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(50):
            taken.append(number)
            yield number

    for done, (number, square) in enumerate(in_threads(lambda number: number**2, items(), threads), 1):
        assert square == number**2 == (done - 1) ** 2
        assert len(taken) <= done + 2 * threads
    assert done == 50


@pytest.mark.parametrize("threads", [1, 3])
def test_after_an_error_nothing_else_is_taken(threads: int) -> None:
    begun = []

    def refuse(number: int) -> None:
        begun.append(number)
        raise MemoryError(str(number))

    with pytest.raises(MemoryError, match="0"):
        list(in_threads(refuse, range(100), threads))
    assert len(begun) <= 2 * threads
    assert list(in_threads(refuse, [], threads)) == []


def test_too_few_threads_for_the_system_end_in_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the process ends, as those that have begun do not wait for the others."""
    begin, started = threading.Thread.start, list[threading.Thread]()

    def start(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        list(in_threads(abs, range(3), 5))
    assert torch.get_num_threads() == 1
    monkeypatch.undo()
    assert list(in_threads(abs, range(3), 5)) == [(0, 0), (1, 1), (2, 2)]
