import numpy as np
import pytest
from scipy import stats

from glassformer.experiments.variants.effects import Outcomes, differences, holm, key_effects


def outcomes(*of_seeds: object, same_rows: bool = False, overlap: float = 0.0) -> Outcomes:
    return Outcomes(
        values=tuple(np.asarray(right, dtype=np.int8) for right in of_seeds), same_rows=same_rows, overlap=overlap
    )


def shares(accuracies: list[float], rows: int) -> list[list[int]]:
    """Answers of variants that get these shares of the rows right."""
    return [[1] * round(accuracy * rows) + [0] * (rows - round(accuracy * rows)) for accuracy in accuracies]


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.4]) == pytest.approx([0.9, 0.8])
    assert holm([0.2, 0.7, 0.9]) == pytest.approx([0.6, 1.0, 1.0])


def test_own_rows_without_overlap_are_the_t_test_of_seeds() -> None:
    by_seed = [0.1, 0.3, 0.15, 0.25, 0.4]
    judged = outcomes().judge([np.full(70, accuracy) for accuracy in by_seed])
    expected = stats.ttest_1samp(by_seed, 0)
    interval = expected.confidence_interval(0.95)
    assert judged.p == pytest.approx(expected.pvalue)
    found = judged.interval(low=-1, high=1)
    assert (found.value, found.low, found.high) == pytest.approx((0.24, interval.low, interval.high))


def test_overlap_widens() -> None:
    values = [np.full(70, accuracy) for accuracy in (0.1, 0.3, 0.15, 0.25, 0.4)]
    plain, widened = outcomes().judge(values), outcomes(overlap=0.25).judge(values)
    assert widened.error / plain.error == pytest.approx(np.sqrt((1 / 5 + 0.25) / (1 / 5)))
    assert widened.p > plain.p


@pytest.mark.parametrize("same_rows", [False, True])
def test_variants_that_answer_alike_do_not_differ(same_rows: bool) -> None:
    found = differences(
        outcomes(same_rows=same_rows), [np.array([[0, 1, 1, 0]] * 2, dtype=np.int8)] * 3, ["one", "other"]
    )[0]
    assert found.p == 1
    assert found.difference.low < 0 < found.difference.high


def test_seeds_that_agree_to_the_row_are_not_taken_for_certain() -> None:
    judged = outcomes().judge([np.array([1.0, 0, 0, 0, 0])] * 2)
    assert judged.error == pytest.approx(0.2 * np.sqrt(1 / 2))
    assert judged.p > 0.05


def coverage(seed_spread: float, seeds: int, rows: int = 150) -> float:
    """How often the interval of crossed seeds and rows holds the truth, zero."""
    draw = np.random.default_rng(1)
    judge = outcomes(same_rows=True).judge
    hits = 0
    for _ in range(400):
        of_rows = draw.normal(0, 0.2, rows)
        values = [draw.normal(0, seed_spread) + of_rows + draw.normal(0, 0.3, rows) for _ in range(seeds)]
        found = judge(values).interval(low=-1, high=1)
        hits += found.low <= 0 <= found.high
    return hits / 400


@pytest.mark.parametrize(("seed_spread", "seeds"), [(0.0, 5), (0.03, 5), (0.1, 3)])
def test_crossed_intervals_hold_what_they_promise(seed_spread: float, seeds: int) -> None:
    assert 0.92 <= coverage(seed_spread, seeds) <= 0.985


def test_same_rows_let_no_number_of_seeds_hide_the_chance_of_rows() -> None:
    values = [np.array([1.0, -1, 0, 1, 1, 0, -1, 1])] * 40
    error = outcomes(same_rows=True).judge(values).error
    assert error == pytest.approx(values[0].std(ddof=1) / np.sqrt(8), rel=0.05)


def grid() -> Outcomes:
    """Two values of one key (the first .1 better) by three of another (b .2 above a, c .05 below), five seeds."""
    rows = 200
    luck = [0.0, 0.01, -0.01, 0.02, -0.02]
    tilt = [0.005, -0.005, 0.0, 0.01, -0.01]
    return outcomes(
        *(
            shares([0.5 + chance + x + y * (1 + t) for x in (0.1, 0.0) for y in (0.0, 0.2, -0.05)], rows)
            for chance, t in zip(luck, tilt, strict=True)
        )
    )


