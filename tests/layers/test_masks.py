import torch
from hypothesis import given
from hypothesis import strategies as st

from glassformer.layers.masks import CausalPattern, FullPattern, LocalPattern, documents_to_mask, lengths_to_mask


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(6, 8))
def test_lengths_to_mask(lengths: list[int], seq: int) -> None:
    expected = [[position < length for position in range(seq)] for length in lengths]
    assert lengths_to_mask(torch.tensor(lengths), seq).tolist() == expected


def test_full_pattern_hides_padding_from_every_query() -> None:
    mask = torch.tensor([[True, True, False], [True, False, False]])
    assert FullPattern()(mask).tolist() == [[[[True, True, False]]], [[[True, False, False]]]]


def test_causal_pattern_hides_the_future_and_padding_but_never_oneself() -> None:
    mask = torch.tensor([[True, True, False], [False, True, True]])
    assert CausalPattern()(mask).int().tolist() == [
        [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]],
        [[[1, 0, 0], [0, 1, 0], [0, 1, 1]]],
    ]


def test_local_pattern_reaches_equally_far_to_both_sides_and_never_hides_oneself() -> None:
    mask = torch.tensor([[True, True, True, False, False]])
    assert LocalPattern(1)(mask).int().tolist() == [
        [[[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]]
    ]


def test_documents_in_one_row_are_hidden_from_each_other() -> None:
    mask = documents_to_mask(torch.tensor([[4, 4, 7]]))
    assert FullPattern()(mask).int().tolist() == [[[[1, 1, 0], [1, 1, 0], [0, 0, 1]]]]
    assert CausalPattern()(mask).int().tolist() == [[[[1, 0, 0], [1, 1, 0], [0, 0, 1]]]]
    assert LocalPattern(0)(mask).int().tolist() == [[[[1, 0, 0], [0, 1, 0], [0, 0, 1]]]]
