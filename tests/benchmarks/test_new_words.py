from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from benchmarks.new_words import OURS, UNKNOWN, over_words, summary, trained_afterwards
from glassformer.data.table import Table
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.labels.target import labels_of
from glassformer.training.run import train_model
from glassformer.words.learners import EMBEDDINGS
from tests.words.samples import KNOWN, trained_on_known


def test_intervals_are_over_words() -> None:
    """Two texts of word 0, of which one is right; three of word 2, all right; word 1 is the first in no text.

    Two words are drawn: both word 0 in a quarter of all draws, so that half is right, or both word 2, and all is.
    """
    found = over_words(np.array([1.0, 1, 0, 1, 1]), np.array([0, 2, 0, 2, 2]))
    assert found.value == pytest.approx(4 / 5)
    assert (found.low, found.high) == (0.5, 1.0)


def test_texts_of_one_word_say_no_more_than_one_text_of_it() -> None:
    rng = np.random.default_rng(3)
    values, first = rng.random(40), np.arange(40)
    once = over_words(values, first)
    often = over_words(np.repeat(values, 25), np.repeat(first, 25))
    assert (often.value, often.low, often.high) == pytest.approx((once.value, once.low, once.high))
    assert once.high - once.low > 0.1


def a_run(unknown: str, ours: str, **more: Any) -> dict[str, Any]:
    right = {UNKNOWN: unknown, OURS: ours}
    correct = {condition: np.array([digit == "1" for digit in digits]) for condition, digits in right.items()}
    return {"first": [0, 2, 0, 2, 2], "correct": correct, "map": {}} | more


def test_figures_of_all_seeds() -> None:
    """Ours less the unknown token, both seeds' means: .5 and 0 in word 0's texts, 0, .5 and 0 in word 2's."""
    runs = [
        a_run("00111", "10110", learned=["a", "b", "c"], cosines={OURS: [0.25, 0.5, 0.75]}),
        a_run("01100", "01111", learned=["a", "c"], cosines={OURS: [0.75, 0.25]}),
    ]
    found = summary(runs)
    assert (found["test_texts"], found["test_words"], found["learned"]) == (5, 2, [3, 2])
    ours = found["conditions"][OURS]
    assert ours["by_seed"] == [3 / 5, 4 / 5]
    assert ours["accuracy"]["value"] == pytest.approx(7 / 10)
    assert ours["above_unknown"] == pytest.approx({"value": 1 / 5, "low": 1 / 6, "high": 1 / 4})
    assert ours["ours_above_it"] == {"value": 0, "low": 0, "high": 0}
    assert found["conditions"][UNKNOWN]["ours_above_it"] == ours["above_unknown"]
    assert ours["cosine"]["value"] == pytest.approx(1 / 2)
    assert "cosine" not in found["conditions"][UNKNOWN]


def test_afterwards_only_the_embeddings_of_the_words_are_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    blind, models = trained_on_known(), []

    def kept(*args: Any, **settings: Any) -> TrainedModel:
        models.append(train_model(*args, **settings))
        return models[-1]

    monkeypatch.setattr("benchmarks.new_words.train_model", kept)
    texts = [f"{word} {KNOWN[number]}" for number, word in enumerate(["zork", "blah"] * 15)]
    labels = [str(labels_of(blind.config.target).labels[number % 2]) for number in range(len(texts))]
    frame = pl.DataFrame({"row": range(1, len(texts) + 1), "text": texts, "label": labels})
    table = Table(frame=frame, source="texts.csv", text_column="text", label_column="label")
    found = trained_afterwards(blind, ["zork", "blah"], table, seed=2)
    before, after = blind.model.state_dict(), models[0].model.state_dict()
    assert after[EMBEDDINGS].shape[0] == before[EMBEDDINGS].shape[0] + 2
    for name, weights in before.items():
        assert torch.equal(after[name][: len(weights)], weights), name
    begin = np.random.default_rng(2).normal(scale=0.02, size=(2, before[EMBEDDINGS].shape[1]))
    assert np.stack(list(found.values())) == pytest.approx(after[EMBEDDINGS][-2:].numpy())
    assert (np.abs(np.stack(list(found.values())) - begin) > 1e-3).all()
