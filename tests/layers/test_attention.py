import itertools
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from glassformer.layers.attention import (
    Kernel,
    MultiHeadAttention,
    fastest_attention,
    fused_attention,
    plain_attention,
)
from glassformer.layers.masks import CausalPattern, FullPattern
from glassformer.layers.positions import NoPositions, Rotary
from glassformer.layers.slots import Pattern
from tests.support import attention_of, double_precision, randomise, right_padded

D_MODEL, N_HEADS = 12, 2
kernels = pytest.mark.parametrize("kernel", [fused_attention, plain_attention])
lengths = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def attention(pattern: Pattern, *, kernel: Kernel = fused_attention, dropout: float = 0.0) -> MultiHeadAttention:
    with double_precision():
        layer = MultiHeadAttention(
            D_MODEL, N_HEADS, pattern=pattern, rotation=Rotary(16, D_MODEL // N_HEADS), kernel=kernel, dropout=dropout
        )
    return randomise(layer)


def random_hidden(batch: int, seq: int) -> Tensor:
    return torch.randn(batch, seq, D_MODEL, dtype=torch.float64)


@given(lengths=lengths, pattern=st.sampled_from([FullPattern(), CausalPattern()]))
def test_weights_sum_to_one_and_give_nothing_to_padding(lengths: list[int], pattern: Pattern) -> None:
    mask = right_padded(lengths)
    weights = attention_of(attention(pattern), random_hidden(*mask.shape), mask)

    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64))
    for row, length in enumerate(lengths):
        assert (weights[row, :, :length, length:] == 0).all()
        assert (weights[row, :, :length, 0] > 0).all()


@given(seq=st.integers(2, 9), data=st.data())
def test_causal_attention_does_not_see_what_comes_later(seq: int, data: st.DataObject) -> None:
    first_changed = data.draw(st.integers(1, seq - 1))
    hidden, mask = random_hidden(2, seq), right_padded([seq, seq])
    changed = hidden.clone()
    changed[:, first_changed:] += 1

    def difference(pattern: Pattern) -> float:
        layer = attention(pattern)
        return (layer(hidden, mask) - layer(changed, mask))[:, :first_changed].abs().max().item()

    assert difference(CausalPattern()) < 1e-14
    assert difference(FullPattern()) > 1e-6


@kernels
@pytest.mark.parametrize("pattern", [FullPattern(), CausalPattern()], ids=["full", "causal"])
def test_padding_on_the_left_changes_nothing_and_yields_no_nan(kernel: Kernel, pattern: Pattern) -> None:
    layer, hidden = attention(pattern, kernel=kernel), random_hidden(3, 4)
    padded = torch.cat([random_hidden(3, 2), hidden], dim=1)
    mask = torch.tensor([[False, False, True, True, True, True]] * 3)

    output = layer(padded, mask)

    assert output.isfinite().all()
    # rotary scores depend on distance alone, so that the shift does not matter either
    torch.testing.assert_close(output[:, 2:], layer(hidden, mask[:, 2:]))


@kernels
def test_heads_are_computed_one_by_one_and_joined(kernel: Kernel) -> None:
    layer, hidden, mask = attention(FullPattern(), kernel=kernel), random_hidden(2, 5), right_padded([5, 3])
    query, key, value = layer.query_key_value(hidden)
    heads = []
    for row, head in itertools.product(range(2), range(N_HEADS)):
        seen = slice(0, int(mask[row].sum()))
        scores = query[row, head] @ key[row, head, seen].T / (D_MODEL / N_HEADS) ** 0.5
        heads.append(scores.softmax(-1) @ value[row, head, seen])
    joined = torch.stack([torch.cat(heads[:N_HEADS], -1), torch.cat(heads[N_HEADS:], -1)])

    torch.testing.assert_close(layer(hidden, mask), joined @ layer.out_projection.weight.T)


@kernels
def test_dropout_drops_weights_and_scales_the_rest(kernel: Callable[..., Tensor]) -> None:
    query, key, mask = torch.randn(1, 2, 40, 6), torch.randn(1, 2, 50, 6), torch.ones(1, 1, 1, 50, dtype=torch.bool)
    weights_as_output = torch.eye(50).expand(1, 2, 50, 50)

    whole = kernel(query, key, weights_as_output, mask, 0.0)
    dropped = kernel(query, key, weights_as_output, mask, 0.25)

    gone = dropped == 0
    assert abs(gone.float().mean() - 0.25) < 0.03
    torch.testing.assert_close(dropped[~gone], whole[~gone] / 0.75)


@kernels
def test_dropout_acts_in_training_alone(kernel: Kernel) -> None:
    layer, hidden, mask = (
        attention(FullPattern(), kernel=kernel, dropout=0.5),
        random_hidden(2, 5),
        right_padded([5, 4]),
    )

    assert torch.equal(layer.eval()(hidden, mask), layer(hidden, mask))
    assert not torch.equal(layer.train()(hidden, mask), layer(hidden, mask))


def test_width_that_does_not_split_into_heads_is_refused() -> None:
    with pytest.raises(ValueError, match="d_model=10, n_heads=4"):
        MultiHeadAttention(10, 4, pattern=FullPattern(), rotation=NoPositions())


@pytest.mark.parametrize(
    ("dtype", "training", "seq", "chosen"),
    [
        (torch.bfloat16, True, 24, "short_attention"),
        (torch.bfloat16, True, 65, "plain_attention"),
        (torch.bfloat16, True, 1100, "fused_attention"),  # the weights would take too much memory
        (torch.bfloat16, False, 24, "fused_attention"),
        (torch.float32, True, 24, "short_attention"),
        (torch.float32, True, 65, "fused_attention"),
        (torch.float32, False, 24, "fused_attention"),
        (torch.float64, True, 24, "fused_attention"),
    ],
)
def test_the_fastest_kernel_is_chosen_by_type_and_length(
    dtype: torch.dtype, training: bool, seq: int, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, key, value = (torch.randn(1, 2, seq, 4, dtype=dtype, requires_grad=training) for _ in range(3))
    mask = torch.ones(1, 1, 1, seq, dtype=torch.bool)
    called: list[str] = []
    for name in ("plain_attention", "fused_attention", "short_attention"):

        def kernel(*given: Tensor, name: str = name) -> Tensor:
            called.append(name)
            return given[2]

        monkeypatch.setattr(f"glassformer.layers.attention.{name}", kernel)

    fastest_attention(query, key, value, mask)

    assert called == [chosen]


def test_dropped_weights_and_compiled_models_take_the_plain_path(monkeypatch: pytest.MonkeyPatch) -> None:
    query, key, value = (torch.randn(1, 2, 5, 4, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    mask = torch.ones(1, 1, 1, 5, dtype=torch.bool)
    called: list[float] = []

    def kernel(_query: Tensor, _key: Tensor, value: Tensor, _mask: Tensor, dropout: float) -> Tensor:
        called.append(dropout)
        return value

    monkeypatch.setattr("glassformer.layers.attention.plain_attention", kernel)

    fastest_attention(query, key, value, mask, 0.25)
    monkeypatch.setattr("torch.compiler.is_compiling", lambda: True)
    fastest_attention(query, key, value, mask)

    assert called == [0.25, 0.0]
