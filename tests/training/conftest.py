"""What tests of training share."""

from collections.abc import Iterator

import pytest

from tests.fits import quick as quick
from tests.support import whole_cross_fitting


@pytest.fixture
def every_training() -> Iterator[None]:
    with whole_cross_fitting():
        yield
