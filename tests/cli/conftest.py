from pathlib import Path

import pytest

from tests.fits import quick as quick


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Known data sets of this machine are not there."""
    monkeypatch.delenv("GLASSFORMER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
