import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from glassformer.labels.answering import held_out_probabilities, rows_of
from glassformer.labels.check import check_labels
from glassformer.labels.doubts import folds_apart
from glassformer.labels.learning_curve import (
    Gain,
    LearningCurve,
    curve_through,
    learning_curve,
    line,
    power_law,
    power_law_with_floor,
    straight,
)
from glassformer.labels.repeats import OnProgress
from glassformer.readers.reader import Fold
from tests.labels.samples import opinions


def curve_of(rows: list[tuple[str, str]]) -> LearningCurve | None:
    texts, labels = [text for text, _ in rows], np.array([label == "good" for _, label in rows], np.int64)
    folds = folds_apart(labels, np.arange(len(rows)))
    labelled = rows_of(texts, labels, ("bad", "good"))
    right = held_out_probabilities(labelled, folds).argmax(axis=1) == labels
    return learning_curve(labelled, folds, right)


ROWS, LATER = np.array([100, 200, 400, 800.0]), np.array([800, 1600.0])


def test_each_curve_is_found_again() -> None:
    parts = ROWS / 100
    law, line_of_logs = 0.3 * parts**-0.5, 0.3 - 0.05 * np.log2(parts)
    both = power_law_with_floor(ROWS, np.stack([0.1 + law, law]), LATER)
    np.testing.assert_allclose(both[0], [0.1 + 0.3 / 8**0.5, 0.1 + 0.3 / 4], atol=1e-6)
    np.testing.assert_allclose(both[1], power_law(ROWS, law[None], LATER)[0])
    np.testing.assert_allclose(power_law(ROWS, law[None], LATER), [[0.3 / 8**0.5, 0.3 / 4]])
    np.testing.assert_allclose(line(ROWS, line_of_logs[None], LATER), [[0.15, 0.1]])
    np.testing.assert_allclose(straight(ROWS, 0.3 - 0.0001 * ROWS[None], LATER), [[0.22, 0.14]])


@pytest.mark.parametrize("curve", [power_law, power_law_with_floor, line, straight])
def test_a_curve_never_rises(curve: Callable[..., np.ndarray]) -> None:
    errors = np.array([[0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0]])
    found = curve(ROWS, errors, LATER)
    assert (found[:, 1] <= found[:, 0] + 1e-12).all()
    np.testing.assert_allclose(found, [[0.25, 0.25], [0.0, 0.0]], atol=1e-12)


def words_that_say_the_label(words: int, count: int) -> list[tuple[str, str]]:
    """One of these words without meaning says the label of each row, so parts of the rows do not know them all."""
    draw = random.Random(0)
    known = ["".join(draw.choices("bcdfghklmnprstvz", k=6)) for _ in range(words)]
    chosen = draw.choices(range(words), k=count)
    return [(f"{known[number]} {row}", ("good", "bad")[number % 2]) for row, number in enumerate(chosen)]


def test_rare_words_leave_something_to_learn() -> None:
    found = curve_of(words_that_say_the_label(120, 300))
    assert found is not None
    assert found.rows == (30, 60, 120, 240)
    assert found.accuracies[0] < found.accuracies[2] < found.accuracies[3]
    assert 0 < found.gain.low < found.gain.value < found.gain.high <= found.errors[3]


def test_what_is_learned_already_gains_nothing() -> None:
    found = curve_of(opinions(300))
    assert found is not None
    assert found.accuracies[-1] == 1
    assert found.gain.high < 0.01
    assert found.is_enough
    assert found.in_words("labels") == "no held-out answer is wrong, so more labels have nothing left to mend here"


def test_a_flat_curve_gains_nothing_though_errors_are_left() -> None:
    gains = (Gain(more=100, value=0.0002, low=0.00018, high=0.00024),)
    found = LearningCurve(rows=(8, 60), errors=(0.2, 0.2), gains=gains)
    said = "100 more labels would add about 0.0 percentage points of accuracy (likely 0.0 to 0.0)"
    assert found.in_words("labels") == said


def test_where_all_errors_would_go_only_their_number_is_said() -> None:
    found = LearningCurve(rows=(8, 60), errors=(0.2, 0.01), gains=(Gain(more=100, value=0.01, low=0.01, high=0.01),))
    assert not found.is_enough
    assert found.in_words("labels") == "more labels would add at most 1.0 percentage points of accuracy"
    off = replace(found, errors=(9.0, 2.5), baseline_error=9.0, gains=(Gain(more=100, value=2.5, low=2.5, high=2.5),))
    assert off.in_words("labels") == "more labels would make it at most 2.5 less off on average"


