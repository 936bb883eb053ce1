from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.data.store import TokenStore
from glassformer.errors import UsageError
from glassformer.estimators.text_classifier import TextClassifier
from glassformer.models.language_model import LanguageModel
from glassformer.models.parts import embedding_table
from glassformer.prediction.model_folder import CLASSIFIER, LANGUAGE_MODEL, load_model
from glassformer.readers.body.vectors import Body
from glassformer.training.language_modelling import LanguageModelling
from glassformer.training.loop import InterruptedTraining
from glassformer.training.pretrain import pretrain
from glassformer.training.training_config import PretrainingConfig
from tests.bodies import SMALL
from tests.training.test_pretrain import counting, equal, recipe, small, weights
from tests.training.test_resume import interrupt_after

FULL = small(attention="full")


def test_the_detector_learns_which_colours_are_out_of_order(tmp_path: Path) -> None:
    chosen = recipe(model=FULL, replaced=True, epochs=12, learning_rate=0.015)
    trained = pretrain(counting(), chosen, out=tmp_path / "m")
    first, best = trained.metrics["history"][0], trained.metrics["best"]
    assert best["validation_loss"] < 0.75 * first["validation_loss"]
    assert best["validation_generator_loss"] < first["validation_generator_loss"]
    assert first["validation_detected"] < best["validation_detected"] <= 1
    card = (tmp_path / "m" / "README.md").read_text()
    assert "It finds replaced tokens of a text." in card
    assert f"nats per token, right about {best['validation_detected']:.2%} of the tokens." in card
    assert isinstance(trained.model, LanguageModel)
    assert equal(dict(trained.model.state_dict()), weights(tmp_path / "m"))


def test_a_classifier_starts_from_the_detector(tmp_path: Path) -> None:
    pretrain(counting(), recipe(model=FULL, replaced=True), out=tmp_path / "m")
    texts = [f"{word} one two" for word in ("red", "green") for _ in range(20)]
    settings = {"training.max_steps": 1, "training.learning_rate": 1e-9, "model.counting": "none"}
    begun = TextClassifier(init=str(tmp_path / "m"), settings=settings).fit(texts, ["a", "b"] * 20)
    started = load_model(begun.save(tmp_path / "begun"), CLASSIFIER).model.state_dict()
    for name, tensor in load_model(tmp_path / "m", LANGUAGE_MODEL).model.state_dict().items():
        torch.testing.assert_close(started[name], tensor, rtol=0, atol=1e-6)


def test_a_run_that_was_stopped_ends_with_the_same_weights(tmp_path: Path) -> None:
    chosen = recipe(model=FULL, replaced=True, max_steps_per_epoch=3, epochs=4)
    pretrain(counting(), chosen, out=tmp_path / "whole")
    with pytest.raises(InterruptedTraining):
        pretrain(counting(), chosen, out=tmp_path / "parts", observer=interrupt_after(5))
    pretrain(counting(), chosen, out=tmp_path / "parts", resume=True)
    assert equal(weights(tmp_path / "whole"), weights(tmp_path / "parts"))


@pytest.mark.parametrize("at_most", [1, 2, 3, 4, 5, 100])
def test_short_epochs_read_on_where_the_last_one_ended(at_most: int) -> None:
    texts = TokenStore.in_memory([np.arange(3, 12) + i % 7 for i in range(30)])

    def steps_of(epochs: int, **values: Any) -> list[list[Any]]:
        config = PretrainingConfig(batch_size=7, min_steps_per_epoch=1, **values)
        task = LanguageModelling(texts, config, window=8, causal=True)
        return [[step()[0].labels.tolist() for step in task.steps(epoch)] for epoch in range(epochs)]

    passes = [step for number in range(10) for step in steps_of_pass(texts, number)]
    short = steps_of(4, max_steps_per_epoch=at_most)
    if at_most < len(steps_of_pass(texts, 0)):
        assert [len(epoch) for epoch in short] == [at_most] * 4
        assert [step for epoch in short for step in epoch] == passes[: 4 * at_most]
    else:
        assert short == steps_of(4)


def steps_of_pass(texts: TokenStore, number: int) -> list[Any]:
    config = PretrainingConfig(batch_size=7, min_steps_per_epoch=1)
    task = LanguageModelling(texts, config, window=8, causal=True)
    return [step()[0].labels.tolist() for step in task._pass(number)]


@pytest.mark.parametrize("kind", ["word", "bpe", "wordpiece"])
def test_embeddings_of_words_start_from_a_body(kind: str) -> None:
    body = Body.load(SMALL)
    vocabulary = {"kind": kind, "min_frequency": 1, "vocab_size": 400, "lowercase": True}
    chosen = recipe(model=FULL, tokenizer=vocabulary, start_body=str(SMALL), max_steps=1, learning_rate=1e-9)
    trained = pretrain(counting(), chosen)
    table = embedding_table(trained.model)
    assert table is not None
    red, green = trained.tokenizer.word_ids(["red", "green"])
    assert red is not None
    assert green is not None
    vectors = body.vectors - body.vectors.mean(axis=0)
    ours = table[[red, green]].detach().numpy()
    theirs = vectors[[body.index["red"], body.index["green"]]][:, :16]
    np.testing.assert_allclose(ours[0] / ours[1], theirs[0] / theirs[1], rtol=1e-3)
    assert 0.01 < float(table.detach().std()) < 0.04


def test_bytes_cannot_start_from_words() -> None:
    with pytest.raises(UsageError, match=r"start_body: no token is a word of english; .*wordpiece"):
        pretrain(counting(), recipe(model=FULL, tokenizer={"kind": "byte"}, start_body=str(SMALL)))
