"""Phuoc Bui and Thuong Dang, "Transformers from Scratch with Pytorch": both versions, against NumPy.

The NumPy below follows the document sentence by sentence (one sentence, one matrix, loops over heads and positions) and
shares no line with the modules.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from glassformer.models.build import build_model, parameter_count
from glassformer.models.published.bui_dang import (
    BuiDangColumns,
    BuiDangColumnsConfig,
    BuiDangRows,
    BuiDangRowsConfig,
    z_score,
)
from glassformer.training.objectives import binary_cross_entropy_on_probabilities
from tests.models.published.samples import batch
from tests.support import randomise

Matrix = NDArray[np.float64]
WORDS, LENGTH = 7, 5  # vocabulary of 10 with the special tokens; sentences of at most five words
TEXTS = [[4, 9, 3], [5, 6, 7, 8, 3], [9]]


def softmax(matrix: Matrix, axis: int) -> Matrix:
    powers = np.exp(matrix - matrix.max(axis=axis, keepdims=True))
    result: Matrix = powers / powers.sum(axis=axis, keepdims=True)
    return result


def one_hot_with_positions(text: list[int]) -> Matrix:
    """Rows are words; each value of the position is worked out by the document's formula with n = 10,000."""
    rows = np.zeros((LENGTH, WORDS))
    for k in range(LENGTH):
        if k < len(text):
            rows[k, text[k] - 3] = 1
        for i in range(WORDS):
            rows[k, i] += np.sin(k / 10_000 ** (i / WORDS)) if i % 2 == 0 else np.cos(k / 10_000 ** ((i - 1) / WORDS))
    return rows


def rows_by_numpy(text: list[int], weights: dict[str, Matrix], n_heads: int) -> Matrix:
    """Probabilities of the version by rows."""
    x = one_hot_with_positions(text)
    mask = np.where(np.tril(np.ones((LENGTH, LENGTH))) == 1, 0.0, -np.inf)
    heads = []
    for head in range(n_heads):
        q, k, v = (x @ weights[f"{name}.{head}"] for name in ("Wq", "Wk", "Wv"))
        heads.append(softmax(q @ k.T / np.sqrt(LENGTH) + mask, axis=1) @ v)
    attention = np.concatenate(heads, axis=1) @ weights["Wo"]
    normed = softmax(np.concatenate([attention, x], axis=1) @ weights["gamma_self"] + weights["beta_self"], axis=1)
    fed = np.maximum(weights["Wf"] @ normed + weights["bf"], 0)
    rows = softmax(np.concatenate([fed, normed], axis=0) @ weights["gamma_feed"] + weights["beta_feed"], axis=1)
    return softmax(weights["Wl"] @ rows + weights["bl"], axis=1)[0]


def columns_by_numpy(text: list[int], weights: dict[str, Matrix]) -> Matrix:
    """Probabilities of the version by columns."""

    def normalise(matrix: Matrix) -> Matrix:
        result: Matrix = (matrix - matrix.mean(1, keepdims=True)) / matrix.std(1, ddof=1, keepdims=True)
        return result

    x = one_hot_with_positions(text).T
    q, k, v = weights["Wq"] @ x, weights["Wk"] @ x, weights["Wv"] @ x
    size = len(q)
    mask = np.where(np.tril(np.ones((size, size))) == 1, 0.0, -np.inf)
    attention = weights["Wo"] @ (softmax((q @ k.T + mask) / np.sqrt(size), axis=0) @ v)
    first = normalise(attention + weights["Wnorm_self"] @ x + weights["bnorm_self"])
    first = first @ weights["gamma_self"] + weights["beta_self"]
    fed = np.maximum(weights["Wf"] @ first + weights["bf"], 0)
    second = normalise(fed + weights["Wnorm_feed"] @ first + weights["bnorm_feed"])
    return softmax(second @ weights["gamma_feed"] + weights["beta_feed"], axis=0)[:, 0]


def weights_of(model: torch.nn.Module) -> dict[str, Matrix]:
    return {name: parameter.detach().double().numpy() for name, parameter in model.named_parameters()}


def test_rows_are_what_numpy_makes_of_the_text() -> None:
    config = BuiDangRowsConfig(max_seq_len=LENGTH + 1, hidden=6, n_heads=3)
    model = randomise(BuiDangRows(config, WORDS + 3, 2), std=0.8)
    expected = [rows_by_numpy(text, weights_of(model), n_heads=3) for text in TEXTS]
    np.testing.assert_allclose(model(*batch(*TEXTS)).softmax(1).detach(), expected, atol=1e-6)