def test_the_same_rows_give_the_same_curve() -> None:
    rows = opinions(240)
    assert curve_of(rows) == curve_of(rows)


@pytest.mark.parametrize("count", [40, 58])
def test_few_rows_have_no_curve(count: int) -> None:
    assert curve_of(opinions(count)) is None


@pytest.mark.parametrize(("count", "more"), [(60, (100, 500)), (198, (100, 500)), (200, (100, 500, 1_000))])
def test_few_rows_foretell_less(count: int, more: tuple[int, ...]) -> None:
    found = curve_of(words_that_say_the_label(60, count))
    assert found is not None
    assert tuple(gain.more for gain in found.gains) == more
    for one, other in zip(found.gains, found.gains[1:], strict=False):
        assert 0 < one.low <= other.low
        assert one.value <= other.value
        assert one.high <= other.high
    assert (found.batch.more, found.gain.more) == (100, more[-1])


def test_errors_that_do_not_fall_by_chance_are_not_called_enough() -> None:
    folds = [
        Fold(learned=np.arange(60), held_out=np.arange(60, 120)),
        Fold(learned=np.arange(60, 120), held_out=np.arange(60)),
    ]
    draw = np.random.default_rng(3)
    wrong = {len_: draw.random(120) < share for len_, share in ((8, 0.3), (15, 0.31), (30, 0.33), (60, 0.35))}

    def learn(parts: Sequence[Fold], _: OnProgress) -> np.ndarray:
        judged = np.concatenate([part.held_out for part in parts])
        return wrong[len(parts[0].learned)][judged]

    found = curve_through(folds, wrong[60], learn)
    assert found.errors[0] < found.errors[3]
    assert (found.batch.value, found.batch.low) == (0, 0)
    assert found.batch.high > 0.01
    assert not found.is_enough


def test_a_number_has_a_curve_of_its_mean_error() -> None:
    draw = random.Random(0)
    words = ["".join(draw.choices("bcdfghklmnprstvz", k=6)) for _ in range(80)]
    chosen = [draw.choices(range(80), k=2) for _ in range(300)]
    texts = [" ".join(words[number] for number in numbers) for numbers in chosen]
    found = check_labels(texts, [sum(numbers) + draw.gauss(0, 40) for numbers in chosen], task="number").curve
    assert found is not None
    assert (found.of_numbers, found.rows) == (True, (30, 60, 120, 240))
    assert found.errors[0] > found.errors[3]
    assert 0 < found.gain.low < found.gain.value < found.gain.high <= found.errors[3]
    assert found.in_words().startswith("1,000 more rows of the same kind would make it about ")
    assert not found.is_enough
    nearly = replace(found, gains=(Gain(more=100, value=0, low=0, high=0.04 * found.errors[3]),))
    assert nearly.is_enough
    assert not replace(nearly, baseline_error=1.1 * found.errors[3]).is_enough


def test_numbers_that_begin_to_be_learned_late_are_foretold_by_a_straight_line() -> None:
    """The answers of a few hundred rows of SICK are the mean, and 400 rows then bring more than 200 did before."""
    folds = [
        Fold(learned=np.arange(100, 1_000), held_out=np.arange(100)),
        Fold(learned=np.arange(900), held_out=np.arange(900, 1_000)),
    ]
    of_size = {112: 0.8, 225: 0.79, 450: 0.77, 900: 0.73}
    noise = np.random.default_rng(0).normal(0, 0.01, 1_000)

    def learn(parts: Sequence[Fold], _: OnProgress) -> np.ndarray:
        judged = np.concatenate([part.held_out for part in parts])
        return of_size[len(parts[0].learned)] + noise[judged]

    found = curve_through(folds, of_size[900] + noise, learn, baseline_error=0.81)
    assert found.gain.value == pytest.approx(1_000 * 0.07 / 788, rel=0.02)
    assert found.gain.low < found.gain.value < found.gain.high
    falling = {112: 0.8, 225: 0.7, 450: 0.63, 900: 0.58}
    of_size.update(falling)
    assert curve_through(folds, of_size[900] + noise, learn, baseline_error=0.81).gain.value < 0.07
