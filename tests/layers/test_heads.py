import torch
import torch.nn.functional as F
from torch import nn

from glassformer.layers.heads import DenseHead
from tests.support import randomise


def test_dense_head_is_two_matrices_with_an_activation_and_a_norm_between() -> None:
    norm = nn.LayerNorm(5, eps=1e-3)
    head = randomise(DenseHead(5, 3, F.tanh, norm=norm)).eval()
    pooled = torch.randn(2, 5)
    inner = (pooled @ head.in_projection.weight.T + head.in_projection.bias).tanh()
    normed = F.layer_norm(inner, (5,), norm.weight, norm.bias, norm.eps)
    expected = normed @ head.out_projection.weight.T + head.out_projection.bias
    torch.testing.assert_close(head(pooled), expected)


def test_without_norm_and_inner_bias() -> None:
    head = randomise(DenseHead(4, 2, F.relu, norm=nn.Identity(), bias=False))
    pooled = torch.randn(3, 4)
    assert "in_projection.bias" not in head.state_dict()
    expected = (pooled @ head.in_projection.weight.T).relu() @ head.out_projection.weight.T + head.out_projection.bias
    torch.testing.assert_close(head(pooled), expected)


def test_dropout_is_before_the_last_matrix() -> None:
    head = randomise(DenseHead(4, 2, F.relu, norm=nn.Identity(), dropout=0.996)).train()
    torch.testing.assert_close(head(torch.randn(1, 4)), head.out_projection.bias[None])
