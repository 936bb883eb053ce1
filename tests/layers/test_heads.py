import torch
import torch.nn.functional as F
from torch import nn

from glassformer.layers.heads import DenseHead, OrderedHead
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


def test_ordered_head_gives_the_differences_of_cumulative_probabilities() -> None:
    head = randomise(OrderedHead(5, 4)).double()
    pooled = torch.randn(3, 5).double()
    thresholds = head.thresholds()
    assert (thresholds.diff() > 0).all()
    above = torch.sigmoid(pooled @ head.score.weight.T - thresholds)  # P(class > k)
    edges = torch.cat([torch.ones(3, 1), above, torch.zeros(3, 1)], dim=1)
    torch.testing.assert_close(head(pooled).exp(), edges[:, :-1] - edges[:, 1:])


def test_ordered_head_starts_with_equal_classes_and_stays_finite_far_from_its_thresholds() -> None:
    head = OrderedHead(2, 5)
    nn.init.zeros_(head.weight)
    torch.testing.assert_close(head(torch.randn(3, 2)).exp(), torch.full((3, 5), 0.2))
    nn.init.ones_(head.weight)
    far = head(torch.tensor([[-60.0, -60.0], [60.0, 60.0]], requires_grad=True))
    assert far.isfinite().all()
    assert far.argmax(dim=1).tolist() == [0, 4]
    far.sum().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in head.parameters())


def test_ordered_head_of_two_classes_is_logistic_regression() -> None:
    head = randomise(OrderedHead(3, 2))
    pooled = torch.randn(4, 3)
    logit = (pooled @ head.score.weight.T - head.thresholds())[:, 0]
    torch.testing.assert_close(head(pooled).softmax(-1)[:, 1], logit.sigmoid())


def test_gradients_of_the_ordered_head() -> None:
    head = randomise(OrderedHead(3, 4)).double()
    pooled = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    parameters = tuple(head.parameters())
    assert torch.autograd.gradcheck(lambda *_: head(pooled), (pooled, *parameters))
