import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from glassformer.data.store import TokenStore
from glassformer.doctor.overfit import check_overfitting
from tests.doctor.samples import N_CLASSES, VOCAB_SIZE, bench, easy_data


@pytest.mark.parametrize("multilabel", [False, True])
def test_labels_that_tell_nothing_can_still_be_learned_by_heart(multilabel: bool) -> None:
    finding, losses = check_overfitting(bench(data=easy_data(shuffled=True, multilabel=multilabel)), seconds=60)
    assert finding.level == "good"
    assert losses[-1] < 0.1 * losses[0]


class Deaf(nn.Module):
    """Answers without reading: no gradient tells texts apart."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, 4)
        self.head = nn.Linear(4, N_CLASSES)

    def forward(self, token_ids: Tensor, _attention_mask: Tensor) -> Tensor:
        return self.head(torch.ones_like(self.embedding(token_ids)[:, 0]))


def test_a_model_that_does_not_read_is_named() -> None:
    finding, losses = check_overfitting(bench(model=Deaf()), seconds=60)
    assert finding.level == "problem"
    assert f"{min(losses):.4f}" in finding.found
    assert "broken path" in finding.advice


def test_texts_that_look_alike_are_not_held_against_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.doctor.overfit._STEPS", 40)
    data = easy_data()
    alike = TokenStore.in_memory([np.ones(4, dtype=np.int64) for _ in range(len(data.train))])
    finding, _ = check_overfitting(bench(data=dataclasses.replace(data, train=alike)), seconds=60)
    assert finding.level == "worth knowing"
    assert "32 of these texts look to the model like" in finding.advice


@pytest.mark.parametrize(
    ("optimizer", "rate", "how"),
    [
        (
            "sgd",
            0.03,
            "of adamw at a learning rate of 0.002 (the recipe's sgd at 0.03 is too slow for this short check)",
        ),
        ("muon", 0.0005, "of muon at a learning rate of 0.002 (this short check does not use the recipe's 0.0005)"),
        ("adamw", 0.002, "of adamw at a learning rate of 0.002"),
    ],
)
def test_the_rate_and_optimizer_are_named_and_why_they_are_not_the_recipes(
    optimizer: str, rate: float, how: str
) -> None:
    finding, _ = check_overfitting(bench(optimizer=optimizer, learning_rate=rate), seconds=60)
    assert finding.found.startswith("the model can learn these texts by heart: ")
    assert finding.found.endswith(how)


def test_every_class_takes_part() -> None:
    data = easy_data()
    rare = np.zeros(len(data.train), dtype=np.int64)
    rare[17] = 1
    rare[29] = 2
    tried = bench(data=dataclasses.replace(data, train_labels=rare))
    finding, losses = check_overfitting(tried, seconds=60)
    assert finding.level == "good"
    assert len(losses) > 1  # a common answer would not be enough
