"""Small steps are computed with few threads, unless the user says otherwise."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from glassformer.data.sources import Sources
from glassformer.training import threads
from glassformer.training.run import train_model
from tests.training.samples import Memory, opinions, recipe


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(1)


class Counts(Memory):
    """Notes the threads of each step."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        super().__init__(lambda _: self.threads.add(torch.get_num_threads()))


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize(("each", "taken"), [(10 * 24 * 16, 1), (500, 2), (100, 4)])
def test_small_steps_take_few_threads(each: int, taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of the run has 10 texts of 7 to 9 tokens, and the model a width of 16."""
    monkeypatch.setattr(threads, "_NUMBERS_OF_A_THREAD", each)
    observer = Counts()
    train_model(Sources(train=opinions(60)), recipe(epochs=1), observer=observer)
    assert observer.threads == {taken}
    said = f"computing with {taken} thread{'s' * (taken > 1)} in place of 4"
    assert (said in "".join(observer.messages)) is (taken < 4)
    assert torch.get_num_threads() == 4


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize(("limit", "taken"), [("150000 100000", 2), ("max 100000", 4), ("", 4)])
def test_a_container_has_no_more_threads_than_cores(
    limit: str, taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu.max").write_text(limit)
    monkeypatch.setattr(threads, "_CONTAINER_LIMIT", tmp_path / "cpu.max")
    monkeypatch.setattr(threads, "_NUMBERS_OF_A_THREAD", 100)
    observer = Counts()
    train_model(Sources(train=opinions(60)), recipe(epochs=1), observer=observer)
    assert observer.threads == {taken}


@pytest.mark.usefixtures("four_threads")
def test_the_user_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    observer = Counts()
    train_model(Sources(train=opinions(60)), recipe(epochs=1), observer=observer)
    assert observer.threads == {4}
