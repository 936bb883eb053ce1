import json
import pickle
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from glassformer import TextRegressor
from glassformer.data.checksums import load_arrays, save_arrays
from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig
from glassformer.data.tokenizers import START_ID
from glassformer.errors import UsageError
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.labels.target import labels_of
from glassformer.tracing.snapshot import take
from glassformer.tracing.time_lapse import TimeLapse
from glassformer.training.loop import InterruptedTraining
from glassformer.training.recipe import Recipe, load_recipe
from glassformer.training.run import train_model
from glassformer.training.snapshots import Snapshots
from tests.training.samples import Memory, opinions, recipe, table

SOURCES = Sources(train=opinions(60))
TEXTS: list[str] = SOURCES.train.frame["text"].to_list()


def run(
    settings: Recipe | None = None, number: int = 5, sources: Sources = SOURCES, **more: Any
) -> tuple[TrainedModel, TimeLapse]:
    snapshots = Snapshots(number)
    trained = train_model(sources, settings or recipe(epochs=4), snapshots=snapshots, **more)
    assert snapshots.time_lapse is not None
    return trained, snapshots.time_lapse


def folded(**training: Any) -> Recipe:
    """A recipe that cross-fits: it holds out no rows."""
    return recipe(**training).model_copy(update={"validation": ValidationConfig(fraction=0.2, min_rows=200)})


def test_a_number_and_rows_of_several_inputs_are_watched(tmp_path: Path) -> None:
    rows = [{"a": f"{text} here", "b": text, "shop": "Ulm" if n % 2 else "Rom"} for n, text in enumerate(TEXTS)]
    numbers = [100 + 7.0 * len(text) for text in TEXTS]
    settings = {"training.min_steps_per_epoch": 4, "model.counting": "none", "validation.min_rows": 10}
    regressor = TextRegressor(
        "tiny", epochs=3, learning_rate=1e-2, text=["a", "b"], columns="shop", settings=settings, snapshots=4
    ).fit(rows, numbers)
    lapse = regressor.time_lapse_
    assert lapse is not None
    lapse.save(regressor.save(tmp_path / "m"))
    found = load_file(tmp_path / "m" / "snapshots" / "snapshots.safetensors")["numbers"]
    shown = json.loads((tmp_path / "m" / "snapshots" / "snapshots.json").read_text())
    assert shown["target"] == "number"
    trained = regressor.predictor_.trained
    last = np.array([each.logits[:, 0] for each in lapse.snapshots])[-1]
    np.testing.assert_allclose(found[-1][:, 0], trained.config.target.values({"transformer": last[:, None]}), rtol=0.2)
    assert np.abs(found[0] - np.mean(numbers)).max() < 5, "an untrained head answers with the mean"
    assert [float(text["labels"][0]) for text in shown["texts"]] == [
        numbers[text["row"] - 1] for text in shown["texts"]
    ]
    losses = [each.losses["held-out rows"] for each in lapse.snapshots]
    assert losses[-1] < losses[0]
    tokens = shown["texts"][0]["tokens"]
    assert "(next text)" in tokens
    assert {"shop=Ulm", "shop=Rom"} & set(tokens)
    pickle.loads(pickle.dumps(lapse))


def test_training_is_the_same_with_and_without_snapshots() -> None:
    without = train_model(SOURCES, recipe(epochs=4, token_dropout=0.3))
    taken, _ = run(recipe(epochs=4, token_dropout=0.3))
    weights = taken.model.state_dict()
    for name, tensor in without.model.state_dict().items():
        assert torch.equal(tensor, weights[name]), name
    assert labels_of(taken.config.target).temperature == labels_of(without.config.target).temperature


def test_snapshots_are_spread_over_the_steps_and_closer_at_the_start() -> None:
    trained, lapse = run(recipe(epochs=4), number=5)
    steps = [snapshot.step for snapshot in lapse.snapshots]
    last = trained.metrics["history"][-1]["step"]
    assert steps[0] == 0
    assert steps[-1] == last
    assert len(steps) == 5
    gaps = np.diff(steps)
    assert all(np.diff(gaps) > 0)
    assert lapse.kept_step == trained.metrics["best"]["step"]


