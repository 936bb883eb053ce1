import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.words.embed import RarePlace, rare_place
from glassformer.words.embedding_map import FEWEST_WORDS


def test_by_hand() -> None:
    place = RarePlace(direction=np.array([0.6, 0.0, 0.8]), place=5.0)
    # 0.6·5 + 0.8·10 = 11 along the line, 6 too much; 0 along it, 5 too little
    found = place(np.array([[5.0, 7.0, 10.0], [4.0, -1.0, -3.0]]))
    np.testing.assert_allclose(found, [[1.4, 7.0, 5.2], [7.0, -1.0, 1.0]])


def test_the_line_leads_from_the_most_frequent_quarter_to_the_rarest() -> None:
    table = np.zeros((FEWEST_WORDS + 10, 3))
    table[:15] = [1.0, 9.0, 2.0]
    table[15:30, 0] = np.arange(15)  # neither the first quarter nor in the rarer half: of no account
    table[30:45] = [0.0, 3.0, 0.0]
    table[45:] = [1.0, 5.0, 2.0]
    found = rare_place(table)
    assert found is not None
    np.testing.assert_allclose(found.direction, [0.0, -1.0, 0.0])
    assert found.place == -4.0  # the median of fifteen −3 and fifteen −5


@given(st.integers(FEWEST_WORDS, 90), st.integers(0, 1_000))
def test_vectors_are_moved_along_the_line_alone(words: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(words, 5)) + np.linspace(0, 3, words)[:, None] * rng.normal(size=5)
    place = rare_place(table)
    assert place is not None
    assert np.linalg.norm(place.direction) == pytest.approx(1.0)
    vectors = rng.normal(size=(7, 5))
    moved = place(vectors)
    np.testing.assert_allclose(moved @ place.direction, place.place)
    across = np.eye(5) - np.outer(place.direction, place.direction)
    np.testing.assert_allclose(moved @ across, vectors @ across, atol=1e-12)
    np.testing.assert_allclose(place(moved), moved)


def test_no_line_where_words_are_few_or_all_the_same() -> None:
    assert rare_place(np.random.default_rng(3).normal(size=(FEWEST_WORDS - 1, 4))) is None
    assert rare_place(np.ones((FEWEST_WORDS, 4))) is None
