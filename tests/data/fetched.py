"""Tests that fetch tables do not know what others fetched."""

import pytest

from glassformer.data import addresses


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin a new process, as far as addresses know."""
    for name in ("_passwords", "_queries", "_fetched"):
        monkeypatch.setattr(addresses, name, {})


@pytest.fixture(autouse=True)
def nothing_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch)
