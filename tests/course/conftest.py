from pathlib import Path

import pytest

from glassformer.course.model import small_model
from tests.support import unchecked_shapes


@pytest.fixture(scope="session")
def trained_desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reader, with the small model in it."""
    folder = tmp_path_factory.mktemp("desk")
    with unchecked_shapes():
        small_model(folder / "course-model")
    return folder


@pytest.fixture
def desk(trained_desk: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, as the current folder."""
    monkeypatch.chdir(trained_desk)
    return trained_desk