def test_effects_are_averaged_over_the_other_key() -> None:
    norm, positions = key_effects(grid(), [("norm", ["rms", "layer"]), ("positions", ["a", "b", "c"])], range(6))
    assert [value.value for value in norm.values] == ["rms", "layer"]
    assert [value.effect.value for value in norm.values] == pytest.approx([0.05, -0.05], abs=2e-3)
    assert [value.mean.value for value in norm.values] == pytest.approx([0.65, 0.55], abs=2e-3)
    assert [value.effect.value for value in positions.values] == pytest.approx([-0.05, 0.15, -0.1], abs=2e-3)
    assert sum(value.effect.value for value in positions.values) == pytest.approx(0)
    assert [(pair.better, pair.worse) for pair in positions.differences] == [("b", "a"), ("a", "c"), ("b", "c")]
    assert [pair.difference.value for pair in positions.differences] == pytest.approx([0.2, 0.05, 0.25], abs=3e-3)


def test_seeds_that_agree_by_chance_leave_the_chance_of_rows() -> None:
    rows = np.repeat([1.0, 0.0], [480, 274])
    found = Outcomes(values=(rows[None], rows[None, ::-1]), same_rows=False, overlap=0.25).judge([rows, rows[::-1]])
    assert found.error == pytest.approx(np.sqrt(rows.var(ddof=1) / 754 * (1 / 2 + 0.25)))


def test_pairing_takes_out_the_luck_of_a_seed() -> None:
    norm, _ = key_effects(grid(), [("norm", ["rms", "layer"]), ("positions", ["a", "b", "c"])], range(6))
    accuracy, difference = norm.values[0].mean, norm.differences[0].difference
    assert difference.high - difference.low < (accuracy.high - accuracy.low) / 2
    assert norm.differences[0].beyond_noise
    assert norm.verdict.startswith("rms is more accurate than layer by .100 (")


def test_one_correction_spans_all_keys() -> None:
    keys = key_effects(grid(), [("norm", ["rms", "layer"]), ("positions", ["a", "b", "c"])], range(6))
    pairs = [pair for key in keys for pair in key.differences]
    assert len(pairs) == 4
    assert [pair.holm_p for pair in pairs] == pytest.approx(holm([pair.p for pair in pairs]))


def test_an_exact_tie_has_no_winner() -> None:
    two, three = (
        key_effects(
            outcomes(*(shares([0.3 + luck] * n, 30) for luck in (0.1, 0.2))),
            [("norm", ["rms", "layer", "x"][:n])],
            range(n),
        )
        for n in (2, 3)
    )
    assert two[0].verdict == "no difference: both values have the same mean"
    assert three[0].verdict == "no difference: all values have the same mean"


def test_noise_is_called_noise() -> None:
    found = key_effects(
        outcomes(shares([0.5, 0.6], 30), shares([0.6, 0.5], 30), shares([0.5, 0.53], 30)),
        [("norm", ["rms", "layer"])],
        range(2),
    )[0]
    assert not found.differences[0].beyond_noise
    assert found.verdict.startswith("no difference that these runs can show; the largest, layer over rms, is +.011 (−")


def test_values_that_are_one_model_tell_nothing_about_their_setting() -> None:
    rows = [shares([0.5 + luck, 0.5 + luck, 0.6 + luck, 0.7 + luck], 100) for luck in (0, 0.02)]
    keys = [("counting", ["none", "auto"]), ("body", ["none", "auto"])]
    counting, body = key_effects(outcomes(*rows), keys, [0, 0, 2, 3])
    assert body.differences[0].difference.value == pytest.approx(0.1)
    assert body.values[0].mean.value == pytest.approx(0.61)
    assert counting.differences[0].difference.value == pytest.approx(0.15)
    everywhere = key_effects(outcomes(*rows), keys, [0, 0, 2, 2])
    assert everywhere[1].differences[0].difference.value == pytest.approx(0.05)
