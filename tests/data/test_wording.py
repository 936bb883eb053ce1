import pytest

from glassformer.data.wording import decimals, in_markdown, percent, share_in_percent, short


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


@pytest.mark.parametrize(
    ("share", "digits", "written"),
    [
        (0.0312, 1, "3.1%"),
        (0.0, 1, "0.0%"),
        (1.0, 0, "100%"),
        (1 / 3_000, 1, "0.03%"),
        (2_999 / 3_000, 0, "99.97%"),
        (0.997, 0, "99.7%"),
        (1 - 1e-16, 0, "100%"),
    ],
)
def test_only_no_row_is_0_percent_and_only_all_are_100(share: float, digits: int, written: str) -> None:
    assert share_in_percent(share, digits) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.012345, "0.01235"), (12.346, "12.35"), (2019.0, "2019"), (9999.6, "10,000"), (556_131.4, "556,131"),
        (-250_000.0, "-250,000"), (0.0, "0"), (1e20, "1e+20"),
    ],
)  # fmt: skip
def test_a_number_of_the_users_unit_keeps_its_digits_before_the_point(value: float, written: str) -> None:
    assert short(value) == written


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("not_good (2-3)", "not_good (2-3)"),
        ("<img src=x>", r"\<img src=x\>"),
        ("[a](b)\n# `c`", r"\[a\](b) # \`c\`"),
    ],
)
def test_a_text_of_others_is_no_markdown(label: str, shown: str) -> None:
    assert in_markdown(label) == shown
