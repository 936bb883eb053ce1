import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from benchmarks.bench_opponents import FastText, NaiveBayesRegression
from glassformer.evaluation.measured import Baseline

FRUIT, TOOLS, BIRDS = ("pear plum", "fig plum", "pear fig"), ("saw axe", "file axe", "saw file"), ("rook crow", "crow")


def rows(*groups: tuple[str, ...], times: int = 10) -> tuple[list[str], np.ndarray]:
    texts = [text for group in groups for text in group] * times
    return texts, np.array([number for number, group in enumerate(groups) for _ in group] * times)


@pytest.mark.parametrize("groups", [(FRUIT, TOOLS), (FRUIT, TOOLS, BIRDS)])
def test_nb_lr_learns(groups: tuple[tuple[str, ...], ...]) -> None:
    baseline: Baseline = NaiveBayesRegression(len(groups))
    baseline.fit(*rows(*groups))
    probs = baseline.answers(["plum !", "Axe", "crow"][: len(groups)])
    assert probs.shape == (len(groups), len(groups))
    assert probs.argmax(axis=1).tolist() == list(range(len(groups)))
    assert baseline.size_bytes > 100
    assert baseline.notes[0].startswith("C = ")


def test_nb_lr_is_logistic_regression_on_weighted_features() -> None:
    texts, labels = rows(("pear", "pear fig"), ("saw", "saw fig"), times=5)
    baseline = NaiveBayesRegression(2)
    baseline.fit(texts, labels)
    names = baseline.vectorizer.get_feature_names_out().tolist()
    assert names == ["fig", "pear", "pear fig", "saw", "saw fig"]
    inside = np.array([5, 0, 0, 10, 5]) + 1  # texts of class 1 with each feature
    outside = np.array([5, 10, 5, 0, 0]) + 1
    ratios = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
    features = np.array([[name in text for name in names] for text in texts]) * ratios
    c = float(baseline.notes[0].removeprefix("C = "))
    model = LogisticRegression(C=c, solver="liblinear", dual=True, max_iter=1_000, random_state=0).fit(features, labels)
    expected = model.predict_proba(features)
    assert np.abs(baseline.answers(texts) - expected).max() < 1e-3


def test_nb_lr_chooses_c_by_cross_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """With C below 1, this one always answers the first class."""
    fit = NaiveBayesRegression._fit

    def fit_badly(self: NaiveBayesRegression, features: Any, labels: Any, c: float) -> list[tuple[Any, float]]:
        return fit(self, features, labels, c) if c >= 1 else [(np.zeros(features.shape[1]), -1.0)]

    monkeypatch.setattr(NaiveBayesRegression, "_fit", fit_badly)
    assert NaiveBayesRegression(2).fit(*rows(FRUIT, TOOLS)).notes == ("C = 1",)  # of equals the most regularised one


def test_fasttext_learns_whatever_the_order_and_repeats_itself() -> None:
    pytest.importorskip("fasttext")
    texts, labels = rows(FRUIT, TOOLS, BIRDS, times=60)
    order = np.argsort(labels, kind="stable")
    texts, labels = [texts[i] + "\nx" for i in order], labels[order]
    first, again = (FastText(3, seed=1).fit(texts, labels).answers(["plum", "Axe", "crow"]) for _ in range(2))
    assert first.argmax(axis=1).tolist() == [0, 1, 2]
    assert np.array_equal(first, again)


@pytest.mark.parametrize(("too_high", "tried"), [(0.2, [0.5, 0.25, 0.125]), (0.0, [0.5, 0.25, 0.125, 0.0625, 0.03125])])
def test_fasttext_halves_the_learning_rate_when_it_diverges(
    monkeypatch: pytest.MonkeyPatch, too_high: float, tried: list[float]
) -> None:
    rates: list[float] = []

    def train(_file: Path, _model: Path, _seed: int, settings: dict[str, Any]) -> str | None:
        rates.append(settings["lr"])
        return "RuntimeError: Encountered NaN." if settings["lr"] > too_high else None

    monkeypatch.setattr("benchmarks.bench_opponents.train_fasttext", train)
    monkeypatch.setitem(sys.modules, "fasttext", SimpleNamespace(load_model=str))
    fasttext = FastText(2, seed=0)
    if too_high:
        assert fasttext.fit(*rows(FRUIT, TOOLS)).notes == ("learning rate 0.125",)
    else:
        with pytest.raises(RuntimeError, match="NaN"):
            fasttext.fit(*rows(FRUIT, TOOLS))
    assert rates == tried
