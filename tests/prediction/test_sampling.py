import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor

from glassformer.data.tokenizers import PAD_ID, UNKNOWN_ID
from glassformer.prediction.sampling import SamplingConfig, draw, next_token_probs, without_banned

logits_of_any_size = st.lists(st.floats(-20, 20, width=32), min_size=2, max_size=12)


def probs_of(weights: list[float], seen: list[int] | None = None, **values: Any) -> list[float]:
    """The distribution of the next token where the model's own is proportional to these weights."""
    return from_logits([math.log(weight) for weight in weights], seen, **values)


def from_logits(logits: list[float], seen: list[int] | None = None, **values: Any) -> list[float]:
    in_view = torch.zeros(1, len(logits), dtype=torch.bool)
    in_view[0, seen or []] = True
    row = torch.tensor([logits], dtype=torch.double)
    (found,) = next_token_probs(row, in_view, SamplingConfig.model_validate(values)).tolist()
    return [float(prob) for prob in found]


def test_what_is_no_part_of_a_text_has_no_chance() -> None:
    logits = torch.arange(12.0).view(2, 1, 6)
    found = without_banned(logits)
    assert found[..., [PAD_ID, UNKNOWN_ID]].eq(-torch.inf).all()
    left = [token for token in range(6) if token not in (PAD_ID, UNKNOWN_ID)]
    assert torch.equal(found[..., left], logits[..., left])
    assert logits.isfinite().all(), "what was given stays as it was"


def test_nothing_asked_for_changes_nothing() -> None:
    assert probs_of([4, 1, 3]) == pytest.approx([0.5, 0.125, 0.375])


def test_temperature_by_hand() -> None:
    assert probs_of([4, 1, 9], temperature=0.5) == pytest.approx([16 / 98, 1 / 98, 81 / 98])
    assert probs_of([4, 1, 9], temperature=2.0) == pytest.approx([2 / 6, 1 / 6, 3 / 6])


def test_temperature_0_takes_the_likeliest_and_the_first_of_equals() -> None:
    assert probs_of([2, 5, 3, 5], temperature=0) == [0, 1, 0, 0]
    assert probs_of([2, 5, 3, 5], temperature=0, top_k=3, top_p=0.9) == [0, 1, 0, 0]


@pytest.mark.parametrize("temperature", [5e-324, 1e-42, 1e-30])
def test_the_smallest_temperatures_take_the_likeliest(temperature: float) -> None:
    row = torch.tensor([[80.0, -3.0, 99.0, 5.0]])
    found = next_token_probs(row, torch.zeros_like(row, dtype=torch.bool), SamplingConfig(temperature=temperature))
    assert found.tolist() == [[0, 0, 1, 0]]


@pytest.mark.parametrize(
    ("top_k", "expected"),
    [
        (1, [0, 1, 0, 0]),
        (2, [4 / 12, 8 / 12, 0, 0]),
        (4, [4 / 16, 8 / 16, 1 / 16, 3 / 16]),
        (9, [0.25, 0.5, 0.0625, 0.1875]),
    ],
)
def test_top_k_by_hand(top_k: int, expected: list[float]) -> None:
    assert probs_of([4, 8, 1, 3], top_k=top_k) == pytest.approx(expected)


def test_top_k_keeps_what_is_as_likely_as_the_last() -> None:
    assert probs_of([2, 5, 2, 1, 2], top_k=2) == pytest.approx([2 / 11, 5 / 11, 2 / 11, 0, 2 / 11])


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [
        (0.3, [0, 0, 1, 0]),  # less than the largest alone
        (0.49, [0, 0, 1, 0]),
        (0.51, [1 / 3, 0, 2 / 3, 0]),
        (0.74, [1 / 3, 0, 2 / 3, 0]),
        (0.76, [4 / 15, 0, 8 / 15, 3 / 15]),
        (1.0, [4 / 16, 1 / 16, 8 / 16, 3 / 16]),
    ],
)
def test_top_p_by_hand(top_p: float, expected: list[float]) -> None:
    assert probs_of([4, 1, 8, 3], top_p=top_p) == pytest.approx(expected)


def test_top_p_takes_the_first_of_equals() -> None:
    assert probs_of([2] * 64, top_p=0.5) == pytest.approx([1 / 32] * 32 + [0] * 32)


def test_top_p_counts_after_temperature_and_top_k() -> None:
    # 9 : 4 : 1 without the last: 9/13 = .692, where it was 9/14 = .643
    assert probs_of([3, 2, 1], temperature=0.5, top_k=2, top_p=0.66) == pytest.approx([1, 0, 0])
    assert probs_of([3, 2, 1], temperature=0.5, top_p=0.66) == pytest.approx([9 / 13, 4 / 13, 0])
    assert probs_of([3, 2, 1], temperature=0.5, top_k=2, top_p=0.7) == pytest.approx([9 / 13, 4 / 13, 0])


def test_repetition_penalty_by_hand() -> None:
    found = from_logits([2.0, -1.5, 0.0, 1.0, -0.5], seen=[0, 1, 2], repetition_penalty=2.0)
    expected = np.exp([1.0, -3.0, 0.0, 1.0, -0.5])
    assert found == pytest.approx(list(expected / expected.sum()))


