import math

import numpy as np
import pytest

from glassformer.doctor.rate_range import judge_rate, measure_rate_range, read_rate_range
from tests.doctor.samples import bench

RATES = np.geomspace(1e-7, 1, 85)


def valley() -> np.ndarray:
    """1 until 1e-4, down to .3 at 1e-2, and up from there."""
    power = np.log10(RATES)
    return np.interp(power, [-4, -2, -1, 0], [1.0, 0.3, 1.1, 4.0])


def test_the_marks_of_a_known_curve() -> None:
    found = read_rate_range(RATES, valley())
    assert found.begins is not None
    assert found.lowest is not None
    assert found.steepest is not None
    assert found.breaks is not None
    assert 5e-5 < found.begins < 3e-4
    assert found.lowest == pytest.approx(1e-2, rel=0.5)
    assert found.begins < found.steepest < found.lowest
    assert 10**-1.7 < found.breaks < 10**-1.3  # half-way up, .65, is at 10^-1.56


@pytest.mark.parametrize(
    ("rate", "level", "word"),
    [
        (0.2, "problem", "too high"),
        (0.02, "worth knowing", "rather high"),
        (1e-3, "good", "begins to fall"),
        (1e-5, "good", "begins to fall"),
        (3e-6, "worth knowing", "rather low"),
        (4e-7, "problem", "too low"),
    ],
)
def test_a_rate_is_judged_by_the_curve(rate: float, level: str, word: str) -> None:
    finding = judge_rate(rate, read_rate_range(RATES, valley()))
    assert finding.level == level
    assert word in finding.found
    assert ("`training.learning_rate=" in finding.advice) == (level != "good")


def test_a_flat_curve_says_nothing_but_where_it_breaks() -> None:
    noise = 0.69 + 0.003 * np.random.default_rng(2).normal(size=len(RATES))
    flat = read_rate_range(RATES, np.where(RATES > 0.05, 2.0, noise))
    assert (flat.begins, flat.steepest, flat.lowest) == (None, None, None)
    assert flat.breaks == pytest.approx(0.05, rel=1.2)
    assert judge_rate(1e-3, flat).level == "worth knowing"
    assert judge_rate(0.5, flat).level == "problem"


def test_noise_is_no_break_down() -> None:
    rising = read_rate_range(RATES, np.linspace(0.69, 0.74, len(RATES)))
    assert rising.breaks is None


def test_not_a_number_is_where_it_breaks() -> None:
    losses = valley()
    losses = np.append(losses[:65], math.inf)
    assert read_rate_range(RATES[:66], losses).breaks == pytest.approx(RATES[65])


def test_a_curve_that_never_breaks() -> None:
    found = read_rate_range(RATES, np.linspace(1, 0.2, len(RATES)))
    assert found.breaks is None
    assert judge_rate(0.01, found).level == "good"


def test_a_measured_range_finds_planted_rates_out() -> None:
    tried = bench()
    found = measure_rate_range(tried, steps=80)
    assert len(found.rates) == len(found.losses) == 80
    assert found.begins is not None
    assert judge_rate(3e-3, found).level == "good"
    assert judge_rate(1e-7, found).level == "problem"
    assert judge_rate(0.9, found).level == "problem"


def test_a_test_that_cannot_begin_is_a_problem_at_any_rate() -> None:
    never = read_rate_range(RATES[:1], np.array([math.inf]))
    for rate in (1e-9, 0.5):
        finding = judge_rate(rate, never)
        assert finding.level == "problem"
        assert "could not begin" in finding.found
        assert "training.learning_rate" not in finding.advice
