"""Small steps are computed with one thread, unless the user says otherwise."""

from collections.abc import Iterator

import pytest
import torch

from glassformer.data.sources import Sources
from glassformer.training import threads
from glassformer.training.run import train_model
from tests.training.samples import Memory, opinions, recipe


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


class Counts(Memory):
    """Notes the threads of each step."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        super().__init__(lambda _: self.threads.add(torch.get_num_threads()))


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("case", ["small", "large", "asked"])
def test_small_steps_take_one_thread(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of the run has 10 texts of at most 24 tokens, and the model a width of 16."""
    monkeypatch.setattr(threads, "_LARGE_STEP", 100 if case == "large" else 10 * 24 * 16)
    if case == "asked":
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
    observer = Counts()
    train_model(Sources(train=opinions(60)), recipe(epochs=1), observer=observer)
    assert observer.threads == ({1} if case == "small" else {2})
    assert ("computing with one thread in place of 2" in "".join(observer.messages)) is (case == "small")
    assert torch.get_num_threads() == 2
