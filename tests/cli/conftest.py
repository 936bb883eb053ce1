from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.fits import few_steps


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Known data sets of this machine are not there."""
    monkeypatch.delenv("GLASSFORMER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(autouse=True, scope="module")
def quick(request: pytest.FixtureRequest) -> Iterator[None]:
    """Not where a head must learn random vectors."""
    whole = request.module.__name__.endswith("test_encoder")
    with nullcontext() if whole else few_steps():
        yield
