import math

import pytest
import torch
import torch.nn.functional as F
from jaxtyping import TypeCheckError
from torch import Tensor

from glassformer.alignment.divergence import entropy, mean_over_tokens, token_logprobs

BATCH, SEQ, VOCAB_SIZE = 2, 3, 5
MASK = torch.tensor([[False, True, True], [True, False, False]])
TOKEN_IDS = torch.tensor([[4, 0, 2], [1, 1, 3]])


def random_logits(dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(BATCH, SEQ, VOCAB_SIZE, dtype=dtype, requires_grad=True)


def test_token_logprobs_by_hand() -> None:
    logits = torch.tensor([[[1.0, 2, 3, 2], [7, 4, 4, 2]]]).log()
    found = token_logprobs(logits, torch.tensor([[2, 3]]))
    torch.testing.assert_close(found, torch.tensor([[3 / 8, 2 / 17]]).log())


def test_token_logprobs_are_those_of_the_same_place() -> None:
    logits = random_logits()
    found = token_logprobs(logits, TOKEN_IDS)
    for row in range(BATCH):
        for t in range(SEQ):
            torch.testing.assert_close(found[row, t], logits[row, t].log_softmax(0)[TOKEN_IDS[row, t]])


def test_shapes_are_checked_in_these_tests() -> None:
    with pytest.raises(TypeCheckError):
        token_logprobs(random_logits(), TOKEN_IDS.T)


def test_gradients_of_token_logprobs() -> None:
    assert torch.autograd.gradcheck(lambda x: token_logprobs(x, TOKEN_IDS), [random_logits()])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_half_precision_is_summed_in_float32(dtype: torch.dtype) -> None:
    logits = random_logits(dtype).detach() * 5
    found = token_logprobs(logits, TOKEN_IDS)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), token_logprobs(logits.double(), TOKEN_IDS), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_token_logprobs_keep_at_most_one_copy_of_the_logits(dtype: torch.dtype) -> None:
    logits, kept = random_logits(dtype), {}

    def note(saved: Tensor) -> Tensor:
        if saved.numel() == logits.numel():
            kept[saved.data_ptr()] = saved
        return saved

    with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
        token_logprobs(logits, TOKEN_IDS)

    assert len(kept) == 1
    assert (logits.data_ptr() in kept) == (dtype == torch.float32)


def test_banned_tokens_leave_finite_gradients() -> None:
    logits = torch.tensor([[[0.0, -math.inf, math.log(3)]]], requires_grad=True)
    found = token_logprobs(logits, torch.tensor([[2]]))
    assert found.item() == pytest.approx(math.log(3 / 4))
    (gradient,) = torch.autograd.grad(found.sum(), logits)
    torch.testing.assert_close(gradient, torch.tensor([[[-1 / 4, 0, 1 / 4]]]))


def test_a_banned_token_has_no_probability() -> None:
    assert token_logprobs(torch.tensor([[[0.0, -math.inf]]]), torch.tensor([[1]])).item() == -math.inf


def test_means_by_hand() -> None:
    values = torch.tensor([[9.0, -2, -4], [-6, 9, 9]])
    assert mean_over_tokens(values, MASK).item() == -4


def test_entropy_by_hand() -> None:
    probs = torch.tensor([[[1 / 3, 1 / 3, 1 / 3], [1 / 2, 1 / 4, 1 / 4], [1, 0, 0]]])
    mask = torch.tensor([[False, True, True]])
    assert entropy(probs.log(), mask).item() == pytest.approx(1.5 * math.log(2) / 2)


def test_entropy_is_torchs() -> None:
    logits = random_logits()
    expected = torch.distributions.Categorical(logits=logits).entropy()[MASK].mean()
    torch.testing.assert_close(entropy(logits, MASK), expected)


def test_gradients_of_entropy() -> None:
    assert torch.autograd.gradcheck(lambda x: entropy(x, MASK), [random_logits()])


@pytest.mark.parametrize("banned", [-math.inf, -2000.0], ids=["banned", "underflow"])
def test_entropy_of_impossible_tokens_is_that_without_them(banned: float) -> None:
    logits = random_logits()
    longer = F.pad(logits, (0, 1), value=banned).detach().requires_grad_()

    torch.testing.assert_close(entropy(longer, MASK), entropy(logits, MASK))

    (expected,) = torch.autograd.grad(entropy(logits, MASK), logits)
    (gradient,) = torch.autograd.grad(entropy(longer, MASK), longer)
    torch.testing.assert_close(gradient, F.pad(expected, (0, 1)))


def test_entropy_of_a_broken_policy_is_not_hidden() -> None:
    logits = torch.full((1, 1, VOCAB_SIZE), math.nan)
    assert entropy(logits, torch.tensor([[True]])).isnan()