def test_the_last_snapshot_is_what_the_model_does() -> None:
    trained, lapse = run(folded(max_steps=12))  # without held-out rows, the last weights are kept
    last, rows = lapse.snapshots[-1], list(lapse.subject.words.values())
    assert last.step == lapse.kept_step == 12
    np.testing.assert_array_equal(last.embeddings, trained.model.state_dict()["trunk.embedding.weight"].numpy()[rows])
    with torch.no_grad():
        for text, logits in zip(lapse.subject.texts, last.logits, strict=True):
            ids = torch.tensor([[START_ID, *text.token_ids.tolist()]])
            expected = trained.model(ids, torch.ones_like(ids, dtype=torch.bool))[0]
            np.testing.assert_allclose(logits, expected.numpy(), atol=1e-5)
    assert lapse.snapshots[0].losses["training rows"] == pytest.approx(np.log(2))  # the head starts at zero
    for text, maps in zip(lapse.subject.texts, last.attention, strict=True):
        size = len(text.token_ids) + 1
        assert maps.shape == (1, 2, size, size)
        np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)
        assert len(text.tokens) == size


def test_the_texts_are_held_out_rows_of_each_label() -> None:
    _, lapse = run()
    subject = lapse.subject
    assert subject.held_out
    assert [text.labels for text in subject.texts] in ([("bad",), ("good",)] * 2, [("good",), ("bad",)] * 2)
    originals = SOURCES.train.frame
    for text in subject.texts:
        assert not text.cut
        original = originals["text"][text.row - 1]
        assert " ".join(text.tokens[1:]) == original
        assert (originals["label"][text.row - 1],) == text.labels
    assert set(subject.samples) == {"training rows", "held-out rows"}
    assert "the" in subject.words
    assert not any(word.isdigit() for word in subject.words)


def test_without_held_out_rows_the_texts_are_training_rows() -> None:
    _, lapse = run(folded(epochs=1))
    assert not lapse.subject.held_out
    assert set(lapse.subject.samples) == {"training rows"}
    assert lapse.snapshots[0].step == 0


def test_long_texts_are_cut_and_several_labels_are_shown() -> None:
    long = [f"{'so very ' * 20}{word} {number}" for number, word in enumerate(["good", "bad", "odd", "sad"] * 10)]
    labels = [[["a"], ["b"], ["a", "b"], []][number % 4] for number in range(40)]
    _, lapse = run(recipe(epochs=1), sources=Sources(train=table(long, labels)))
    assert all(text.cut and len(text.tokens) == 24 for text in lapse.subject.texts)  # the window of the model
    assert {text.labels for text in lapse.subject.texts} <= {("a",), ("b",), ("a", "b"), ()}
    assert lapse.subject.multilabel


