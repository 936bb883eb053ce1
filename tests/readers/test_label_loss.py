import torch

from glassformer.readers.label_loss import label_loss
from glassformer.training.objectives import binary_cross_entropy, cross_entropy


def test_readers_learn_by_the_loss_of_a_run_without_weights() -> None:
    scores = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    ones = torch.ones(3)
    one, several = torch.arange(7) % 3, scores.roll(1, 0) > 0
    torch.testing.assert_close(
        label_loss(scores, one), cross_entropy(scores, one, class_weights=ones, label_smoothing=0)
    )
    torch.testing.assert_close(
        label_loss(scores, several), binary_cross_entropy(scores, several, class_weights=ones, label_smoothing=0)
    )
