"""What tests of training share."""

from collections.abc import Iterator

import pytest

from tests.fits import few_steps
from tests.support import whole_cross_fitting


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    with few_steps():
        yield


@pytest.fixture
def every_training() -> Iterator[None]:
    with whole_cross_fitting():
        yield
