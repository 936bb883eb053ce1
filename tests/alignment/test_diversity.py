import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.alignment.rollouts import distinct_n


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, 3 / 8), (2, 4 / 6), (3, 1.0), (5, 1.0), (6, 0.0)],
)
def test_by_hand(n: int, expected: float) -> None:
    # 1-grams: 7 8 9. 2-grams: 78 87 78 88 | 98 87, four of them distinct. 3-grams: 787 878 788 | 987. One 5-gram.
    assert distinct_n([[7, 8, 7, 8, 8], [9, 8, 7]], n) == expected


def test_ngrams_do_not_run_from_one_sequence_into_the_next() -> None:
    assert distinct_n([[1, 2], [2, 1]], 2) == 1
    assert distinct_n([[1], [2]], 2) == 0


@given(ids=st.lists(st.integers(0, 3), min_size=3, max_size=9), copies=st.integers(2, 5))
def test_repeating_everything_divides_the_share(ids: list[int], copies: int) -> None:
    assert distinct_n([ids] * copies, 2) == pytest.approx(distinct_n([ids], 2) / copies)
