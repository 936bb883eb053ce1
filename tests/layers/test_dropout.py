import pytest
import torch

from glassformer.layers.dropout import Dropout, drop_mask


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_drops_the_share_and_keeps_the_mean(p: float) -> None:
    dropped = Dropout(p).train()(torch.ones(1000, 1003))
    assert float((dropped == 0).float().mean()) == pytest.approx(p, abs=4e-3)
    assert float(dropped.mean()) == pytest.approx(1, abs=0.02)
    assert len(dropped.unique()) == 2


def test_every_place_is_drawn_by_itself() -> None:
    masks = drop_mask(torch.empty(64, 1000), 128).float()
    correlations = torch.corrcoef(masks)
    assert float((correlations - torch.eye(64)).abs().max()) < 0.2
    assert not torch.equal(masks, drop_mask(torch.empty(64, 1000), 128).float())


def test_the_gradient_is_that_of_the_kept_places() -> None:
    hidden = torch.randn(5, 7, 11, requires_grad=True)
    dropped = Dropout(0.3).train()(hidden)
    dropped.sum().backward()
    assert hidden.grad is not None
    torch.testing.assert_close(hidden.grad, torch.where(dropped == 0, 0.0, 256 / (256 - 77)))


def test_repeats_with_the_seed() -> None:
    hidden = torch.ones(3, 50)
    torch.manual_seed(3)
    first = Dropout(0.5).train()(hidden)
    torch.manual_seed(3)
    assert torch.equal(first, Dropout(0.5).train()(hidden))


def test_does_nothing_when_it_should_not() -> None:
    hidden = torch.randn(3, 4)
    assert Dropout(0.5).eval()(hidden) is hidden
    assert Dropout(0.0).train()(hidden) is hidden
    assert Dropout(0.001).train()(hidden) is hidden  # rounded to a 256th
