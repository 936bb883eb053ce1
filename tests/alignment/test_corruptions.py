from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.alignment.corruptions import KINDS, Corruptor, cut_short, repeated, replaced, shuffled, with_gap
from glassformer.alignment.pairs import ReadPair
from glassformer.data.tokenizers import START_ID

ANSWER = np.arange(10, 18)


def pair(prompt: list[int], answer: list[int]) -> ReadPair:
    return ReadPair(token_ids=np.array([START_ID, *prompt, *answer]), begins=1 + len(prompt))


OTHERS = [pair([3], [10, 11, 12]), pair([4], [20, 21]), pair([5], [30])]


def test_each_way_by_what_it_leaves() -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        cut, gap, mixed = cut_short(ANSWER, rng), with_gap(ANSWER, rng), shuffled(ANSWER, rng)
        twice, other = repeated(ANSWER, rng), replaced(ANSWER, rng)
        assert cut.tolist() == ANSWER[: len(cut)].tolist()
        assert len(cut) < len(ANSWER)
        assert len(gap) < len(ANSWER)
        assert (np.diff(gap) > 0).all(), "in their order"
        assert sorted(mixed) == ANSWER.tolist()
        assert len(twice) > len(ANSWER)
        assert set(twice) == set(ANSWER)
        assert (other != ANSWER).sum() <= 1


@given(
    answer=st.lists(st.integers(3, 9), min_size=1, max_size=9), seed=st.integers(0, 999), kind=st.sampled_from(KINDS)
)
def test_a_corrupted_answer_differs_and_keeps_its_prompt(answer: list[int], seed: int, kind: str) -> None:
    original = pair([3], answer)
    found = Corruptor(OTHERS, window=12)(original, np.random.default_rng(seed), kind=kind)
    ids = found.pair.token_ids
    assert ids[:2].tolist() == [START_ID, 3]
    assert found.pair.begins == 2
    assert len(ids) <= 12
    assert not np.array_equal(ids, original.token_ids)
    assert found.kind in (kind, "cut_short")


def test_what_is_off_the_subject_answers_another_prompt() -> None:
    corrupt, found = Corruptor(OTHERS, window=12), set()
    for seed in range(60):
        corrupted = corrupt(OTHERS[0], np.random.default_rng(seed), kind="off_subject")
        if corrupted.kind == "off_subject":
            found.add(tuple(corrupted.pair.token_ids[2:].tolist()))
    assert found == {(20, 21), (30,)}


@pytest.mark.parametrize("prompts", [1, 3])
def test_every_kind_is_drawn_if_it_is_possible(prompts: int) -> None:
    others = [pair([number % prompts], list(range(10 + number, 20 + number))) for number in range(9)]
    corrupt, rng = Corruptor(others, window=40), np.random.default_rng(0)
    found = Counter(corrupt(others[0], rng).kind for _ in range(400))
    assert found.keys() == {*KINDS} - (set() if prompts > 1 else {"off_subject"})
    assert all(count > 30 for count in found.values())
