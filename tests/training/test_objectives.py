from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from glassformer.errors import UsageError
from glassformer.training.objectives import (
    binary_cross_entropy,
    class_weights,
    cross_entropy,
    distillation,
    focal,
    objective,
)
from glassformer.training.training_config import TrainingConfig

BATCH, N_CLASSES = 5, 3
WEIGHTS = torch.tensor([0.5, 2.0, 1.25], dtype=torch.float64)
ONES = torch.ones(N_CLASSES, dtype=torch.float64)
LABELS = torch.tensor([0, 2, 1, 2, 0])
MULTIHOT = torch.tensor([[0, 1, 1], [0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 0, 1]])


def logits() -> torch.Tensor:
    return torch.randn(BATCH, N_CLASSES, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("smoothing", [0.0, 0.15])
def test_gradients_are_those_of_the_loss(smoothing: float) -> None:
    assert torch.autograd.gradcheck(
        lambda x: cross_entropy(x, LABELS, class_weights=WEIGHTS, label_smoothing=smoothing), [logits()]
    )
    assert torch.autograd.gradcheck(
        lambda x: binary_cross_entropy(x, MULTIHOT, class_weights=WEIGHTS, label_smoothing=smoothing), [logits()]
    )
    assert torch.autograd.gradcheck(
        lambda x: focal(x, LABELS, class_weights=WEIGHTS, label_smoothing=smoothing), [logits()]
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.15])
def test_focal_loss_is_cross_entropy_times_what_is_missing_of_the_probability(smoothing: float) -> None:
    x = logits()
    about: dict[str, Any] = {"class_weights": WEIGHTS, "label_smoothing": smoothing}
    plain = cross_entropy(x, LABELS, **about)
    torch.testing.assert_close(focal(x, LABELS, **about, gamma=0.0), plain)
    missing = 1 - x.softmax(-1)[torch.arange(BATCH), LABELS]
    found = objective(TrainingConfig(loss="focal"), multilabel=False)(x, LABELS, **about)
    torch.testing.assert_close(found, missing**2 * plain)


def test_weights_are_torchs_and_a_mean_divides_by_them() -> None:
    x = logits()
    losses = cross_entropy(x, LABELS, class_weights=WEIGHTS, label_smoothing=0.0)
    torch.testing.assert_close(losses, F.cross_entropy(x, LABELS, weight=WEIGHTS, reduction="none"))
    torch.testing.assert_close(losses.sum() / WEIGHTS[LABELS].sum(), F.cross_entropy(x, LABELS, weight=WEIGHTS))


def test_smoothing_is_torchs() -> None:
    x = logits()
    losses = cross_entropy(x, LABELS, class_weights=ONES, label_smoothing=0.2)
    torch.testing.assert_close(losses, F.cross_entropy(x, LABELS, label_smoothing=0.2, reduction="none"))


def test_smoothing_by_hand() -> None:
    x = torch.tensor([[0.0, 0.0, 2.0]], dtype=torch.float64)
    log_sum = np.log(2 + np.exp(2))
    for smoothing, expected in ((0.0, log_sum - 2), (0.3, 0.8 * (log_sum - 2) + 0.2 * log_sum)):
        loss = cross_entropy(x, torch.tensor([2]), class_weights=WEIGHTS, label_smoothing=smoothing)
        torch.testing.assert_close(loss, torch.tensor([1.25 * expected], dtype=torch.float64))


def test_one_loss_per_text_with_any_number_of_labels() -> None:
    x = logits()
    found = binary_cross_entropy(x, MULTIHOT, class_weights=WEIGHTS, label_smoothing=0.0)
    expected = F.binary_cross_entropy_with_logits(x, MULTIHOT.double(), pos_weight=WEIGHTS, reduction="none")
    torch.testing.assert_close(found, expected.mean(dim=1))
    assert found.shape == (BATCH,)


def test_smoothed_binary_targets() -> None:
    x = logits()
    found = binary_cross_entropy(x, MULTIHOT, class_weights=ONES, label_smoothing=0.2)
    targets = torch.where(MULTIHOT > 0, 0.9, 0.1).double()
    expected = -(targets * F.logsigmoid(x) + (1 - targets) * F.logsigmoid(-x)).mean(dim=1)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("n_classes", [2, 7])
