import itertools

import numpy as np
import pytest

from benchmarks.paired import Paired, SeedAnswers, compare, sign_flips
from glassformer.evaluation.intervals import bootstrap_mean, mcnemar
from glassformer.evaluation.record import Estimate


@pytest.mark.parametrize("values", [[], [0, 0], [1], [2, -1, 3, 3], [-3, -2, -2, -1, -1, 0], [1, -1]])
def test_p_counts_all_signs(values: list[int]) -> None:
    flipped = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(values))
    ]
    expected = sum(total >= abs(sum(values)) for total in flipped) / len(flipped)
    assert sign_flips(np.array(values, dtype=np.int64)) == pytest.approx(expected)


def some_answers(n: int, share: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(n) < share


def test_one_seed_is_mcnemars_test_and_the_paired_bootstrap() -> None:
    a, b = some_answers(200, 0.8, 1), some_answers(200, 0.7, 2)
    found = compare([SeedAnswers(rows=range(7, 207), right_a=a, right_b=b)])
    assert found.p == pytest.approx(mcnemar(a, b)[2])
    assert found.difference.value == pytest.approx(a.mean() - b.mean())
    expected = bootstrap_mean(a.astype(int) - b.astype(int), seed=0)
    assert (found.difference.low, found.difference.high) == pytest.approx((expected.low, expected.high))


def test_the_same_rows_again_make_nothing_more_certain() -> None:
    seed = SeedAnswers(rows=range(200), right_a=some_answers(200, 0.8, 1), right_b=some_answers(200, 0.7, 2))
    once, thrice = compare([seed]), compare([seed] * 3)
    assert thrice.p == pytest.approx(once.p)
    assert thrice.difference.low == pytest.approx(once.difference.low)
    others = [SeedAnswers(rows=range(k, k + 200), right_a=seed.right_a, right_b=seed.right_b) for k in (0, 200, 400)]
    assert compare(others).p < once.p
    assert compare(others).difference.low > once.difference.low


def test_each_answer_counts_the_same() -> None:
    """A row that two seeds hold out counts twice in the difference."""
    right, wrong = np.array([True]), np.array([False])
    found = compare(
        [
            SeedAnswers(rows=[1, 2], right_a=np.array([True, False]), right_b=np.array([False, False])),
            SeedAnswers(rows=[1], right_a=right, right_b=wrong),
        ]
    )
    assert found.difference.value == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("low", "high", "p", "outcome"),
    [
        (0.01, 0.03, 0.01, "better"),
        (-0.03, -0.01, 0.01, "worse"),
        (-0.01, 0.03, 0.01, "no difference"),
        (0.0, 0.03, 0.04, "no difference"),
        (0.01, 0.03, 0.05, "no difference"),
    ],
)
def test_it_is_better_only_if_interval_and_p_agree(low: float, high: float, p: float, outcome: str) -> None:
    assert Paired(difference=Estimate(value=(low + high) / 2, low=low, high=high), p=p).outcome == outcome
