"""Two means, and whether they differ by more than chance explains."""

import pytest

from glassformer.evaluation.drift import compared
from glassformer.targets.number.held_out import share_of
from glassformer.targets.target import Followed


@pytest.mark.parametrize(("rows", "moved"), [(100, False), (10_000, True)])
def test_few_held_out_rows_make_a_share_uncertain(rows: int, moved: bool) -> None:
    """60 of 100 texts beside 40%: 2.8 standard errors with as many rows, 4.1 with very many."""
    found = compared(Followed("good", [True] * 60 + [False] * 40, share_of(0.4)), rows)
    assert (found.recent, found.held_out, found.moved) == (0.6, 0.4, moved)
