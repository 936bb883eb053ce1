"""Cross-fitting ends when the held-out rows that are answered so far promise too little of the transformer."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.readers.counting.fitting import fit_counting
from glassformer.readers.reader import FittedReader, Fold
from glassformer.targets.labels.training_readers import gain_of, weigh_readers
from glassformer.training import run
from glassformer.training.card import model_card
from glassformer.training.cross_fitting import Promise, cross_fit
from glassformer.training.loop import InterruptedTraining
from glassformer.training.readers import LearnedReaders
from glassformer.training.recipe import Recipe
from glassformer.training.run import train_model
from glassformer.training.snapshots import Snapshots
from tests.training.samples import SMALL, Memory, config, opinions
from tests.training.test_resume import figures

NEW = ["the plot was awful", "a lovely end", "something else"]
ROWS = Sources(train=opinions(60))


def chosen(**training: Any) -> Recipe:
    model = SMALL.model_copy(update={"counting": "auto"})
    return Recipe(validation=ValidationConfig(min_rows=2000), model=model, training=config(**training))


def fast(epochs: int = 8) -> Recipe:
    """A transformer that knows its rows after the second epoch of 15 steps."""
    return chosen(epochs=epochs, learning_rate=0.03, min_steps_per_epoch=15)


@pytest.fixture
def gains(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], float]], None]:
    """Return a function that sets the gain by the number of rows that are answered."""

    def set_gain(of: Callable[[int], float]) -> None:
        monkeypatch.setattr(run, "cross_fit", _with_gain(of))

    def _with_gain(of: Callable[[int], float]) -> Callable[..., Any]:
        return lambda prepared, learned, observer, _: cross_fit(
            prepared, learned, observer, lambda some, _: of(len(some.truth))
        )

    return set_gain


def test_a_transformer_that_does_not_help_is_not_trained_on_all_rows(tmp_path: Path) -> None:
    memory = Memory()
    trained = train_model(ROWS, chosen(epochs=2, learning_rate=1e-30), out=tmp_path, observer=memory)
    assert {report.training for report in memory.steps} == {1}
    assert not memory.epochs
    assert trained.metrics["history"] == []
    promise = trained.metrics["readers"]["promise"]
    assert (promise["training"], promise["epoch"], promise["rows"]) == (1, 2, 15)
    assert promise["expected"] == pytest.approx(4 * promise["gain"])
    assert memory.messages[-2] == (
        "cross-fitting ends early, without a transformer: by 15 held-out rows (training 1, epoch 2), it would raise "
        f"the log likelihood of all rows by {max(0, promise['expected']):.2f}; by chance alone it may rise by 3.32"
    )
    assert (
        "A transformer showed no sure gain on the first held-out rows, so the model answers by counting alone"
        in memory.messages[-1]
    )
    counting = train_model(ROWS, chosen(epochs=0))
    kept = load_model(tmp_path, CLASSIFIER)
    assert np.array_equal(Predictor(kept).logits(NEW), Predictor(counting).logits(NEW))
    assert kept.config.readers == counting.config.readers
    assert all(
        torch.equal(weights, counting.model.state_dict()[name]) for name, weights in kept.model.state_dict().items()
    )
    card = model_card(kept)
    assert "a transformer showed no sure gain on the first held-out rows" in card
    assert "which is not asked and was not trained, has" in card


def test_the_training_ends_once_the_transformer_knows_its_rows(gains: Any) -> None:
    """Then and not before: until it knows its rows, it may still begin to help."""
    gains(lambda _: 0.0)
    memory = Memory()
    trained = train_model(ROWS, fast(), observer=memory)
    epoch = trained.metrics["readers"]["promise"]["epoch"]
    assert 2 <= epoch < 8
    assert 15 * (epoch - 1) < len(memory.steps) < 15 * epoch
    assert len(memory.steps) % 5 == 0, "it is looked at after whole passes"
    slow = train_model(ROWS, fast().model_copy(update={"training": chosen(epochs=3, learning_rate=1e-30).training}))
    assert slow.metrics["readers"]["promise"]["epoch"] == 3


@pytest.mark.parametrize(("needed", "trainings"), [(45, 3), (60, 4)])
def test_every_part_must_keep_the_promise(needed: int, trainings: int, gains: Any) -> None:
    gains(lambda rows: 4.0 if rows < needed else 3.3 * rows / 60)
    memory = Memory()
    trained = train_model(ROWS, chosen(epochs=1), observer=memory)
    assert memory.steps[-1].training == trainings
    promise = trained.metrics["readers"]["promise"]
    assert (promise["training"], promise["rows"], promise["expected"]) == (trainings, needed, pytest.approx(3.3))
    assert trained.config.answers_by_counting


def test_a_kept_promise_changes_nothing(gains: Any) -> None:
    """The transformer of all rows is that of a run without cross-fitting."""
    gains(lambda rows: 3.33 * rows / 60)
    memory = Memory()
    trained = train_model(ROWS, chosen(epochs=2, learning_rate=0.01), observer=memory)
    assert {report.training for report in memory.steps} == {1, 2, 3, 4, 5}
    assert "promise" not in trained.metrics["readers"]
    plain = chosen(epochs=2, learning_rate=0.01).model_copy(update={"model": SMALL})
    assert figures(trained.metrics["history"]) == figures(train_model(ROWS, plain).metrics["history"])


def stop_at(steps: int) -> Callable[[int], None]:
    return lambda step: signal.raise_signal(signal.SIGINT) if step == steps else None


def test_a_resumed_run_ends_in_the_same_place(gains: Any, tmp_path: Path) -> None:
    """With snapshots, the transformer is trained on all rows all the same: that training may be interrupted, too."""
    gains(lambda rows: 4.0 if rows == 15 else 0.0)
    settings = fast(epochs=4)
    whole = train_model(ROWS, settings, snapshots=Snapshots(2))
    for steps in (1, 70, 79, 80):  # after the last step, the second training is looked at and ends
        out, memory = tmp_path / str(steps), Memory()
        with pytest.raises(InterruptedTraining):
            train_model(ROWS, settings, out=out, observer=Memory(stop_at(steps)), snapshots=Snapshots(2))
        resumed = train_model(ROWS, settings, out=out, resume=True, observer=memory, snapshots=Snapshots(2))
        theirs, ours = (model.metrics["readers"]["promise"] for model in (whole, resumed))
        assert {**ours, "seconds": 0} == {**theirs, "seconds": 0}, steps
        assert figures(resumed.metrics["history"]) == figures(whole.metrics["history"]), steps
        assert len(resumed.metrics["history"]) == 4
        assert memory.steps[-1].training == 5


def test_the_promise_of_all_rows_is_the_gain_that_decides_the_weight() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    held_out, other = ((2.0 * np.eye(2)[labels] + 2 * rng.normal(size=(400, 2))).astype(np.float32) for _ in range(2))
    fold = Fold(learned=np.arange(16), held_out=np.arange(16, 20))
    reader = fit_counting("tfidf", ["a", "b"] * 10, np.arange(20) % 2, n_classes=2, folds=[fold]).reader
    counting = LearnedReaders(
        fitted={"counting": FittedReader(reader=reader, held_out=held_out, seconds=1.0)},
        folds=[fold],
        truth=labels,
        row_weights=rng.uniform(0.5, 2, 400).astype(np.float32),
    )
    assert gain_of(counting, other) == weigh_readers(counting, other)[2]["gain_in_nats"] > 0
    half = counting.of_first(200)
    assert 0 < gain_of(half, other[:200]) < gain_of(counting, other)


def test_a_loss_is_not_called_a_gain() -> None:
    said = str(Promise(training=1, epoch=2, rows=15, gain=-0.21, expected=-0.84))
    assert "it would raise the log likelihood of all rows by 0.00" in said
