import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from glassformer.layers.positions import (
    LearnedPositions,
    Rotary,
    SinusoidalPositions,
    inverse_frequencies,
    sinusoidal_table,
)
from tests.support import double_precision

widths = st.integers(1, 5).map(lambda half: 2 * half)
distances = st.integers(0, 20)


def rotary(dim: int) -> Rotary:
    with double_precision():
        return Rotary(64, dim)


def at_position(rotation: Rotary, vector: Tensor, position: int) -> Tensor:
    """What `rotation` makes of `vector` (dim) when it stands at `position`."""
    return rotation(vector.expand(position + 1, -1))[position]


def vectors(count: int, dim: int) -> Tensor:
    return torch.randn(count, dim, dtype=torch.float64)


@given(dim=widths, position=distances)
def test_rotation_keeps_norms(dim: int, position: int) -> None:
    (vector,) = vectors(1, dim)
    torch.testing.assert_close(at_position(rotary(dim), vector, position).norm(), vector.norm())


@given(dim=widths)
def test_rotation_leaves_position_zero_alone(dim: int) -> None:
    (vector,) = vectors(1, dim)
    assert torch.equal(at_position(rotary(dim), vector, 0), vector)


@given(dim=widths, position=distances, distance=distances, shift=distances)
def test_rotated_query_times_key_depends_on_distance_alone(dim: int, position: int, distance: int, shift: int) -> None:
    rotation, (query, key) = rotary(dim), vectors(2, dim)

    def score(start: int) -> Tensor:
        return at_position(rotation, query, start + distance) @ at_position(rotation, key, start)

    torch.testing.assert_close(score(position), score(position + shift))


def test_rotated_embeddings_followed_by_a_projection_depend_on_more_than_distance() -> None:
    rotation, (word, other) = rotary(6), vectors(2, 6)
    query_projection, key_projection = vectors(6, 6), vectors(6, 6)

    def score(start: int) -> Tensor:
        query = at_position(rotation, word, start + 2) @ query_projection
        return query @ (at_position(rotation, other, start) @ key_projection)

    assert abs(score(0) - score(3)) > 0.1


def test_rotation_turns_the_two_halves_against_each_other() -> None:
    turned = at_position(rotary(4), torch.tensor([1.0, 1, 0, 0], dtype=torch.float64), 3)
    angles = 3 * torch.tensor([1, 0.01], dtype=torch.float64)
    torch.testing.assert_close(turned, torch.cat([angles.cos(), angles.sin()]))


def test_rotation_of_an_odd_width_is_refused() -> None:
    with pytest.raises(ValueError, match="even width, got 5"):
        Rotary(8, 5)


@given(dim=st.integers(1, 9), position=distances, distance=distances)
def test_sinusoidal_positions_further_on_are_rotated_ones(dim: int, position: int, distance: int) -> None:
    with double_precision():
        table, angles = sinusoidal_table(64, 2 * dim), distance * inverse_frequencies(2 * dim, 10_000.0)
    sine, cosine = table[position].view(dim, 2).unbind(-1)

    rotated = torch.stack(
        [sine * angles.cos() + cosine * angles.sin(), cosine * angles.cos() - sine * angles.sin()], dim=-1
    )

    torch.testing.assert_close(table[position + distance], rotated.flatten())


def test_sinusoidal_positions_of_odd_width_end_on_a_sine() -> None:
    table = sinusoidal_table(5, 3)
    torch.testing.assert_close(table[:, 2], (torch.arange(5) * 10_000 ** (-2 / 3)).sin())


@pytest.mark.parametrize("seq", [1, 4, 6])
def test_positions_are_added_to_texts_of_any_length(seq: int) -> None:
    hidden, learned, fixed = torch.randn(2, seq, 3), LearnedPositions(6, 3), SinusoidalPositions(6, 3)

    torch.testing.assert_close(learned(hidden), hidden + learned.weight[:seq])
    torch.testing.assert_close(fixed(hidden), hidden + sinusoidal_table(6, 3)[:seq])
