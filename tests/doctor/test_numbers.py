import numpy as np

from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.doctor.findings import Finding
from glassformer.doctor.tokens import report_tokens
from glassformer.targets.number.doctor import check_numbers
from tests.doctor.samples import by_check
from tests.training.samples import table


def checked(numbers: list[float]) -> dict[str, Finding]:
    return by_check(check_numbers(table([f"text {row}" for row in range(len(numbers))], list(map(str, numbers)))))


def test_ordinary_numbers_are_described() -> None:
    found = checked([1, 2, 3, 4, 5, 5.0])
    assert set(found) == {"numbers"}
    assert "5 different numbers from 1 to 5, mean 3.333, standard deviation 1.491" in found["numbers"].found
    assert "always answering the mean is off by 1.333 on average" in found["numbers"].found


def test_extreme_numbers_and_one_of_most_rows_are_named() -> None:
    found = checked([0.0] * 180 + [1.0] * 19 + [9_999.0])
    assert found["extreme numbers"].found == "row 200: more than 10 standard deviations from the mean"
    assert found["one number"].found == "90% of the training rows have the number 0"


def test_large_numbers_are_told_apart() -> None:
    found = checked([1_700_000_000.0 + number for number in range(9)])
    assert "9 different numbers from 1,700,000,000 to 1,700,000,008, mean 1,700,000,004, " in found["numbers"].found


def test_quarters_stand_in_for_labels() -> None:
    rows = table(["good old film"] * 50 + ["zyx old wvut"] * 50, [str(1e9 + number / 10) for number in range(100)])
    tokenizer = TextTokenizer.train(["good old film"], TokenizerConfig(min_frequency=1))
    report, finding = report_tokens(tokenizer, rows, np.arange(100), None, max_seq_len=9, held_out=True)
    assert [line.rows for line in report.labels] == [25, 25, 25, 25]
    assert finding.check == "tokens by number"
    assert set(report.standing_out) == {"1000000005 to 1000000007.4", "1000000007.5 to 1000000009.9"}
    assert "more often than those of other numbers" in finding.found