@pytest.mark.parametrize("step", [1, 9, 13])
def test_a_resumed_run_keeps_its_snapshots(step: int, tmp_path: Path) -> None:
    run(out=tmp_path / "whole")
    stop = Memory(lambda done: signal.raise_signal(signal.SIGINT) if done == step else None)
    with pytest.raises(InterruptedTraining):
        run(out=tmp_path / "stopped", observer=stop)
    assert not (tmp_path / "stopped" / "snapshots").exists()
    run(out=tmp_path / "stopped", resume=True)
    folders = [tmp_path / name / "snapshots" for name in ("whole", "stopped")]
    assert {file.name for file in folders[0].iterdir()} == {
        "snapshots.json",
        "snapshots.safetensors",
        "time-lapse.html",
    }
    assert not (tmp_path / "stopped" / CHECKPOINT_FOLDER).exists()
    for name in ("snapshots.json", "time-lapse.html"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
    whole, resumed = (load_file(folder / "snapshots.safetensors") for folder in folders)
    assert whole.keys() == resumed.keys() == {"points", "probabilities", *(f"attention.{text}" for text in range(4))}
    assert all(np.array_equal(values, resumed[name]) for name, values in whole.items())


def test_a_resumed_run_reads_its_snapshots_and_takes_none_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Memory(lambda done: signal.raise_signal(signal.SIGINT) if done == 9 else None)
    with pytest.raises(InterruptedTraining):
        run(out=tmp_path / "m", observer=stop)
    taken: list[int] = []

    def counted(*arguments: Any, **settings: Any) -> Any:
        taken.append(settings["step"])
        return take(*arguments, **settings)

    monkeypatch.setattr("glassformer.training.snapshots.take", counted)
    _, lapse = run(out=tmp_path / "m", resume=True)
    steps = [snapshot.step for snapshot in lapse.snapshots]
    assert len(steps) == 5
    assert taken == [0, *(step for step in steps if step > 9)], "the first one says what the others must be like"


NONSENSE: dict[str, Callable[[Any], object]] = {
    "a number is missing": lambda kept: kept.said[1].pop("done"),
    "another number": lambda kept: kept.said[1].update(logits=3),
    "an array is missing": lambda kept: kept.arrays.pop("1.logits"),
    "another shape": lambda kept: kept.arrays.update({"1.embeddings": np.zeros((2, 3), np.float32)}),
    "another type": lambda kept: kept.arrays.update({"1.logits": np.zeros(kept.arrays["1.logits"].shape, np.int64)}),
    "not a number": lambda kept: kept.arrays["1.attention.0"].fill(np.nan),
    "a share below 0": lambda kept: kept.said[1].update(done=-1.0),
    "a share that is no number": lambda kept: kept.said[1].update(done="half"),
    "steps out of order": lambda kept: kept.said[0].update(step=10**6),
    "a step that is no number": lambda kept: kept.said[1].update(step=[1]),
    "losses that are no numbers": lambda kept: kept.said[1].update(losses=["none"]),
    "another loss": lambda kept: kept.said[1]["losses"].update(other=1.0),
}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with snapshots that was stopped."""
    out = tmp_path_factory.mktemp("stopped") / "m"
    stop = Memory(lambda done: signal.raise_signal(signal.SIGINT) if done == 9 else None)
    with pytest.raises(InterruptedTraining):
        run(out=out, observer=stop)
    return out


@pytest.mark.parametrize("name", NONSENSE)
def test_kept_snapshots_that_are_nonsense_are_taken_anew(name: str, stopped: Path, tmp_path: Path) -> None:
    out = shutil.copytree(stopped, tmp_path / "m")
    file = out / CHECKPOINT_FOLDER / "snapshots.safetensors"
    read = load_arrays(file)
    assert read is not None
    kept = SimpleNamespace(arrays={key: array.copy() for key, array in read[0].items()}, said=read[1])
    NONSENSE[name](kept)
    save_arrays(file, kept.arrays, kept.said)
    _, lapse = run(out=out, resume=True)
    steps = [snapshot.step for snapshot in lapse.snapshots]
    assert steps[0] == 0
    assert steps[1] > 9


def test_a_model_that_replaces_another_takes_its_snapshots_away(tmp_path: Path) -> None:
    run(out=tmp_path / "m")
    assert json.loads((tmp_path / "m" / "snapshots" / "snapshots.json").read_text("utf-8"))["held_out"]
    train_model(SOURCES, recipe(epochs=1), out=tmp_path / "m", overwrite=True)
    assert not (tmp_path / "m" / "snapshots").exists()


@pytest.mark.parametrize("number", [1, 101, 2.5, True])
def test_a_number_that_cannot_be(number: Any) -> None:
    with pytest.raises(UsageError, match="whole number from 2 to 100"):
        Snapshots(number)


def test_without_a_transformer_there_is_nothing_to_show(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="trains none"):
        run(load_recipe(overrides={"training.epochs": 0}), out=tmp_path / "m")
    assert not (tmp_path / "m" / "config.json").exists()


def design(name: str) -> Recipe:
    return load_recipe(overrides={"model.design": name, "training.epochs": 1, "training.min_steps_per_epoch": 1})


@pytest.mark.parametrize("name", ["vinh-mlp", "vinh-transformer"])
def test_a_design_that_shows_no_attention_shows_its_embeddings(name: str) -> None:
    _, lapse = run(design(name))
    assert all(snapshot.attention == () for snapshot in lapse.snapshots)
    assert lapse.points.shape == (len(lapse.snapshots), len(lapse.subject.words), 2)


def test_a_design_with_nothing_to_show_is_refused() -> None:
    with pytest.raises(UsageError, match="BuiDangRows has neither learned embeddings nor attention weights"):
        run(design("bui-dang-rows"))
