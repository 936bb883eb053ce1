"""Which strength the readers choose does not matter here."""

from collections.abc import Iterator

import pytest

from tests.fits import few_steps


@pytest.fixture(autouse=True, scope="package")
def quick() -> Iterator[None]:
    with few_steps():
        yield
