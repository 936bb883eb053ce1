import sys

import pytest

from glassformer.training.memory import keep_large_buffers


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("ctypes.CDLL", lambda _: pytest.fail("the C library was asked"))
    keep_large_buffers()
