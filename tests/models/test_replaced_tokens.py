from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.layers.masks import documents_to_mask
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.parts import parts_of
from glassformer.models.replaced_tokens import Found, ReplacedTokens, guess
from tests.support import double_precision, randomise

VOCAB_SIZE, GAP = 13, 1


def both(**values: Any) -> ReplacedTokens:
    """In float64, with no weight at its starting value."""
    sizes: dict[str, Any] = {"d_model": 16, "n_layers": 2, "n_heads": 4, "d_ff": 12, "max_seq_len": 9}
    with double_precision():
        config = LanguageModelConfig.model_validate(sizes | {"attention": "full"} | values)
        return randomise(ReplacedTokens(config, VOCAB_SIZE), std=0.4).eval()


def texts(seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Token ids, the same with gaps, and a mask."""
    torch.manual_seed(seed)
    token_ids = torch.randint(3, VOCAB_SIZE, (5, 9))
    shown = token_ids.masked_fill(torch.rand(5, 9) < 0.4, GAP)
    return token_ids, shown, documents_to_mask(torch.zeros(5, 9, dtype=torch.long))


def test_only_gaps_are_filled_and_the_generator_does_not_see_what_stood_there() -> None:
    model, (token_ids, shown, mask) = both(), texts()
    found: Found = model(token_ids, shown, mask)
    assert found.surprise.shape == (int((shown == GAP).sum()),)
    assert not found.replaced[shown != GAP].any()
    assert found.replaced.any()
    others = torch.where(shown == GAP, token_ids % (VOCAB_SIZE - 3) + 3, token_ids)
    torch.manual_seed(3)
    one = model(token_ids, shown, mask)
    torch.manual_seed(3)
    other = model(others, shown, mask)
    assert torch.equal(one.logits, other.logits)  # the same tokens were drawn
    assert not torch.equal(one.surprise, other.surprise)


def test_the_detector_does_not_teach_the_generator_but_both_teach_the_embeddings() -> None:
    model, (token_ids, shown, mask) = both(), texts()
    table = model.detector.trunk.embedding.get_parameter("weight")
    model(token_ids, shown, mask).logits.sum().backward()
    assert model.to_narrow.weight.grad is None
    assert table.grad is not None
    assert table.grad.any()
    model.zero_grad()
    model(token_ids, shown, mask).surprise.sum().backward()
    assert model.detect.weight.grad is None
    assert table.grad is not None
    assert table.grad.any()


def test_the_loss_of_a_guess_and_its_gradient_are_those_of_torch() -> None:
    torch.manual_seed(1)
    logits = torch.randn(6, VOCAB_SIZE, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(VOCAB_SIZE, (6,))
    ours, _ = guess(logits, labels)
    expected = F.cross_entropy(logits, labels, reduction="none")
    torch.testing.assert_close(ours.double(), expected, rtol=1e-5, atol=1e-6)
    factors = torch.arange(6.0)
    (grad,) = torch.autograd.grad((ours * factors).sum(), logits)
    (expected_grad,) = torch.autograd.grad((expected * factors).sum(), logits)
    torch.testing.assert_close(grad, expected_grad, rtol=1e-5, atol=1e-6)


def test_tokens_are_drawn_as_often_as_the_generator_thinks_them_likely() -> None:
    torch.manual_seed(2)
    logits = torch.tensor([0.0, 1.0, -30.0, 2.0]).expand(20_000, 4)
    _, drawn = guess(logits, torch.zeros(20_000, dtype=torch.long))
    shares = torch.bincount(drawn, minlength=4) / 20_000
    torch.testing.assert_close(shares, logits[0].softmax(-1), rtol=0, atol=0.015)


@pytest.mark.parametrize(
    "values", [{}, {"positions": "learned"}, {"positions": "sinusoidal", "norm": "layer"}, {"n_heads": 2}]
)
def test_a_shape_of_any_kind(values: dict[str, Any]) -> None:
    model, (token_ids, shown, mask) = both(**values), texts()
    assert model(token_ids, shown, mask).logits.shape == token_ids.shape
    assert model.to_narrow.out_features == (8 if values.get("n_heads") == 2 else 4)  # one head as wide as those
    assert len(parts_of(model).blocks) == 4