def test_columns_are_what_numpy_makes_of_the_text() -> None:
    config = BuiDangColumnsConfig(max_seq_len=LENGTH + 1, hidden=6, n_heads=3)
    model = randomise(BuiDangColumns(config, WORDS + 3, 2), std=0.3)
    expected = [columns_by_numpy(text, weights_of(model)) for text in TEXTS]
    np.testing.assert_allclose(model(*batch(*TEXTS)).softmax(1).detach(), expected, atol=1e-5)


@pytest.mark.parametrize(("config", "parameters"), [(BuiDangRowsConfig(), 3_333), (BuiDangColumnsConfig(), 17_350)])
def test_size_on_the_data_of_the_document(config: BuiDangRowsConfig | BuiDangColumnsConfig, parameters: int) -> None:
    assert parameter_count(config, vocab_size=18 + 3, n_classes=2) == parameters


@pytest.mark.parametrize("config", [BuiDangRowsConfig(max_seq_len=6), BuiDangColumnsConfig(max_seq_len=6)])
def test_a_text_is_answered_by_itself(config: BuiDangRowsConfig | BuiDangColumnsConfig) -> None:
    model = randomise(build_model(config, WORDS + 3, 2), std=0.3)
    alone = torch.cat([model(*batch(text)) for text in TEXTS])
    torch.testing.assert_close(model(*batch(*TEXTS, width=9)), alone, atol=1e-5, rtol=1e-4)


def test_rows_biases_before_a_softmax_cannot_matter() -> None:
    """β₁ and b_l shift all that one softmax compares; β₂ too. They get no gradient, as a softmax cancels them."""
    model = randomise(BuiDangRows(BuiDangRowsConfig(max_seq_len=6), WORDS + 3, 2))
    F.cross_entropy(model(*batch(*TEXTS)), torch.tensor([0, 1, 1])).backward()
    for bias in (model.beta_self, model.beta_feed, model.bl):
        assert bias.grad is not None
        assert bias.grad.abs().max() < 1e-6
    assert model.bf.grad is not None
    assert model.bf.grad.abs().max() > 1e-4


def test_columns_attention_prefers_nothing_at_the_start() -> None:
    """Weights between 0 and .001 make scores of about 1e-6, and every feature attends alike to those before it."""
    model = BuiDangColumns(BuiDangColumnsConfig(max_seq_len=6), WORDS + 3, 2)
    one_hot = torch.tensor(one_hot_with_positions(TEXTS[0]), dtype=torch.float32).T
    scores = (model.Wq @ one_hot) @ (model.Wk @ one_hot).T
    assert scores.abs().max() < 1e-3
    weights = ((scores + model.mask) / 128**0.5).softmax(0)
    torch.testing.assert_close(weights, model.mask.exp() / model.mask.exp().sum(0), atol=1e-5, rtol=0)


def test_columns_a_constant_row_is_not_a_number() -> None:
    assert z_score(torch.full((1, 1, 4), 0.7)).isnan().all()
    torch.testing.assert_close(z_score(torch.tensor([[[2.0, -9.0]]])), torch.tensor([[[0.70710678, -0.70710678]]]))


@pytest.mark.parametrize(
    ("probabilities", "loss"), [([1 - 1e-12, 1e-12], 0.503204), ([0.5, 0.5], 0.724077)], ids=["perfect", "blind"]
)
def test_columns_loss_of_probabilities_read_as_logits(probabilities: list[float], loss: float) -> None:
    """Even a perfect answer costs .503: why not to do it."""
    logits = torch.tensor([probabilities], dtype=torch.float64).log()
    found = binary_cross_entropy_on_probabilities(
        logits, torch.tensor([0]), class_weights=torch.ones(2, dtype=torch.float64), label_smoothing=0
    )
    assert found.item() == pytest.approx(loss, abs=1e-6)


def test_rows_binary_cross_entropy_of_two_probabilities_is_cross_entropy() -> None:
    """The document trains by `BCELoss` on both probabilities; with two classes that is the cross entropy used here."""
    logits = torch.randn(6, 2)
    labels = torch.tensor([0, 1, 1, 0, 1, 0])
    printed = F.binary_cross_entropy(logits.softmax(1), F.one_hot(labels, 2).float())
    torch.testing.assert_close(F.cross_entropy(logits, labels), printed)
