import numpy as np
import pytest

from glassformer.words.embedding_map import cosines, fit_map

WORDS, FEATURES, WIDTH = 240, 9, 6


def samples(noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    rng = np.random.default_rng(4)
    contexts = rng.normal(size=(WORDS, FEATURES)) * 3 + 1
    embeddings = contexts @ rng.normal(size=(FEATURES, WIDTH)) + 0.5 + noise * rng.normal(size=(WORDS, WIDTH))
    return contexts, embeddings, rng.normal(size=(WORDS, WIDTH)), [f"definition {n}" for n in range(WORDS)]


def test_a_linear_relation_is_found() -> None:
    contexts, embeddings, averages, definitions = samples(noise=0.0)
    fitted = fit_map(contexts, embeddings, averages, definitions)
    np.testing.assert_allclose(fitted(contexts[:3]), embeddings[:3], atol=0.05)
    report = fitted.report
    assert (report.words, report.held_out) == (240, 48)
    assert report.cosine > 0.999
    assert abs(report.cosine_of_average) < 0.2
    assert report.cosine_of_mean < 0.6
    assert report.penalty == pytest.approx(0.1)


def test_where_there_is_nothing_to_find_the_penalty_is_large_and_the_report_says_so() -> None:
    contexts, embeddings, averages, definitions = samples(noise=0.0)
    chance = np.random.default_rng(8).normal(size=embeddings.shape)
    report = fit_map(contexts, chance, averages, definitions).report
    assert report.penalty > 1_000
    assert report.cosine < 0.2


def test_words_of_one_definition_are_held_out_together() -> None:
    rng = np.random.default_rng(6)
    many = 1_000  # features: enough to tell every definition from every other
    contexts = np.repeat(rng.normal(size=(WORDS // 4, many)), 4, axis=0)
    embeddings = np.repeat(rng.normal(size=(WORDS // 4, WIDTH)), 4, axis=0)
    definitions = [f"definition {n // 4}" for n in range(WORDS)]
    assert fit_map(contexts, embeddings, embeddings, definitions).report.cosine < 0.5
    apart = [f"definition {n}" for n in range(WORDS)]
    assert fit_map(contexts, embeddings, embeddings, apart).report.cosine > 0.9


def test_the_same_words_give_the_same_map() -> None:
    first, second = (fit_map(*samples(noise=2.0)) for _ in range(2))
    assert first.report == second.report
    np.testing.assert_array_equal(first(samples(0.0)[0]), second(samples(0.0)[0]))


def test_cosines() -> None:
    ours = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, -1.0]])
    np.testing.assert_allclose(cosines(ours, np.array([[4.0, 3.0], [1.0, 2.0], [-2.0, 2.0]])), [0.96, 0.0, -1.0])
    np.testing.assert_allclose(cosines(ours, np.array([0.0, 5.0])), [0.8, 0.0, -(0.5**0.5)])