def test_a_penalty_can_change_the_likeliest() -> None:
    assert from_logits([2.0, 1.5], temperature=0) == [1, 0]
    assert from_logits([2.0, 1.5], seen=[0], temperature=0, repetition_penalty=1.5) == [0, 1]


def test_rows_do_not_mix() -> None:
    torch.manual_seed(3)
    logits = torch.randn(5, 7, dtype=torch.double)
    seen = torch.rand(5, 7) < 0.4
    config = SamplingConfig(temperature=0.7, top_k=5, top_p=0.8, repetition_penalty=1.4)
    alone = [next_token_probs(logits[i : i + 1], seen[i : i + 1], config) for i in range(5)]
    torch.testing.assert_close(next_token_probs(logits, seen, config), torch.cat(alone))


@given(
    logits=logits_of_any_size,
    top_k=st.none() | st.integers(1, 15),
    top_p=st.floats(1e-6, 1),
    temperature=st.floats(0, 5),
    penalty=st.floats(0.2, 5),
    banned=st.booleans(),
)
def test_always_a_distribution_that_has_the_likeliest(
    logits: list[float], top_k: int | None, top_p: float, temperature: float, penalty: float, banned: bool
) -> None:
    row = torch.tensor([logits])
    if banned:
        row[:, 0] = -torch.inf
    config = SamplingConfig(top_k=top_k, top_p=top_p, temperature=temperature, repetition_penalty=penalty)
    found = next_token_probs(row, torch.zeros_like(row, dtype=torch.bool), config)[0]
    assert float(found.sum()) == pytest.approx(1, abs=1e-5)
    assert float(found.min()) >= 0
    assert float(found[int(row.argmax())]) == float(found.max()) > 0
    assert not (banned and found[0] > 0)


def test_draws_are_as_frequent_as_probable() -> None:
    probs = [0.05, 0.0, 0.5, 0.25, 0.2]
    n_draws = 40_000
    chance = torch.from_numpy(np.random.default_rng(8).random(n_draws))
    counts = torch.bincount(draw(torch.tensor([probs]).expand(n_draws, -1), chance), minlength=5).double()
    assert counts[1] == 0
    expected = torch.tensor([probs], dtype=torch.double)[0] * n_draws
    kept = expected > 0
    chi_square = float(((counts - expected)[kept] ** 2 / expected[kept]).sum())
    assert chi_square < 16.3  # of 3 degrees of freedom: p = .001


def stretches(probs: list[float], chances: list[float]) -> list[int]:
    chance = torch.tensor(chances, dtype=torch.double)
    return [int(token) for token in draw(torch.tensor([probs] * len(chances)), chance)]


def test_a_token_has_a_stretch_of_the_chances() -> None:
    below = math.nextafter
    assert stretches([0.25, 0.5, 0.25], [0.0, below(0.25, 0), 0.25, below(0.75, 0), 0.75, below(1, 0)]) == [
        0, 0, 1, 1, 2, 2,
    ]  # fmt: skip


def test_what_is_impossible_is_never_drawn() -> None:
    edges = [0.0, 0.5, math.nextafter(0.5, 0), math.nextafter(0.5, 1), math.nextafter(1, 0)]
    assert stretches([0.0, 0.5, 0.0, 0.5, 0.0], edges) == [1, 3, 1, 3, 3]


def test_rounded_probabilities_that_fall_short_of_1_still_draw_something() -> None:
    assert stretches([0.25, 0.25, 0.49], [0.995, math.nextafter(1, 0)]) == [2, 2]


@given(
    weights=st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40).filter(sum),
    chance=st.floats(0, 1, exclude_max=True),
)
def test_any_chance_draws_something_possible(weights: list[float], chance: float) -> None:
    probs = torch.tensor([weights])
    probs = probs / probs.sum()  # rounded: short of 1, or beyond it
    token = int(draw(probs, torch.tensor([chance], dtype=torch.double)))
    assert probs[0, token] > 0


def test_no_token_of_a_large_vocabulary_is_lost_to_rounding() -> None:
    chosen = torch.arange(0, 50_000, 4_001)
    probs = torch.full((1, 50_000), 1 / 50_000).expand(len(chosen), -1)
    assert torch.equal(draw(probs, (chosen + 0.5).double() / 50_000), chosen)


def test_equal_chances_are_equal_tokens() -> None:
    probs: Tensor = torch.tensor([[0.2, 0.8], [0.8, 0.2], [0.2, 0.8]])
    assert draw(probs, torch.tensor([0.5, 0.5, 0.5])).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "values",
    [
        {"max_tokens": 0},
        {"temperature": -0.1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_k": 0},
        {"top_p": 0},
        {"top_p": 1.1},
        {"top_p": math.nan},
        {"repetition_penalty": 0},
        {"seed": -1},
        {"beams": 4},
    ],
)
def test_values_that_mean_nothing_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(values))):
        SamplingConfig.model_validate(values)
