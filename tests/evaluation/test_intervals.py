import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.evaluation.intervals import (
    bootstrap,
    bootstrap_mean,
    distinct_rows,
    mcnemar,
    normal,
    share_right,
    worth_of_groups,
)


def test_mcnemar_hand_worked() -> None:
    # 8 discordant rows split 7 to 1: p = 2 · (C(8,0) + C(8,1)) / 2^8 = 18 / 256
    a = np.array([True] * 7 + [False] + [True] * 5 + [False] * 3)
    b = np.array([False] * 7 + [True] + [True] * 5 + [False] * 3)
    assert mcnemar(a, b)[:2] == (7, 1)
    assert mcnemar(a, b)[2] == pytest.approx(18 / 256)
    assert mcnemar(b, a)[2] == pytest.approx(18 / 256)


def test_the_normal_interval_is_cut_off_at_the_bounds() -> None:
    found = normal(0.5, 0.1)
    assert (found.low, found.high) == pytest.approx((0.5 - 0.1959964, 0.5 + 0.1959964), abs=1e-7)
    assert normal(0.1, 0.1, lowest=0).low == 0
    assert normal(0.9, 0.1, highest=1).high == 1


def test_mcnemar_of_equals_is_one() -> None:
    a = np.array([True, False, True])
    assert mcnemar(a, a) == (0, 0, 1.0)


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for trial in range(400):
        found = bootstrap_mean(rng.random(250) < 0.8, seed=trial, resamples=400)
        covered += found.low <= 0.8 <= found.high
    assert 0.91 <= covered / 400 <= 0.98


def test_width_agrees_with_theory() -> None:
    values = np.arange(5000) % 10 < 9
    found = bootstrap_mean(values, seed=1)
    assert found.value == pytest.approx(0.9)
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.sqrt(0.9 * 0.1 / 5000), rel=0.08)


