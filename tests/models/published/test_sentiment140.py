"""The notebook "Transformer Model from Scratch for Sentiment Classification": size, rate, stopping."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from glassformer.models.build import parameter_count
from glassformer.models.published.sentiment140 import Sentiment140, Sentiment140Config
from glassformer.training.optimizers import learning_rate
from glassformer.training.recipe import load_recipe
from glassformer.training.training_config import TrainingConfig
from tests.models.published.samples import batch
from tests.support import randomise
from tests.training.samples import config, trainer

SMALL = Sentiment140Config(max_seq_len=12, d_model=16, n_layers=2, n_heads=4, d_ff=20)


def test_size_as_printed() -> None:
    printed = Sentiment140Config()
    with_neutral = {n: parameter_count(printed.model_copy(update={"n_layers": n}), 119_547, 2) for n in (0, 1, 6)}
    assert with_neutral[0] == 30_604_032 + 771
    assert with_neutral[1] - with_neutral[0] == 1_052_416
    assert with_neutral[6] == 36_919_299


def test_learning_rate_as_its_scheduler_gives_it() -> None:
    """0 in epoch 16, and up again after: the cosine has fifteen epochs, training twenty."""
    training = load_recipe("sentiment140").training
    rates = [learning_rate(training, (epoch + 0.5) / training.epochs) * 1e6 for epoch in range(17)]
    printed = [10, 9.891, 9.568, 9.045, 8.346, 7.5, 6.545, 5.523, 4.477, 3.455, 2.5, 1.654]
    assert rates == pytest.approx([*printed, 0.955, 0.432, 0.109, 0, 0.109], abs=5e-4)

    weight = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.AdamW([weight], lr=1e-5)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=15)
    for rate in rates:
        assert scheduler.get_last_lr()[0] * 1e6 == pytest.approx(rate, abs=1e-6)
        optimizer.step()
        scheduler.step()


def test_early_stopping_on_its_printed_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty epochs at most, patience seven: it stops after epoch 17 and keeps epoch 10."""
    losses = [0.6322, 0.6232, 0.6138, 0.6131, 0.6106, 0.6122, 0.6060, 0.6117, 0.6072, 0.6023]
    losses += [0.6055, 0.6030, 0.6046, 0.6056, 0.6057, 0.6057, 0.6067, 0.5, 0.4, 0.3]
    run = trainer(config(epochs=20, patience=7))
    printed = iter(losses)
    monkeypatch.setattr(run.task, "validate", lambda _: {"validation_loss": next(printed)})
    history = run.run()
    assert (len(history), run.state.best_epoch) == (17, 10)


def test_the_lowest_loss_that_smoothing_allows() -> None:
    """With ε = .1 and three classes the best answer is (.9333, .0333, .0333), which costs its own entropy."""
    assert TrainingConfig.model_fields["label_smoothing"].default == 0
    smoothing = load_recipe("sentiment140").training.label_smoothing
    best = torch.tensor([[1 - smoothing + smoothing / 3, smoothing / 3, smoothing / 3]], dtype=torch.float64)
    floor = F.cross_entropy(best.log(), torch.tensor([0]), label_smoothing=smoothing)
    assert floor.item() == pytest.approx(0.291140, abs=1e-6)


def test_padding_to_the_batch_instead_of_64_changes_no_logit() -> None:
    model = randomise(Sentiment140(SMALL, 23, 2), std=0.3).eval()
    texts = [[5, 6, 7, 8, 9], [22, 3]]
    torch.testing.assert_close(model(*batch(*texts, width=12)), model(*batch(*texts)), atol=1e-5, rtol=1e-4)


def test_the_neutral_class_is_trained_against_and_never_answered() -> None:
    model = randomise(Sentiment140(SMALL, 23, 2), std=0.3)
    text = batch([5, 6, 7])
    assert model(*text).shape == (1, 3)
    assert model.eval()(*text).shape == (1, 2)


def test_one_block_is_the_notebooks_arithmetic() -> None:
    """x ← norm(x + attention(x)); x ← norm(x + W₃(W₁x · σ(W₂x))), spelled out for one text."""
    model = randomise(Sentiment140(SMALL.model_copy(update={"n_layers": 1}), 23, 2), std=0.4).eval()
    token_ids, mask = batch([5, 6, 7, 8])
    block = model.blocks[0]
    x = model.rotation(model.embedding(token_ids))

    reference = nn.MultiheadAttention(16, 4, batch_first=True)
    inner = block.get_submodule("attention")
    reference.load_state_dict(
        {
            "in_proj_weight": inner.get_parameter("in_projection.weight"),
            "in_proj_bias": inner.get_parameter("in_projection.bias"),
            "out_proj.weight": inner.get_parameter("out_projection.weight"),
            "out_proj.bias": inner.get_parameter("out_projection.bias"),
        }
    )
    x = rms(x + reference(x, x, x)[0]) * block.get_parameter("norm1.weight")
    weights = {name: block.get_parameter(name) for name, _ in block.named_parameters()}
    value = x @ weights["value.weight"].T + weights["value.bias"]
    gate = 1 / (1 + (-(x @ weights["gate.weight"].T + weights["gate.bias"])).exp())
    x = rms(x + (value * gate) @ weights["out.weight"].T + weights["out.bias"]) * weights["norm2.weight"]
    torch.testing.assert_close(model(token_ids, mask), model.classifier(x[:, 0])[:, :2], atol=1e-5, rtol=1e-4)


def rms(x: torch.Tensor) -> torch.Tensor:
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()
