"""What a run has before its first step, and runs in stages that hold out the same rows."""

from pathlib import Path

import numpy as np
import pytest
import torch

from glassformer.data.documents import Documents
from glassformer.data.sources import Sources
from glassformer.data.splits import fingerprint
from glassformer.errors import UsageError
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.labels.target import labels_of
from glassformer.training.initial_weights import InitialWeights, read_initial_weights
from glassformer.training.preparation import Prepared, prepare
from glassformer.training.pretrain import pretrain
from glassformer.training.recipe import PretrainingRecipe, load_pretraining_recipe, load_recipe
from glassformer.training.run import train_model
from tests.training.samples import Memory, opinions, recipe, table

QUICK = {"training.epochs": 1, "training.min_steps_per_epoch": 3, "training.precision": "float32",
         "validation.min_rows": 0}  # fmt: skip


def sources() -> Sources:
    return Sources(train=opinions(), test=opinions(5))


def same_weights(first: TrainedModel, second: TrainedModel) -> bool:
    weights = second.model.state_dict()
    return all(torch.equal(tensor, weights[name]) for name, tensor in first.model.state_dict().items())


def test_a_run_begins_with_what_is_prepared(tmp_path: Path) -> None:
    heard: list[Prepared] = []
    chosen = recipe(learning_rate=1e-30, weight_decay=0.0, epochs=1)  # steps that leave no trace
    trained = train_model(sources(), chosen, out=tmp_path, on_prepared=heard.append)
    before = prepare(sources(), chosen)
    assert before.labels.names == labels_of(trained.config.target).labels
    assert before.tokenizer.vocabulary() == trained.tokenizer.vocabulary()
    assert fingerprint(before.splits.train) == trained.config.data["fingerprint"]
    for name, tensor in trained.model.state_dict().items():
        torch.testing.assert_close(tensor, before.model.state_dict()[name], rtol=0, atol=1e-25)  # the head began at 0
    assert (before.parameters, before.passes) == (heard[0].parameters, heard[0].passes)
    assert np.array_equal(before.data.train.tokens, heard[0].data.train.tokens)
    assert before.origin == ""


def test_a_sample_is_of_the_same_rows_and_weights_its_classes_as_the_whole() -> None:
    uneven = table([f"film {number} was seen" for number in range(40)], ["rare", *["usual"] * 3] * 10)
    prepared = prepare(Sources(train=uneven), recipe(class_weights="balanced"))
    rows = np.flatnonzero(prepared.train_labels == 1)[:7]
    some, whole = prepared.sample(rows), prepared.data
    assert len(some.train) == 7
    assert some.validation is None
    assert set(some.train_labels.tolist()) == {1}
    assert torch.equal(some.class_weights, whole.class_weights)
    assert some.class_weights[0] > some.class_weights[1]
    assert whole.validation is not None
    for place, row in enumerate(rows):
        start, end = whole.train.offsets[row : row + 2]
        first, last = some.train.offsets[place : place + 2]
        assert np.array_equal(some.train.tokens[first:last], whole.train.tokens[start:end])


def test_what_does_not_fit_is_refused_before_anything_is_learned() -> None:
    several = table(["a film", "a play", "a song"] * 4, [["good"], ["good", "long"], []] * 4)
    one_label = load_recipe("sentiment140", overrides={"model.n_layers": 1, "validation.fraction": 0.0})
    with pytest.raises(UsageError, match="answers with one label per text"):
        _ = prepare(Sources(train=several), one_label).model
    for setting, value in (("loss", "focal"), ("loss", "bce-on-probabilities"), ("resample", "balanced")):
        with pytest.raises(
            UsageError, match=f"training.{setting} = '{value}' is made for one label per text, not for sev"
        ):
            prepare(Sources(train=several), recipe(**{setting: value}))
    with pytest.raises(UsageError, match="at least two classes"):
        prepare(Sources(train=table(["a", "b"], ["x", "x"])), recipe())


def language_recipe() -> PretrainingRecipe:
    settings = QUICK | {"model.d_model": 16, "model.n_layers": 1, "model.n_heads": 2, "model.d_ff": 24,
                        "model.max_seq_len": 24, "tokenizer.vocab_size": 300}  # fmt: skip
    return load_pretraining_recipe(overrides=settings)


def test_stages_in_memory_are_those_through_folders(tmp_path: Path) -> None:
    """Pre-train on the training rows of a split, then classify: no held-out row is ever read."""
    rows = recipe()
    split = prepare(sources(), rows).splits

    def texts() -> Documents:
        return Documents(texts=split.train.frame["text"], source="the training rows")

    in_memory = pretrain(texts(), language_recipe())
    pretrain(texts(), language_recipe(), out=tmp_path / "lm")
    starts = InitialWeights.of(in_memory), read_initial_weights(str(tmp_path / "lm"))
    trained, listeners = [], [Memory(), Memory()]
    for init, listener in zip(starts, listeners, strict=True):
        settings = QUICK | {"training.epochs": 2, "validation.fraction": rows.validation.fraction}
        chosen = load_recipe(overrides=settings, init=init)
        trained.append(train_model(sources(), chosen, init=init, observer=listener))
    assert same_weights(*trained)
    assert trained[0].metrics["history"][-1]["train_loss"] == trained[1].metrics["history"][-1]["train_loss"]
    assert listeners[0].messages[0] == "weights: a model in memory, with a new head for these labels"
    memory, folder = (model.config.init for model in trained)
    assert memory is not None
    assert folder is not None
    assert memory["fingerprint"] == folder["fingerprint"]
    assert memory["from"] == "a model in memory"
    assert fingerprint(split.train) == trained[0].config.data["fingerprint"]


def test_a_classifier_in_memory_is_gone_on_with(tmp_path: Path) -> None:
    first = train_model(sources(), recipe(epochs=1), out=tmp_path / "first")
    starts = InitialWeights.of(first, "the first"), read_initial_weights(str(tmp_path / "first"))
    after = [train_model(sources(), load_recipe(overrides=QUICK, init=init), init=init) for init in starts]
    assert same_weights(*after)
    assert not same_weights(first, after[0])


@pytest.mark.parametrize(
    ("settings", "epochs"),
    [
        ({}, 4),  # 3 steps each
        ({"training.enough_steps": 9}, 3),
        ({"training.enough_steps": 7}, 3),
        ({"training.enough_steps": 1}, 1),
        ({"training.enough_steps": 1, "training.epochs": 2}, 1),
        ({"training.epochs": 6}, 6),
    ],
)
def test_a_large_table_is_trained_for_fewer_epochs(settings: dict[str, int], epochs: int) -> None:
    few = {"training.min_steps_per_epoch": 1, "training.batch_size": 30, "validation.min_rows": 0}
    chosen = load_recipe(overrides=few | settings)
    prepared = prepare(Sources(train=opinions(100)), chosen)
    assert prepared.training.epochs == epochs
    assert prepared.recipe == chosen


def test_all_epochs_that_are_asked_for_are_trained() -> None:
    assert load_recipe(overrides={"training.epochs": 2}).training.enough_steps is None
    assert load_recipe(overrides={"training.epochs": 2, "training.enough_steps": 5}).training.enough_steps == 5
    assert load_recipe("polarity").training.enough_steps is None
