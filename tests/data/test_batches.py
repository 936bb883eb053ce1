from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.arrays import IntArray
from glassformer.data.batches import assemble, covering_batches, padding_share
from glassformer.data.store import TokenStore
from glassformer.data.windows import Windows, bucket, chunk, covering_windows, random_windows

length_lists = st.lists(st.integers(0, 70), min_size=1, max_size=120)
seeds = st.integers(0, 10_000)


def array(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def counting_store(lengths: list[int]) -> TokenStore:
    """Row r holds 100·(r + 1), 100·(r + 1) + 1, …: every token tells where it comes from."""
    return TokenStore.in_memory([np.arange(n, dtype=np.int64) + 100 * (r + 1) for r, n in enumerate(lengths)])


def as_lists(batches: list[IntArray]) -> list[list[int]]:
    return [batch.tolist() for batch in batches]


@given(length_lists, st.integers(1, 300), st.integers(1, 20), st.none() | seeds, st.integers(0, 9))
def test_every_window_once_within_the_budget(
    lengths: list[int], batch_tokens: int, batch_size: int, seed: int | None, epoch: int
) -> None:
    batches = bucket(array(lengths), batch_tokens=batch_tokens, batch_size=batch_size, seed=seed, epoch=epoch)
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        width = max(lengths[i] for i in batch) + 1
        assert len(batch) <= batch_size
        assert len(batch) == 1 or width * len(batch) <= batch_tokens


@given(length_lists, seeds, st.integers(0, 9))
def test_the_order_is_a_function_of_seed_and_epoch(lengths: list[int], seed: int, epoch: int) -> None:
    once, again = (
        as_lists(bucket(array(lengths), batch_tokens=90, batch_size=7, seed=seed, epoch=epoch)) for _ in range(2)
    )
    assert once == again


@pytest.mark.parametrize(("seed", "epoch"), [(5, 1), (6, 0)], ids=["another epoch", "another seed"])
def test_another_epoch_or_seed_is_another_order(seed: int, epoch: int) -> None:
    lengths = array([9] * 50)
    first = as_lists(bucket(lengths, batch_tokens=90, batch_size=7, seed=5, epoch=0))
    other = as_lists(bucket(lengths, batch_tokens=90, batch_size=7, seed=seed, epoch=epoch))
    assert first != other
    assert {frozenset(batch) for batch in first} != {frozenset(batch) for batch in other}


def test_batches_do_not_come_by_length() -> None:
    lengths = np.random.default_rng(1).integers(1, 60, 500)
    longest = [lengths[batch].max() for batch in bucket(lengths, batch_tokens=400, batch_size=16, seed=2)]
    assert longest != sorted(longest)
    assert longest != sorted(longest, reverse=True)


def test_without_a_seed_the_longest_come_first() -> None:
    lengths = array([3, 9, 1, 9, 4])
    assert as_lists(bucket(lengths, batch_tokens=24, batch_size=2)) == [[1, 3], [4, 0], [2]]


def test_no_windows_no_batches() -> None:
    assert bucket(array([]), batch_tokens=20, batch_size=2) == []
    assert bucket(array([]), batch_tokens=20, batch_size=2, seed=1) == []


def test_chunks_are_in_order_or_shuffled_whatever_the_length() -> None:
    assert [batch.tolist() for batch in chunk(7, batch_size=3, shuffled=None)] == [[0, 1, 2], [3, 4, 5], [6]]
    shuffled = chunk(700, batch_size=3, shuffled=(4, 1))
    assert sorted(np.concatenate(shuffled).tolist()) == list(range(700))
    assert np.concatenate(shuffled).tolist() == np.concatenate(chunk(700, batch_size=3, shuffled=(4, 1))).tolist()
    assert np.concatenate(shuffled).tolist() != np.concatenate(chunk(700, batch_size=3, shuffled=(4, 2))).tolist()


def test_bucketing_saves_padding() -> None:
    lengths = np.minimum(np.random.default_rng(1).lognormal(2.5, 1, 3000).astype(np.int64) + 1, 200)

    def share(batches: list[IntArray]) -> float:
        places = sum(len(batch) * (int(lengths[batch].max()) + 1) for batch in batches)
        return 1 - (lengths.sum() + len(lengths)) / places

    unsorted = [np.arange(3000)[i : i + 32] for i in range(0, 3000, 32)]
    assert share(bucket(lengths, batch_tokens=10**6, batch_size=32, seed=3)) < 0.15
    assert share(unsorted) > 0.6


@given(length_lists, st.integers(2, 40))
def test_covering_windows_read_every_token(lengths: list[int], max_seq_len: int) -> None:
    room = max_seq_len - 1
    windows = covering_windows(array(lengths), max_seq_len)
    assert windows.lengths.max() <= room
    per_row: dict[int, list[tuple[int, int]]] = {row: [] for row in range(len(lengths))}
    for row, start, length in zip(windows.rows, windows.starts, windows.lengths, strict=True):
        per_row[int(row)].append((int(start), int(start + length)))
    for row, length in enumerate(lengths):
        spans = per_row[row]
        assert spans[0][0] == 0
        assert spans[-1][1] == length
        assert len(spans) == 1 or length > room
        for (_, end), (start, _) in pairwise(spans):
            assert end - start >= room // 4


@given(length_lists, st.integers(2, 40), seeds, st.integers(0, 9))
def test_random_windows_stay_inside_their_row(lengths: list[int], max_seq_len: int, seed: int, epoch: int) -> None:
    windows = random_windows(array(lengths), max_seq_len, seed=seed, epoch=epoch)
    assert windows.rows.tolist() == list(range(len(lengths)))
    assert windows.lengths.tolist() == [min(length, max_seq_len - 1) for length in lengths]
    assert (windows.starts >= 0).all()
    assert (windows.starts + windows.lengths <= array(lengths)).all()


def test_random_windows_reach_both_ends_and_move_with_the_epoch() -> None:
    windows = [random_windows(array([7] * 400), 5, seed=1, epoch=epoch).starts for epoch in range(2)]
    assert Counter(windows[0].tolist()).keys() == {0, 1, 2, 3}
    assert windows[0].tolist() != windows[1].tolist()


def test_a_batch_starts_with_the_start_token_and_is_padded_right() -> None:
    windows = Windows(rows=array([2, 0, 1]), starts=array([1, 0, 0]), lengths=array([3, 2, 0]), max_seq_len=9)
    batch = assemble(counting_store([2, 0, 5]), windows, array([0, 1, 2]))
    assert batch.rows.tolist() == [2, 0, 1]
    assert batch.inputs.token_ids.tolist() == [[2, 301, 302, 303], [2, 100, 101, 0], [2, 0, 0, 0]]
    assert batch.inputs.attention_mask.tolist() == [[True] * 4, [True] * 3 + [False], [True] + [False] * 3]
    assert batch.inputs.token_ids.dtype == torch.int64
    assert padding_share(batch) == pytest.approx(4 / 12)


@pytest.mark.parametrize(("longest", "width"), [(0, 4), (3, 4), (4, 8), (62, 64), (64, 80), (95, 96), (96, 99)])
def test_batches_come_in_few_widths(longest: int, width: int) -> None:
    store = counting_store([longest])
    windows = Windows(rows=array([0]), starts=array([0]), lengths=array([longest]), max_seq_len=99)
    assert assemble(store, windows, array([0])).inputs.token_ids.shape == (1, width)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=30), st.integers(2, 25))
def test_covering_batches_hold_every_token_of_every_row(lengths: list[int], max_seq_len: int) -> None:
    store = counting_store(lengths)
    found: dict[int, set[int]] = {row: set() for row in range(len(lengths))}
    for batch in covering_batches(store, max_seq_len, batch_tokens=100, batch_size=6):
        assert batch.inputs.token_ids.shape[1] <= max_seq_len
        assert (batch.inputs.token_ids[:, 0] == 2).all()
        assert (batch.inputs.token_ids[~batch.inputs.attention_mask] == 0).all()
        for row, start, ids, mask in zip(batch.rows, batch.starts, *batch.inputs, strict=True):
            read = ids[mask].tolist()[1:]
            found[int(row)] |= set(read)
            first = store.offsets[row] + start
            assert read == store.tokens[first : first + len(read)].tolist()
    rows = np.split(store.tokens, store.offsets[1:-1])
    assert found == {row: set(tokens.tolist()) for row, tokens in enumerate(rows)}
