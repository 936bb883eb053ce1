"""What tests of training share."""

from collections.abc import Iterator

import pytest

from tests.fits import quick_with_all_folds as quick_with_all_folds
from tests.support import whole_cross_fitting


@pytest.fixture
def every_training() -> Iterator[None]:
    with whole_cross_fitting():
        yield
