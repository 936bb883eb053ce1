import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from glassformer.prediction.calibration import fit_temperature
from glassformer.readers.joining import Joined, join
from glassformer.readers.reader import DECIDING, HEAVIEST

RNG = np.random.default_rng(3)


def answers(n: int, sharpness: float, *, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and logits that know them up to noise."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    return labels, sharpness * np.eye(classes)[labels] + rng.normal(size=(n, classes))


def test_a_single_reader_gets_the_inverse_of_its_temperature() -> None:
    labels, logits = answers(2000, 3.0)
    (weight,) = join([5 * logits], labels, multilabel=False).weights
    assert weight == pytest.approx(1 / fit_temperature(5 * logits, labels, multilabel=False), rel=0.01)


def test_the_loss_is_that_of_the_weighted_sum() -> None:
    labels, first = answers(300, 1.0)
    _, second = answers(300, 1.5, seed=1)
    joined = join([first, second], labels, multilabel=False)
    total = joined.weights[0] * first + joined.weights[1] * second
    assert joined.loss == pytest.approx(-log_softmax(total, axis=1)[np.arange(300), labels].sum())
    assert joined.loss < join([second], labels, multilabel=False).loss


def test_a_reader_that_knows_nothing_gets_nearly_no_weight_and_one_that_lies_gets_none() -> None:
    labels, knows = answers(3000, 2.0)
    noise = RNG.normal(size=knows.shape)
    weights = join([knows, noise, -knows + RNG.normal(size=knows.shape)], labels, multilabel=False).weights
    assert weights[0] > 0.5
    assert weights[1] < 0.1
    assert weights[2] == 0


def test_weights_stay_finite_if_every_answer_is_right() -> None:
    labels = np.arange(40) % 2
    logits = 10.0 * np.eye(2)[labels]
    weights = join([logits, logits], labels, multilabel=False).weights
    assert all(0 < weight < HEAVIEST / 2 for weight in weights)


def test_rows_count_by_their_weight() -> None:
    labels, logits = answers(60, 0.5)
    wrong = np.roll(labels, 1)
    doubled = join([np.tile(logits, (2, 1))], np.concatenate([labels, wrong]), multilabel=False)
    ignored = join(
        [np.tile(logits, (2, 1))],
        np.concatenate([labels, wrong]),
        multilabel=False,
        row_weights=np.repeat([1.0, 0.0], 60),
    )
    alone = join([logits], labels, multilabel=False)
    assert ignored.weights == pytest.approx(alone.weights)
    assert doubled.weights[0] < alone.weights[0]


def test_several_labels_per_text_have_a_sigmoid_each() -> None:
    truth = (RNG.random((500, 4)) < 0.3).astype(np.uint8)
    logits = 2.0 * (2.0 * truth - 1) + RNG.normal(size=truth.shape)
    joined = join([logits], truth, multilabel=True)
    probs = expit(joined.weights[0] * logits)
    by_hand = -np.where(truth > 0, np.log(probs), np.log1p(-probs)).mean(axis=1).sum()
    assert joined.loss == pytest.approx(by_hand)
    assert joined.weights[0] > 1


def test_what_is_fixed_is_added_as_it_is_and_rows_that_it_decides_do_not_count() -> None:
    labels, logits = answers(300, 1.0)
    fixed = np.zeros_like(logits)
    fixed[:, 0] = 1.5
    joined = join([logits], labels, multilabel=False, fixed=fixed)
    total = joined.weights[0] * logits + fixed
    assert joined.loss == pytest.approx(-log_softmax(total, axis=1)[np.arange(300), labels].sum())
    assert join([], labels, multilabel=False, fixed=fixed).weights == ()
    decided = np.where(np.arange(300)[:, None] < 100, [0, DECIDING, 0], fixed)
    some = join([logits[100:]], labels[100:], multilabel=False, fixed=fixed[100:])
    assert join([logits], labels, multilabel=False, fixed=decided) == some


def test_a_leading_reader_counts_more_until_many_rows_speak_against_it() -> None:
    def weights(rows: int, leading: int | None) -> tuple[float, ...]:
        labels, first = answers(rows, 1.0)
        return join([first, answers(rows, 1.0, seed=1)[1]], labels, multilabel=False, leading=leading).weights

    assert weights(0, leading=1) == (0.12, 0.8), "nearly all, as the odds are 4 to 1"
    labels, logits = answers(100, 0.0)
    half = join([0 * logits] * 2, labels, multilabel=False, leading=1).weights
    assert half == pytest.approx(((0.12 + 2**-0.5) / 2, 0.8 * (1 + 2**-0.5) / 2)), "the others have half caught up"
    led, leads = weights(6, leading=1)
    assert leads - led == pytest.approx(0.88, abs=0.2)
    assert weights(5000, leading=1) == pytest.approx(weights(5000, leading=None), abs=0.02)
    labels, logits = answers(6, 1.0)
    assert join([logits], labels, multilabel=False, leading=0) == join([logits], labels, multilabel=False)


def test_a_leading_reader_that_knows_nothing_loses_its_weight_as_rows_speak_against_it() -> None:
    def weights(rows: int, sharpness: float) -> tuple[float, ...]:
        labels, counting = answers(rows, 1.0)
        return join(
            [counting, answers(rows, sharpness, seed=1)[1]], labels, multilabel=False, leading=1, odds=4.0
        ).weights

    assert weights(200, 0.0)[1] < 0.01 < weights(40, 0.0)[1] < 0.3 < weights(6, 0.0)[1]
    assert weights(40, 1.0)[1] > 0.5


def test_a_leading_reader_of_small_odds_must_prove_itself() -> None:
    def weight(odds: float, sharpness: float, rows: int) -> float:
        labels, counting = answers(rows, 1.0)
        both = [counting, answers(rows, sharpness, seed=1)[1]]
        return join(both, labels, multilabel=False, leading=1, odds=odds).weights[1]

    assert weight(0.05, 0.0, 12) < 0.1 < weight(4.0, 0.0, 12)
    assert weight(0.05, 1.0, 200) == pytest.approx(weight(4.0, 1.0, 200), abs=0.02), "rows have shown what it knows"


def test_the_weight_of_a_leading_reader_is_a_mean_over_two_models() -> None:
    labels, counting = answers(12, 0.7)
    leads = answers(12, -0.2, seed=1)[1]
    away = np.linspace(-4, 4, 161)
    prior = np.exp(-(away**2) / 2) / np.exp(-(away**2) / 2).sum()

    def likelihood(one: float, other: float) -> float:
        return float(np.exp(log_softmax(one * counting + other * leads, axis=1)[np.arange(12), labels].sum()))

    few = 100 / 112  # of twelve rows
    ones, others = (2**-0.5 + few * (mean - 2**-0.5) + away / 4 for mean in (0.12, 1))
    with_it = np.array([[likelihood(one, other) for other in others] for one in ones]) * np.outer(prior, prior)
    without = np.array([likelihood(one, 0) for one in ones]) * prior
    knows = 4 * with_it.sum() / (4 * with_it.sum() + without.sum())
    best = np.unravel_index(with_it.argmax(), with_it.shape)
    expected = knows * ones[best[0]] + (1 - knows) * ones[without.argmax()], knows * others[best[1]]
    assert 0.2 < knows < 0.8
    assert join([counting, leads], labels, multilabel=False, leading=1).weights == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("leading", [None, 1])
def test_how_frequent_labels_are_is_said_once(leading: int | None) -> None:
    labels = (np.arange(1_000) < 200).astype(int)
    prior = np.log([0.8, 0.2])
    both = [np.tile(prior, (1_000, 1))] * 2  # readers that know nothing else

    def answered(joined: Joined) -> float:
        return float(softmax((sum(joined.weights) + joined.prior) * prior)[0])

    twice = join(both, labels, multilabel=False, leading=leading)
    assert twice.prior == 0
    once = join(both, labels, multilabel=False, leading=leading, prior=prior)
    assert answered(once) == pytest.approx(0.8, abs=0.003)
    few = [np.tile(prior, (10, 1))] * 2, (np.arange(10) < 2).astype(int)
    assert answered(join(*few, multilabel=False, leading=leading)) > 0.8
    assert 0.6 < answered(join(*few, multilabel=False, leading=leading, prior=prior)) < 0.78  # little is known of it
    none = join([each[:0] for each in both], labels[:0], multilabel=False, leading=leading, prior=prior)
    assert sum(none.weights) + none.prior == pytest.approx(0)


def test_many_rows_say_how_much_of_the_prior_readers_hold() -> None:
    labels = (RNG.random(4000) < 0.2).astype(int)
    knows = np.eye(2)[labels] + RNG.normal(size=(4000, 2))  # without the prior
    prior = np.log([0.8, 0.2])
    joined = join([knows, RNG.normal(size=(4000, 2))], labels, multilabel=False, prior=prior)
    assert joined.prior == pytest.approx(1, abs=0.2)
    assert joined.loss < join([knows, RNG.normal(size=(4000, 2))], labels, multilabel=False).loss - 400


def test_a_reader_that_knows_how_frequent_labels_are_brings_nothing_to_a_single_one() -> None:
    rng, prior = np.random.default_rng(1), np.log([0.9, 0.1])
    labels = (rng.random(2000) < 0.1).astype(int)
    evidence = 1.8 * (rng.normal(size=2000) + 1.8 * (labels - 0.5))  # the log odds of label 1 by a text
    regularised = prior + np.outer(0.6 * evidence, [-0.5, 0.5])  # its weights are too small, and its bias is not
    knows_nothing = prior + 0.05 * rng.normal(size=(2000, 2))
    one = join([regularised], labels, multilabel=False, prior=prior)
    two = join([regularised, knows_nothing], labels, multilabel=False, prior=prior)
    assert two.loss == pytest.approx(one.loss, abs=2)
    assert two.loss < join([regularised], labels, multilabel=False).loss - 20  # which is what the prior brings
