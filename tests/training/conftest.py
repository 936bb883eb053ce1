"""What tests of training share."""

import math

import pytest

from glassformer.training import cross_fitting


@pytest.fixture
def every_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cross-fitting goes on to its end, however little the transformer helps."""
    monkeypatch.setattr(cross_fitting, "GAIN", -math.inf)
