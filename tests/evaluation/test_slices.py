from collections.abc import Sequence
from math import comb, sqrt

import numpy as np
import polars as pl
import pytest

from glassformer.evaluation import slices
from glassformer.evaluation.intervals import wilson, worth_of_folds
from glassformer.evaluation.report import render
from glassformer.evaluation.slices import FEWEST_ROWS, NO_NUMBER, NO_VALUE, find_slices
from glassformer.evaluation.verdict import slice_name, where_worse
from glassformer.evaluation.weak_spots import Slice, Slices
from tests.evaluation.samples import sample_evaluation, section

SHOPS = ["north"] * 20 + ["south"] * 30
RIGHT = np.array([True] * 12 + [False] * 8 + [True] * 27 + [False] * 3)  # 12 of 20 in the north, 27 of 30 in the south


def by_column(values: Sequence[str | None], right: np.ndarray, name: str = "shop") -> Slices:
    """The slices of a column alone: each text is the same single word."""
    return find_slices(["fine"] * len(values), right, pl.DataFrame({name: pl.Series(values, dtype=pl.String)}))


def shown(found: Slices | None) -> str:
    return section("slices", sample_evaluation(30).model_copy(update={"slices": found}))


def sizes(slices: Slices) -> dict[str, int]:
    return {each.value: each.rows for each in slices.listed}


