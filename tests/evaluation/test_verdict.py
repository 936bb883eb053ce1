import pytest

from glassformer.evaluation.result import Estimate
from glassformer.evaluation.verdict import p_value, share, signed, verdict


def sentence(value: float, low: float, high: float, p: float, rows: int = 1234) -> str:
    return verdict(
        model="the transformer",
        baseline="TF-IDF",
        accuracy=0.8 + value,
        baseline_accuracy=0.8,
        difference=Estimate(value=value, low=low, high=high),
        p=p,
        rows=rows,
    )


def test_the_model_wins() -> None:
    assert sentence(0.05, 0.03, 0.07, 0.0001) == (
        "The transformer is better here: .850 against .800 for TF-IDF "
        "(difference +.050, 95% interval +.030 to +.070, p < .001)."
    )


def test_the_baseline_wins_and_is_said_to() -> None:
    found = sentence(-0.021, -0.024, -0.018, 0.004)
    assert found.startswith("TF-IDF is better here: .800 against .779 for the transformer (difference −.021")
    assert "p = .004" in found
    assert "prefer it" in found


@pytest.mark.parametrize(("low", "high", "p"), [(-0.01, 0.03, 0.2), (0.001, 0.02, 0.06), (-0.001, 0.02, 0.04)])
def test_noise_is_no_victory(low: float, high: float, p: float) -> None:
    assert sentence(0.01, low, high, p).startswith("No clear winner on 1,234 rows")


def test_one_row_is_no_victory() -> None:
    assert sentence(0.2, 0.2, 0.2, 1, rows=1).startswith("No clear winner on 1 row: ")


def test_no_row_tells_them_apart() -> None:
    assert sentence(0, 0, 0, 1) == (
        "The transformer and TF-IDF are right on the same rows, 987 of 1,234; "
        "choose the simpler one until other test rows show a difference."
    )


def test_numbers() -> None:
    assert (share(0.9071), share(1), share(0)) == (".907", "1.000", ".000")
    assert (signed(-0.0214), signed(0.5), signed(-1)) == ("−.021", "+.500", "−1.000")
    assert (p_value(0.0004), p_value(0.03)) == ("p < .001", "p = .030")
