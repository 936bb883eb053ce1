"""Shapes are checked where a signature names one, also by an alias."""

from __future__ import annotations

import pytest
import torch
from beartype import beartype
from jaxtyping import Float, TypeCheckError
from torch import Tensor, nn

from tests import shapes

Pair = Float[Tensor, "pair=2"]
PairOrNone = Pair | None


def of_shape(given: Float[Tensor, "pair=2"]) -> None: ...
def of_alias(given: Pair) -> None: ...
def of_union(given: PairOrNone = None) -> None: ...
def of_result(given: Tensor) -> Pair:
    return given


@pytest.mark.parametrize("function", [of_shape, of_alias, of_union, of_result])
def test_what_names_a_shape_is_checked_in_every_call(function: object) -> None:
    checked = shapes._remembering(typechecker=beartype)(function)
    checked(torch.zeros(2))
    with pytest.raises(TypeCheckError):
        checked(torch.zeros(3))


def of_any_shape(given: Tensor) -> Tensor:
    return given


def test_what_names_none_is_left_alone() -> None:
    assert shapes._remembering(typechecker=beartype)(of_any_shape) is of_any_shape


class First(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def forward(self, given: Tensor) -> Pair:
        return given[: self.count]


def test_a_module_is_checked_anew_if_it_is_built_otherwise() -> None:
    checked = shapes._remembering(typechecker=beartype)(First.forward)
    for _ in range(2):
        checked(First(2), torch.zeros(3))
    with pytest.raises(TypeCheckError):
        checked(First(1), torch.zeros(3))