def test_drawing_patterns_equals_drawing_rows() -> None:
    rng = np.random.default_rng(2)
    values = rng.integers(0, 3, (300, 2)).astype(float)
    patterns, counts = distinct_rows(values)
    found = bootstrap(patterns, counts, lambda sums: sums[:, 0] / sums[:, 1], seed=4, resamples=4000)
    rows = rng.integers(0, 300, (4000, 300))
    naive = values[rows].sum(axis=1)
    low, high = np.quantile(naive[:, 0] / naive[:, 1], [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)


@given(st.integers(0, 1000), st.integers(1, 40))
def test_same_seed_same_interval_around_the_value(seed: int, n: int) -> None:
    values = np.random.default_rng(seed).integers(-1, 2, n)
    found = bootstrap_mean(values, seed=seed, resamples=200)
    assert found == bootstrap_mean(values, seed=seed, resamples=200)
    assert found.low <= found.high
    assert values.min() <= found.low
    assert found.high <= values.max()


@pytest.mark.parametrize("rows", [1, 20, 60, 397])
def test_rows_that_are_all_alike_leave_room_for_others(rows: int) -> None:
    # Wilson: the share q at which n right answers in a row are 1.96 deviations away, n (1 - q) = 1.96² q
    right, wrong = share_right(np.ones(rows, bool), seed=0), share_right(np.zeros(rows, bool), seed=0)
    bound = rows / (rows + 1.959964**2)
    assert (right.value, right.low, right.high) == pytest.approx((1, bound, 1))
    assert (wrong.value, wrong.low, wrong.high) == pytest.approx((0, 0, 1 - bound))


def test_a_share_of_rows_has_the_interval_of_many_draws() -> None:
    right = np.arange(1_500) % 7 > 0
    found, drawn = share_right(right), bootstrap_mean(right, resamples=20_000)
    assert found.value == drawn.value == bootstrap_mean(right.astype(int)).value
    assert (found.low, found.high) == pytest.approx((drawn.low, drawn.high), abs=2e-3)


def test_an_interval_of_rows_that_share_models_is_that_of_fewer_rows() -> None:
    right = np.arange(7_000) % 4 > 0
    for interval in (share_right, bootstrap_mean):
        whole, fewer = interval(right, seed=3, worth=3 / 7), interval(right[:3_000], seed=3)
        assert whole.model_dump() == pytest.approx(fewer.model_dump())
        assert whole.high - whole.low == pytest.approx(2 * 1.96 * np.sqrt(0.75 * 0.25 / 3_000), rel=0.06)
    assert share_right(right[:70] | True, worth=3 / 7) == share_right(right[:30] | True)


def test_mcnemars_p_of_rows_that_share_models_is_that_of_fewer_rows() -> None:
    a, b = np.repeat([True, False], [14, 7]), np.repeat([False, True], [14, 7])
    assert mcnemar(a, b, worth=3 / 7) == (14, 7, mcnemar(a[8:17], b[8:17])[2])  # 6 and 3 of them
    assert mcnemar(a[:1], b[:1], worth=3 / 7) == (1, 0, 1.0)


def test_twenty_five_thousand_rows_are_quick_enough() -> None:
    values = np.random.default_rng(0).random(25_000) < 0.9
    started = time.perf_counter()
    bootstrap_mean(values, seed=0)
    assert time.perf_counter() - started < 2


def test_copies_of_a_row_in_a_group_tell_nothing_new() -> None:
    right = np.random.default_rng(0).random(60) < 0.7
    assert worth_of_groups(right, np.arange(60)[::-1]) == 1
    once, copies, groups = share_right(right), np.repeat(right, 5), np.repeat(np.arange(60), 5)
    together = share_right(copies, worth=worth_of_groups(copies, groups))
    assert together.model_dump() == pytest.approx(once.model_dump(), abs=0.002)
    apart = share_right(copies)
    assert apart.high - apart.low < 0.6 * (once.high - once.low)
    same = np.ones(300, dtype=bool)
    assert share_right(same, worth=worth_of_groups(same, groups)) == share_right(same[:60])


@pytest.mark.parametrize(("groups", "rows", "spread"), [(20, 20, 0.2), (50, 8, 0.3), (100, 4, 0.0)])
def test_an_interval_of_rows_that_are_alike_in_groups_holds_as_often_as_it_says(
    groups: int, rows: int, spread: float
) -> None:
    rng, of_row, inside = np.random.default_rng(0), np.repeat(np.arange(groups), rows), []
    for _ in range(400):
        shares = rng.choice([0.7 - spread, 0.7 + spread], groups)
        wrong = rng.random(groups * rows) > shares[of_row]
        found = [share_right(~wrong, worth=worth) for worth in (worth_of_groups(wrong, of_row), 1.0)]
        inside.append([each.low <= 0.7 <= each.high for each in found])
    holds, of_single_rows = np.mean(inside, axis=0)
    assert 0.92 < holds < 0.98
    assert of_single_rows < 0.8 or not spread


def test_how_many_rows_count_if_rows_of_a_group_are_alike() -> None:
    wrong, groups = np.repeat([True, False, False], 4), np.repeat(np.arange(3), 4)
    assert worth_of_groups(wrong, None) == 1
    assert worth_of_groups(wrong, groups) == pytest.approx(2 / 3 / 4)  # rows of a group tell the same
    assert worth_of_groups(np.zeros(12, bool), groups) == 3 / 12
    assert worth_of_groups(wrong, np.zeros(12)) == 1 / 12
    many = np.random.default_rng(0).random(4_000) < 0.3
    assert worth_of_groups(many, np.arange(4_000)) == pytest.approx(1, abs=1e-3)
    assert worth_of_groups(many, np.arange(4_000) // 4) > 0.9
    assert worth_of_groups(np.array([1, 0, 1, 0]), np.array([0, 0, 1, 1])) == 1  # all groups have one mean
