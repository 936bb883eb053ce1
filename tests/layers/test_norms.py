import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from glassformer.layers.norms import BatchNorm, LayerNorm, NoNorm, RMSNorm
from tests.support import randomise, right_padded


@given(lengths=st.lists(st.integers(1, 6), min_size=2, max_size=4), extra=st.integers(0, 3))
def test_batch_norm_takes_its_statistics_from_tokens_alone(lengths: list[int], extra: int) -> None:
    mask = right_padded(lengths, seq=max(lengths) + extra)
    hidden = torch.randn(*mask.shape, 5, dtype=torch.float64)
    norm = randomise(BatchNorm(5, eps=1e-3, momentum=0.2)).double()
    before_mean, before_var = (
        norm.norm.state_dict()["running_mean"].clone(),
        norm.norm.state_dict()["running_var"].clone(),
    )

    output = norm(hidden, mask)

    tokens = torch.cat([row[:length] for row, length in zip(hidden, lengths, strict=True)])
    mean, variance = tokens.mean(0), tokens.var(0, correction=0)
    expected = (hidden - mean) / (variance + 1e-3).sqrt() * norm.norm.weight + norm.norm.bias
    torch.testing.assert_close(output, expected * mask[:, :, None])
    after = norm.norm.state_dict()
    torch.testing.assert_close(after["running_mean"], 0.8 * before_mean + 0.2 * mean)
    torch.testing.assert_close(after["running_var"], 0.8 * before_var + 0.2 * tokens.var(0))


def test_batch_norm_in_evaluation_uses_running_statistics() -> None:
    norm = randomise(BatchNorm(5)).double().eval()
    hidden, mask = torch.randn(2, 4, 5, dtype=torch.float64), right_padded([4, 2])
    running = {name: value.clone() for name, value in norm.norm.state_dict().items()}

    together = norm(hidden, mask)

    torch.testing.assert_close(together[1:, :2], norm(hidden[1:, :2], mask[1:, :2]))
    torch.testing.assert_close(dict(norm.norm.state_dict()), running)


@pytest.mark.parametrize("norm", [LayerNorm(7), RMSNorm(7)], ids=["LayerNorm", "RMSNorm"])
@given(scale=st.floats(0.5, 1e4))
def test_scale_of_the_input_does_not_matter(norm: nn.Module, scale: float) -> None:
    hidden, mask = torch.randn(2, 3, 7), right_padded([3, 2])
    torch.testing.assert_close(norm(scale * hidden, mask), norm(hidden, mask), rtol=1e-3, atol=1e-4)


def test_shift_of_the_input_matters_to_rms_norm_alone() -> None:
    hidden, mask = torch.randn(2, 3, 7), right_padded([3, 2])
    torch.testing.assert_close(LayerNorm(7)(hidden + 3, mask), LayerNorm(7)(hidden, mask), rtol=1e-4, atol=1e-5)
    assert (RMSNorm(7)(hidden + 3, mask) - RMSNorm(7)(hidden, mask)).abs().max() > 0.1


def test_no_norm_is_nothing() -> None:
    hidden = torch.randn(2, 3, 7)
    assert NoNorm()(hidden, right_padded([3, 2])) is hidden
