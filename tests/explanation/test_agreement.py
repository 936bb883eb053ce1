from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from glassformer.explanation.by_reader import METHODS
from glassformer.explanation.explain import COMPARED, measure_agreement
from glassformer.explanation.occluding import leave_one_out
from glassformer.explanation.reading import of_words
from tests.explanation.test_attribution import IDS, ours, reading

NOTHING = np.zeros(6)


def test_it_is_the_rank_correlation_with_each_other_method() -> None:
    text = replace(reading(ours()), groups=np.arange(6))
    shares = leave_one_out(text)
    counting = np.array([0.1, -0.2, 0.0, 0.3, 0.0, 0.05])
    found = measure_agreement(text, counting, shares, "leave-one-out")
    assert list(found) == [name for name in COMPARED if name != "leave-one-out"]
    expected = spearmanr(counting + shares, counting + METHODS["occlusion"](text)).statistic
    assert found["occlusion"] == pytest.approx(expected)


def test_equal_shares_have_the_mean_of_their_ranks() -> None:
    text = replace(reading(ours()), groups=np.arange(6))
    shares = np.array([0.2, 0.2, -0.1, 0.2, 0.0, -0.1])
    expected = spearmanr(shares, METHODS["occlusion"](text)).statistic
    assert measure_agreement(text, NOTHING, shares, "rollout")["occlusion"] == pytest.approx(expected)


def test_the_same_shares_agree_and_opposite_ones_disagree() -> None:
    text = replace(reading(ours()), groups=np.arange(6))
    shares = METHODS["occlusion"](text)
    assert measure_agreement(text, NOTHING, shares, "rollout")["occlusion"] == pytest.approx(1)
    assert measure_agreement(text, NOTHING, -shares, "rollout")["occlusion"] == pytest.approx(-1)


def test_of_a_long_text_some_words_are_compared() -> None:
    ids = np.tile(IDS, 10)
    text = replace(reading(ours(max_seq_len=100), ids=ids), groups=np.arange(60))
    found = measure_agreement(text, np.zeros(60), METHODS["occlusion"](text), "occlusion")
    assert all(-1 <= value <= 1 for value in found.values())


def test_three_words_are_too_few_and_equal_shares_have_no_ranking() -> None:
    assert measure_agreement(reading(ours()), np.zeros(3), np.ones(3), "occlusion") == {}
    text = replace(reading(ours()), groups=np.arange(6))
    assert measure_agreement(text, NOTHING, np.ones(6), "occlusion") == {}


def test_the_tokens_of_a_word_are_added_up() -> None:
    text = replace(reading(ours()), groups=np.array([0, 0, 1, -1, 2, 2]))
    assert of_words(text, np.arange(6.0), 4).tolist() == [1, 2, 9, 0]
