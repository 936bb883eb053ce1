"""Stratified rows are those of scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedShuffleSplit

from glassformer.data.stratified import stratified_rows


@given(st.lists(st.integers(2, 40), min_size=1, max_size=9), st.integers(0, 3), st.data())
def test_they_are_those_of_scikit_learn(sizes: list[int], gap: int, data: st.DataObject) -> None:
    classes = np.random.default_rng(sum(sizes)).permutation(np.repeat(np.arange(len(sizes)) * (gap + 1), sizes))
    n_rows = data.draw(st.integers(len(sizes), len(classes) - len(sizes)))
    seed = data.draw(st.integers(0, 2**32 - 1))
    theirs = StratifiedShuffleSplit(n_splits=1, test_size=n_rows, random_state=seed)
    _, expected = next(theirs.split(classes, classes))
    assert sorted(stratified_rows(classes, n_rows, seed)) == sorted(expected)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_numbers_of_any_width_draw_the_same_rows(dtype: type) -> None:
    classes = np.arange(1_000) % 7 % 3
    assert stratified_rows(classes.astype(dtype), 100, 5).tolist() == stratified_rows(classes, 100, 5).tolist()
