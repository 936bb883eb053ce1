import numpy as np
import pytest
import torch

from glassformer.data.batches import Batch, ModelInputs
from glassformer.data.store import TokenStore
from glassformer.errors import GlassformerError
from glassformer.prediction import scoring
from glassformer.prediction.scoring import mean_outputs, score, window_means
from tests.prediction.samples import small_trained_model

LENGTHS = [5, 60, 0, 23, 24, 1, 100, 7]
ROWS = [np.random.default_rng(row).integers(3, 18, length) for row, length in enumerate(LENGTHS)]


def test_a_text_answers_the_same_alone_and_in_a_batch() -> None:
    model = small_trained_model().model
    together = score(model, TokenStore.in_memory(ROWS), max_seq_len=24, n_classes=3)
    alone = [score(model, TokenStore.in_memory([row]), max_seq_len=24, n_classes=3)[0] for row in ROWS]
    np.testing.assert_allclose(together, np.stack(alone), atol=1e-5)
    assert together.dtype == np.float32
    assert together.std() > 0.1


@pytest.mark.parametrize(("batch_tokens", "batch_size"), [(30, 99), (16_384, 2)])
def test_batching_changes_no_answer(monkeypatch: pytest.MonkeyPatch, batch_tokens: int, batch_size: int) -> None:
    model, store = small_trained_model().model, TokenStore.in_memory(ROWS)
    before = score(model, store, max_seq_len=24, n_classes=3)
    monkeypatch.setattr(scoring, "_BATCH_SIZE", batch_size)
    after = score(model, store, max_seq_len=24, n_classes=3, batch_tokens=batch_tokens)
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_a_long_text_gets_the_mean_of_its_windows() -> None:
    model = small_trained_model().model
    tokens = ROWS[1][:40]  # 40 tokens, windows of 23: two of them, at either end
    windows = torch.stack([torch.tensor([2, *tokens[:23]]), torch.tensor([2, *tokens[17:]])])
    with torch.inference_mode():
        expected = model(windows, torch.ones_like(windows, dtype=torch.bool)).mean(dim=0)
    found = score(model, TokenStore.in_memory([tokens]), max_seq_len=24, n_classes=3)
    np.testing.assert_allclose(found[0], expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_scores_in_evaluation_mode_and_leaves_the_mode_alone(training: bool) -> None:
    model = small_trained_model().model.train(training)
    once, twice = (score(model, TokenStore.in_memory(ROWS), max_seq_len=24, n_classes=3) for _ in range(2))
    np.testing.assert_array_equal(once, twice)
    assert model.training is training
    assert not any(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("could not create a primitive"), torch.OutOfMemoryError("CUDA out of memory")]
)
@pytest.mark.parametrize(("training", "threads"), [(True, 1), (False, 1), (False, 3)])
def test_out_of_memory_halves_the_batch_and_changes_no_answer(
    error: BaseException, training: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(threads)
    model, store = small_trained_model().model.train(training), TokenStore.in_memory(ROWS)
    before = score(model, store, max_seq_len=24, n_classes=3)
    forward, read = model.forward, []

    def for_three_at_most(token_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        if len(token_ids) > 3:
            raise error
        read.append(len(token_ids))
        logits: torch.Tensor = forward(token_ids, attention_mask)
        return logits

    monkeypatch.setattr(model, "forward", for_three_at_most)
    np.testing.assert_allclose(score(model, store, max_seq_len=24, n_classes=3), before, atol=1e-5)
    torch.set_num_threads(1)
    assert max(read) > 1, "no smaller than memory demands"
    assert model.training is training


def test_out_of_memory_for_one_window_ends_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_trained_model().model
    monkeypatch.setattr(model, "forward", lambda *_: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(GlassformerError, match="out of memory, even for a single window of 24 tokens"):
        score(model, TokenStore.in_memory(ROWS), max_seq_len=24, n_classes=3)


def test_other_mistakes_are_not_taken_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_trained_model().model
    monkeypatch.setattr(model, "forward", lambda *_: (_ for _ in ()).throw(RuntimeError("shapes differ")))
    with pytest.raises(RuntimeError, match="shapes differ"):
        score(model, TokenStore.in_memory(ROWS), max_seq_len=24, n_classes=3)


def test_no_texts() -> None:
    assert score(small_trained_model().model, TokenStore.in_memory([]), max_seq_len=24, n_classes=3).shape == (0, 3)


def test_progress_grows_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "_BATCH_SIZE", 2)
    shares: list[float] = []
    score(
        small_trained_model().model,
        TokenStore.in_memory(ROWS),
        max_seq_len=24,
        n_classes=3,
        on_progress=shares.append,
    )
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_any_function_of_the_inputs_can_be_scored() -> None:
    """Nothing of a module is needed: here the logits are the number of tokens and a one for each window."""

    def read(inputs: ModelInputs) -> torch.Tensor:
        tokens = inputs.attention_mask.sum(dim=1) - 1
        return torch.stack([tokens, torch.ones_like(tokens)], dim=1)

    found = mean_outputs(read, TokenStore.in_memory(ROWS), max_seq_len=24, width=2)
    np.testing.assert_array_equal(found, [[min(length, 23), 1] for length in LENGTHS])


def test_means_over_windows_weigh_each_window_by_what_it_counts() -> None:
    def sums(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        read = batch.inputs.attention_mask[:, 1:, None].double()
        return (batch.inputs.token_ids[:, 1:, None] * read).sum(dim=1), read.sum(dim=1)

    rows = [np.array([3, 4, 8]), np.array([], dtype=np.int64), np.array([6] * 40)]
    found = window_means(sums, TokenStore.in_memory(rows), max_seq_len=24, width=1, precision=np.float64)
    assert found.tolist() == [[5.0], [0.0], [6.0]]
    assert found.dtype == np.float64