def test_before_training_the_loss_is_that_of_guessing(n_classes: int) -> None:
    zeros, labels = torch.zeros(4, n_classes), torch.tensor([0, 1, 1, 0])
    losses = cross_entropy(zeros, labels, class_weights=torch.ones(n_classes), label_smoothing=0.1)
    torch.testing.assert_close(losses, torch.full((4,), np.log(n_classes)).float())


def test_balanced_weights_leave_the_average_row_at_one() -> None:
    labels = np.array([0] * 12 + [1] * 3 + [2] * 5)
    weights = class_weights(TrainingConfig(class_weights="balanced"), ("a", "b", "c"), labels, multilabel=False)
    torch.testing.assert_close(weights, torch.tensor([20 / 36, 20 / 9, 20 / 15]))
    assert float(weights[torch.from_numpy(labels)].mean()) == pytest.approx(1)


def test_a_class_without_rows_has_the_weight_one() -> None:
    balanced = TrainingConfig(class_weights="balanced")
    weights = class_weights(balanced, ("a", "b", "c"), np.array([0] * 30 + [2] * 10), multilabel=False)
    torch.testing.assert_close(weights, torch.tensor([40 / 90, 1.0, 40 / 30]))


def test_balanced_weights_of_several_labels_are_absent_over_present() -> None:
    labels = np.array([[1, 1, 0, 1], [0, 1, 0, 1], [0, 1, 0, 0]], dtype=np.uint8)
    weights = class_weights(TrainingConfig(class_weights="balanced"), tuple("abcd"), labels, multilabel=True)
    torch.testing.assert_close(weights, torch.tensor([2.0, 1 / 3, 3.0, 0.5]))


def test_no_weights_are_ones() -> None:
    weights = class_weights(TrainingConfig(), ("a", "b"), np.array([0, 0, 1]), multilabel=False)
    assert weights.tolist() == [1.0, 1.0]


def test_a_table_is_by_label_and_not_by_place() -> None:
    config = TrainingConfig(class_weights={"b": 3.0, "a": 0.5})
    assert class_weights(config, ("a", "b"), np.array([0, 1]), multilabel=False).tolist() == [0.5, 3.0]


@pytest.mark.parametrize("table", [{"a": 1.0}, {"a": 1.0, "b": 1.0, "c": 2.0}, {}], ids=["short", "long", "empty"])
def test_a_table_of_other_labels_is_refused(table: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=r"class_weights names the labels .*but the data has \['a', 'b'\]"):
        class_weights(TrainingConfig(class_weights=table), ("a", "b"), np.array([0, 1]), multilabel=False)


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("temperature", [0.7, 3.0])
def test_distillation_has_the_gradients_of_its_loss_and_is_zero_for_the_same_answers(
    temperature: float, multilabel: bool
) -> None:
    teacher = logits().detach()

    def loss(x: torch.Tensor) -> torch.Tensor:
        return distillation(x, teacher, temperature=temperature, multilabel=multilabel)

    assert torch.autograd.gradcheck(loss, [logits()])
    assert (loss(logits()) > 0).all()
    torch.testing.assert_close(loss(teacher), torch.zeros(BATCH, dtype=torch.float64))
    same = teacher if multilabel else teacher + 2.5  # softmax does not see what is added to all logits
    torch.testing.assert_close(loss(same), torch.zeros(BATCH, dtype=torch.float64))


def test_distillation_by_hand() -> None:
    x, teacher = torch.tensor([[0.0, 0.0]]).double(), torch.tensor([[0.0, 2 * np.log(3)]]).double()
    at_two = 4 * (0.25 * np.log(0.25 / 0.5) + 0.75 * np.log(0.75 / 0.5))  # p = 1/4 and 3/4 at T = 2
    torch.testing.assert_close(
        distillation(x, teacher, temperature=2.0, multilabel=False), torch.tensor([at_two]).double()
    )
    of_labels = (0.0 + at_two) / 2  # the first label has the same probability in both
    torch.testing.assert_close(
        distillation(x, teacher, temperature=2.0, multilabel=True), torch.tensor([of_labels]).double()
    )


def test_at_a_high_temperature_distillation_matches_logits() -> None:
    """Hinton et al. 2015, §2.1: with logits of zero mean, the gradient becomes (z − v) / N."""
    x, teacher = logits(), logits().detach()
    (gradient,) = torch.autograd.grad(distillation(x, teacher, temperature=1e4, multilabel=False).sum(), x)
    apart = (x - teacher).detach()
    torch.testing.assert_close(gradient, (apart - apart.mean(dim=1, keepdim=True)) / N_CLASSES, rtol=1e-3, atol=1e-4)
