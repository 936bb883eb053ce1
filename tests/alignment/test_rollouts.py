from typing import Any, cast

import pytest
import torch
from torch import Tensor

from glassformer.alignment.rollouts import Rollouts, read_rollouts, roll_out
from glassformer.data.tokenizers import PAD_ID, START_ID, UNKNOWN_ID, TextTokenizer, TokenizerConfig
from glassformer.models.language_model import LanguageModel
from glassformer.prediction import generation, sampling
from glassformer.prediction.sampling import SamplingConfig, next_token_probs
from tests.prediction.language import Recites, random_model

TOKENIZER = TextTokenizer.train(["a b c"], TokenizerConfig(min_frequency=1, numbering="appearance"))
A, B, C = 3, 4, 5
WINDOW = 9


def roll(policy: object, prompts: list[str], max_tokens: int, *, seed: int = 0, window: int = WINDOW) -> Rollouts:
    config = SamplingConfig(max_tokens=max_tokens, seed=seed)
    return roll_out(cast(LanguageModel, policy), TOKENIZER, prompts, config, max_seq_len=window)


@pytest.fixture
def recited() -> Rollouts:
    """Of a policy that says a, b, c, b and then ends, wherever a prompt ends: two are cut off after three tokens."""
    return roll(Recites([A, B, C, B], TOKENIZER.vocab_size), ["", "a", "a b c"], 3)


def test_rollouts_by_hand(recited: Rollouts) -> None:
    assert recited.completion_ids == [[A, B, C], [B, C, B], [B, START_ID]]
    assert recited.token_ids.tolist() == [
        [START_ID, A, B, C, PAD_ID, PAD_ID],
        [START_ID, A, B, C, B, PAD_ID],
        [START_ID, A, B, C, B, START_ID],
    ]
    assert recited.attention_mask.sum(dim=1).tolist() == [4, 5, 6]
    assert recited.loss_mask.int().tolist() == [[1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 1, 1]]
    assert recited.ended == [False, False, True]


def test_texts_are_spelled_as_they_go_on(recited: Rollouts) -> None:
    assert recited.texts == ["a b c", "a b c b", "a b c b"]
    assert roll(Recites([A, B, C, B], TOKENIZER.vocab_size), ["a "], 2).texts == ["a b c"]


def test_a_text_without_its_end_token(recited: Rollouts) -> None:
    assert recited.completion_ids[2][-1] == START_ID
    assert recited.ids_without_end == [recited.completion_ids[0], recited.completion_ids[1], [B]]


def test_nothing_but_the_end_is_a_completion_too() -> None:
    empty = roll(Recites([], TOKENIZER.vocab_size), [""], 4)
    assert (empty.completions, empty.ended, empty.loss_mask.tolist()) == ([""], [True], [[True]])
    assert empty.ids_without_end == [[]]


def test_some_of_the_rows(recited: Rollouts) -> None:
    some = recited.rows(torch.tensor([2, 0]))
    for name in ("token_ids", "attention_mask", "loss_mask"):
        assert torch.equal(getattr(some, name), getattr(recited, name)[[2, 0]])
    assert (some.prompts, some.texts, some.ended) == (["a b c", ""], ["a b c b", "a b c"], [True, False])
    assert some.completion_ids == [[B, START_ID], [A, B, C]]


@pytest.mark.parametrize("positions", ["rotary", "learned", "none"])
def test_logprobs_are_those_that_were_sampled_from(positions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Tensor] = []

    def remember(*arguments: Any) -> Tensor:
        drawn.append(next_token_probs(*arguments))
        return drawn[-1]

    monkeypatch.setattr(generation, "next_token_probs", remember)
    model = random_model(TOKENIZER.vocab_size, positions=positions, max_seq_len=WINDOW, dropout=0.5)
    found = roll(model.train(), ["a b c", "", "b", "a b zebra", ""], 5)
    logits, logprobs, hidden = read_rollouts(model, found)
    assert len({len(ids) for ids in found.completion_ids}) > 1, "some end before others"
    for row, ids in enumerate(found.completion_ids):
        expected = torch.stack([drawn[step][row, token] for step, token in enumerate(ids)]).log()
        torch.testing.assert_close(logprobs[row, found.loss_mask[row]], expected, rtol=1e-4, atol=1e-5)
    assert logprobs.isfinite().all(), "also where nothing counts"
    assert logits[..., [PAD_ID, UNKNOWN_ID]].eq(-torch.inf).all()
    torch.testing.assert_close(logits.exp().sum(-1).log(), logits.logsumexp(-1))
    torch.testing.assert_close(hidden, model.read(found.token_ids[:, :-1], found.attention_mask[:, :-1]))


def test_what_is_never_written_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it otherwise, a token could be banned where texts are written and not where they are read back."""
    monkeypatch.setattr(sampling, "BANNED", (PAD_ID, UNKNOWN_ID, B))
    model = random_model(TOKENIZER.vocab_size, max_seq_len=WINDOW)
    found = roll(model, ["a", "", "c"] * 9, 6)
    assert {token for ids in found.completion_ids for token in ids} == {START_ID, A, C}
    logits, _, _ = read_rollouts(model, found)
    assert logits[..., B].eq(-torch.inf).all()
    assert logits[..., [START_ID, A, C]].isfinite().all()


def test_what_is_read_back_passes_a_finite_gradient() -> None:
    model = random_model(TOKENIZER.vocab_size, max_seq_len=WINDOW)
    found = roll(model, ["a b c", ""], 4)
    _, logprobs, _ = read_rollouts(model, found)
    gradients = torch.autograd.grad(logprobs.where(found.loss_mask, 0).sum(), list(model.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert any(gradient.any() for gradient in gradients)


def test_the_seed_decides() -> None:
    model = random_model(TOKENIZER.vocab_size, max_seq_len=WINDOW)
    first, again, other = (roll(model, ["", "a"], 6, seed=seed).completion_ids for seed in (3, 3, 4))
    assert first == again != other
