import pytest

from glassformer.data.wording import decimals, percent


@pytest.mark.parametrize(
    ("probability", "in_percent", "in_decimals"),
    [
        (0.99983, "> 99.9%", ">0.999"),
        (1.0, "> 99.9%", ">0.999"),
        (0.9994, "99.9%", "0.999"),
        (0.5, "50.0%", "0.500"),
        (0.0006, "0.1%", "0.001"),
        (0.0004, "< 0.1%", "<0.001"),
    ],
)
def test_no_probability_is_written_as_certainty(probability: float, in_percent: str, in_decimals: str) -> None:
    assert percent(probability) == in_percent
    assert decimals(probability) == in_decimals
