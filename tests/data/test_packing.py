import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import START_ID
from glassformer.data.windows import PackedStream, excerpts

documents = st.lists(st.lists(st.integers(3, 60), max_size=9), min_size=1, max_size=6)


def store(texts: list[list[int]]) -> TokenStore:
    return TokenStore.in_memory([np.array(text, dtype=np.int64) for text in texts])


def test_by_hand() -> None:
    stream = PackedStream(store([[5, 6, 7], [], [8]]), np.array([2, 0, 1]), 3)
    # 2 8 | 2 5 6 7 | 2 | 2
    assert [stream.window(number).tolist() for number in range(len(stream))] == [[2, 8, 2, 5], [5, 6, 7, 2]]


@given(texts=documents, window=st.integers(1, 12), seed=st.integers(0, 9))
def test_windows_are_the_stream_cut_up(texts: list[list[int]], window: int, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(texts))
    whole = [token for number in order for token in [START_ID, *texts[number]]] + [START_ID]
    stream = PackedStream(store(texts), order, window)
    assert len(stream) == (len(whole) - 1) // window
    for number in range(len(stream)):
        assert stream.window(number).tolist() == whole[number * window : (number + 1) * window + 1]


@given(texts=documents, window=st.integers(1, 12))
def test_excerpts_predict_every_token_once(texts: list[list[int]], window: int) -> None:
    cut = list(excerpts(store(texts), window))
    found = [token for excerpt in cut for token in excerpt.tokens[excerpt.fresh + 1 :].tolist()]
    assert found == [token for text in texts for token in [*text, START_ID]]
    assert all(1 < len(excerpt.tokens) <= window + 1 for excerpt in cut)


@pytest.mark.parametrize("window", [4, 5])
def test_excerpts_bring_half_a_window_along(window: int) -> None:
    text = list(range(3, 20))
    later = list(excerpts(store([text]), window))[1:]
    assert all(excerpt.fresh >= window // 2 for excerpt in later)
    for excerpt in later:
        assert [token - excerpt.tokens[0] for token in excerpt.tokens[:-1]] == list(range(len(excerpt.tokens) - 1))