def random_texts(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    vocabulary = [f"word{number}" for number in range(60)]
    return [" ".join(rng.choice(vocabulary, rng.integers(3, 15))) for _ in range(count)]


def test_the_figures_by_hand() -> None:
    found = by_column(SHOPS, RIGHT)
    assert (found.looked_at, found.columns, found.significantly_worse) == (2, ("shop",), 1)
    north, south = found.listed
    assert (north.kind, north.column, north.value, north.rows) == ("column", "shop", "north", 20)
    assert (north.accuracy.value, north.accuracy_of_rest) == (0.6, 0.9)
    assert (south.accuracy.value, south.accuracy_of_rest) == (0.9, 0.6)
    # 39 of 50 rows are right. Of 20 rows drawn at random, at most 12 are right; at least 9 must be.
    p_north = sum(comb(39, k) * comb(11, 20 - k) for k in range(9, 13)) / comb(50, 20)
    p_south = sum(comb(39, k) * comb(11, 30 - k) for k in range(19, 28)) / comb(50, 30)
    assert [north.p, south.p] == pytest.approx([p_north, p_south])
    assert [north.corrected_p, south.corrected_p] == pytest.approx([2 * p_north, p_south])


def test_wilson_by_hand() -> None:
    z, share, n = 1.959964, 0.6, 20
    middle, half = share + z**2 / (2 * n), z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    found = wilson(12, 20)
    assert found.value == share
    expected = [(middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)]
    assert [found.low, found.high] == pytest.approx(expected, abs=1e-6)
    certain = wilson(20, 20)
    assert [certain.low, certain.high] == pytest.approx([1 / (1 + z**2 / 20), 1], abs=1e-6)


def test_answers_of_cross_validation_count_as_fewer_rows() -> None:
    texts, right = [f"fine number {'a' if n % 2 else 'b'}" for n in range(140)], np.arange(140) % 4 > 0
    assert [worth_of_folds(1), worth_of_folds(4)] == pytest.approx([1, 30 / 70])  # 1 / (1 + 4/3)
    few = next(each for each in find_slices(texts, right, worth=worth_of_folds(4)).listed if each.value == "b")
    as_many = wilson(15, 30)
    assert few.rows == 70
    assert [few.accuracy.low, few.accuracy.high] == pytest.approx([as_many.low, as_many.high])


def test_rows_of_groups_count_as_fewer_for_p() -> None:
    shops = pl.DataFrame({"shop": SHOPS})
    found = [find_slices(["fine"] * 50, RIGHT, shops, worth_of_groups=worth).listed[0] for worth in (1.0, 0.5)]
    assert found[0].p == pytest.approx(0.0158, abs=0.0001)
    assert found[1].p == pytest.approx(fewer := 1 - sum(_of_fewer(right) for right in range(7, 11)), abs=1e-9)
    assert fewer > 0.1
    single = find_slices(["fine"] * 50, RIGHT, shops, worth_of_groups=1 / 400)
    assert {each.p for each in single.listed} == {1.0}, "of one group, nothing is known"


def _of_fewer(right: int) -> float:
    """How likely chance gives so many of 20 right rows to 10 of 26."""
    return comb(20, right) * comb(6, 10 - right) / comb(26, 10)


def test_a_planted_keyword_is_found_among_many() -> None:
    texts = random_texts(600, 1)
    rng = np.random.default_rng(2)
    planted = np.array(["word7" in text.split() for text in texts])
    right = np.where(planted, rng.random(600) < 0.5, rng.random(600) < 0.92)
    found = find_slices(texts, right)
    worst = found.listed[0]
    assert found.looked_at > 60
    assert (worst.kind, worst.value, worst.rows) == ("keyword", "word7", int(planted.sum()))
    assert worst.accuracy.value == right[planted].mean()
    assert worst.accuracy_of_rest == right[~planted].mean()
    assert worst.corrected_p < 0.001
    assert [each.p for each in found.listed] == sorted(each.p for each in found.listed)


def test_long_texts_are_found() -> None:
    texts = random_texts(400, 3)
    lengths = np.array([len(text.split()) for text in texts])
    right = np.random.default_rng(4).random(400) < np.where(lengths > 11, 0.5, 0.95)
    worst = find_slices(texts, right).listed[0]
    assert (worst.kind, worst.column) == ("length", None)
    low, high = map(int, worst.value.split(" to "))
    assert (high, worst.rows) == (14, int((lengths >= low).sum()))
    assert slice_name(worst) == f"length in words: {low} to 14"


def test_equal_rows_give_nothing() -> None:
    """Of 40 tables without a bad slice, about 5% may have a significant one."""
    texts = random_texts(200, 5)
    rng = np.random.default_rng(6)
    columns = pl.DataFrame({"shop": rng.choice(["a", "b", "c"], 200), "price": [f"{x:.3f}" for x in rng.random(200)]})
    found = [find_slices(texts, rng.random(200) < 0.8, columns) for _ in range(40)]
    assert found[0].columns == ("shop", "price")
    assert sum(each.significantly_worse > 0 for each in found) <= 4


def test_numbers_are_cut_into_quarters_and_equal_ones_stay_together() -> None:
    right = np.arange(400) % 7 > 0
    numbers = [str(number) for number in range(80)] * 5
    assert sizes(by_column(numbers, right)) == {"0 to 19": 100, "20 to 39": 100, "40 to 59": 100, "60 to 79": 100}
    many_zeros = ["0"] * 250 + [f"{number / 8}" for number in range(150)]
    assert sizes(by_column(many_zeros, right)) == {"0": 251, "0.125 to 6.12": 49, "6.25 to 18.6": 100}


def test_missing_values_are_a_slice() -> None:
    right = np.arange(300) % 5 > 0
    assert sizes(by_column(["a", None, "b"] * 100, right)) == {"a": 100, NO_VALUE: 100, "b": 100}
    mixed = [None if number % 3 == 0 else "n/a" if number % 10 == 0 else str(number) for number in range(300)]
    found = sizes(by_column(mixed, right))
    assert found.pop(NO_NUMBER) == 100 + 20
    assert sum(found.values()) == 180
    assert len(found) == 4


@pytest.mark.parametrize(
    "values",
    [
        [f"name {number}" for number in range(100)],  # each row its own
        ["same"] * 100,
        [None] * 100,
        ["nan", "inf", *["1"] * 98],  # parts of one row, and no rest
        [*[f"{number} kg" for number in range(60)], *["3"] * 40],  # mostly no numbers
    ],
)
def test_columns_without_a_slice(values: Sequence[str | None]) -> None:
    found = by_column(values, np.arange(100) % 3 > 0)
    assert (found.looked_at, found.columns, found.listed) == (0, (), ())


def test_few_rows_give_no_slice() -> None:
    found = by_column(SHOPS[1:39], RIGHT[1:39])  # 19 and 19
    assert found.looked_at == 0
    assert f"A slice needs at least {FEWEST_ROWS} rows" in shown(found)
    assert where_worse(found) is None


def test_all_right_and_all_wrong_are_worse_nowhere() -> None:
    for right in (np.ones(50, bool), np.zeros(50, bool)):
        found = by_column(SHOPS, right)
        assert (found.looked_at, found.significantly_worse) == (2, 0)
        assert all(each.p == pytest.approx(1) for each in found.listed)


def test_a_keyword_is_a_word_in_enough_rows_whatever_its_case() -> None:
    texts = ["Refund refund !"] * 15 + ["my REFUND ?"] * 10 + ["late"] * 30 + ["…"] * 45
    found = find_slices(texts, np.arange(100) % 4 > 0)
    keywords = {each.value: each.rows for each in found.listed if each.kind == "keyword"}
    assert keywords == {"refund": 25, "late": 30}  # `my` is in too few rows, and marks are no words


def test_keywords_are_counted_in_parts_and_in_scripts_without_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, right = [*random_texts(60, 8), *["好看", "不好"] * 30], np.arange(120) % 4 > 0
    whole = find_slices(texts, right)
    assert {each.value: each.rows for each in whole.listed}["好"] == 60
    monkeypatch.setattr(slices, "_ROWS_AT_ONCE", 7)
    assert find_slices(texts, right) == whole


def test_the_report_shows_ten_and_says_how_many() -> None:
    one = by_column(SHOPS, RIGHT).listed[0]
    listed = tuple(one.model_copy(update={"value": f"<b>{number}"}) for number in range(12))
    html = shown(Slices(looked_at=99, significantly_worse=12, columns=("shop",), listed=listed))
    assert html.count('<th scope="row">') == 10
    assert "On 12 slices, the model is right significantly less often" in html
    assert "99 slices were looked at: by length, by the column &#39;shop&#39;, and by keyword" in html
    assert "<b>" not in html
    assert "<td>.600<small>.387 to .781</small></td><td>.900</td>" in html
    nothing = shown(Slices(looked_at=1, significantly_worse=0, columns=(), listed=listed[:1]))
    assert nothing.startswith(
        "<p>No slice of these rows is significantly worse than the rest. 1 slice was looked at: by"
    )
    assert "<table" not in nothing
    assert shown(None) == ""


def test_the_report_has_the_section() -> None:
    evaluation = sample_evaluation()
    assert evaluation.slices is not None
    assert '<section id="slices"><h2>Where it is worse</h2>' in render(evaluation)
    assert "Where it is worse" not in render(evaluation.model_copy(update={"slices": None}))


def test_the_sentence_names_the_worst_slice() -> None:
    found = by_column(SHOPS, RIGHT)
    assert where_worse(found) == (
        "Worse than elsewhere: shop: north, .600 of 20 texts right against .900 of the others "
        f"(p = {2 * found.listed[0].p:.3f}, corrected for 2 slices).".replace("= 0", "= ")
    )
    said = where_worse(found.model_copy(update={"significantly_worse": 3}))
    assert said is not None
    assert said.endswith("; 2 other slices are worse too.")
    line_break = found.listed[0].model_copy(update={"column": "a\nb"})
    assert "\n" not in slice_name(Slice.model_validate(line_break.model_dump()))
