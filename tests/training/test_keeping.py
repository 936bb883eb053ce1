import json
import pickle
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from glassformer import TextClassifier
from glassformer.data.sources import Sources
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.published.vinh import VinhMLPConfig
from glassformer.prediction.folder_names import TEXTS_FILE, VECTORS_FILE
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.prediction.nearest import NearestSearch
from glassformer.training.card import model_card
from glassformer.training.loop import InterruptedTraining
from glassformer.training.recipe import Recipe
from glassformer.training.run import train_model
from tests.training.samples import SMALL, Memory, config, opinions, recipe, table

train_number = partial(train_model, family="number")

SOURCES = Sources(train=opinions(60))
TEXTS: list[str] = SOURCES.train.frame["text"].to_list()


def held_by(folder: Path) -> list[str]:
    """The training texts that some file of the folder holds."""
    contents = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return [text for text in TEXTS if any(text.encode() in content for content in contents)]


def test_by_default_no_file_of_the_folder_holds_a_training_text(tmp_path: Path) -> None:
    trained = train_model(SOURCES, recipe(epochs=1), out=tmp_path)
    assert held_by(tmp_path) == []
    assert trained.kept is None
    assert TEXTS_FILE not in model_card(trained)


def test_training_rows_are_kept_and_validation_rows_are_not(tmp_path: Path) -> None:
    memory = Memory()
    train_model(SOURCES, recipe(epochs=1), out=tmp_path, keep_texts=True, observer=memory)
    assert "keeping the training texts: whoever has the model can read them" in memory.messages
    trained = load_model(tmp_path, CLASSIFIER)
    assert trained.kept is not None
    kept = trained.kept()
    assert len(kept.texts) == 48
    assert held_by(tmp_path) == list(kept.texts)
    labels = SOURCES.train.frame["label"].to_list()
    for row, text, label in zip(kept.rows, kept.texts, kept.labels, strict=True):
        assert (text, label) == (TEXTS[row - 1], labels[row - 1])
    assert NearestSearch(trained).nearest(kept.texts[5], count=5).itself[0].row == kept.rows[5]
    assert f"`{TEXTS_FILE}`): whoever has it can read them." in (tmp_path / "README.md").read_text("utf-8")


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("epochs", [0, 1])
def test_every_kind_of_model_keeps_them(multilabel: bool, epochs: int, tmp_path: Path) -> None:
    rows = SOURCES.train
    if multilabel:
        rows = table(TEXTS, [[label] if number % 3 else [] for number, label in enumerate(rows.frame["label"])])
    model = SMALL.model_copy(update={"counting": "auto"})
    asked = Recipe(model=model, training=config(epochs=epochs))
    train_model(Sources(train=rows), asked, out=tmp_path, keep_texts=True)
    trained = load_model(tmp_path, CLASSIFIER)
    assert (tmp_path / VECTORS_FILE).exists() is not trained.config.answers_by_counting
    found = NearestSearch(trained).nearest(f"{TEXTS[0]} 7", count=3)
    assert len(found.texts) == 3
    assert found.by == ("counting" if trained.config.answers_by_counting else "transformer")


@pytest.mark.parametrize("counting", ["auto", "none"])
def test_a_model_of_a_number_keeps_its_texts(counting: str, tmp_path: Path) -> None:
    numbers = [float(len(text)) / 3 for text in TEXTS]
    model = SMALL.model_copy(update={"counting": counting})
    rows = table(TEXTS, [str(number) for number in numbers])
    train_number(Sources(train=rows), Recipe(model=model, training=config(epochs=1)), out=tmp_path, keep_texts=True)
    assert f"`{TEXTS_FILE}`): whoever has it can read them." in (tmp_path / "README.md").read_text("utf-8")
    found = NearestSearch(load_model(tmp_path, CLASSIFIER)).nearest(f"{TEXTS[0]} 7", count=3)
    assert len(found.texts) == 3
    assert [near.label for near in found.texts] == [numbers[near.row - 1] for near in found.texts]
    lines = (tmp_path / TEXTS_FILE).read_text().splitlines(keepends=True)
    first = json.loads(lines[0]) | {"label": "long"}
    (tmp_path / TEXTS_FILE).write_text("".join([json.dumps(first) + "\n", *lines[1:]]))
    with pytest.raises(GlassformerError, match=r"training-texts\.jsonl does not match config\.json"):
        NearestSearch(load_model(tmp_path, CLASSIFIER))


def test_rows_of_several_inputs_are_shown_as_people_read_them() -> None:
    rows = [{"a": text, "b": text[::-1], "shop": "Ulm" if n % 2 else "Rom"} for n, text in enumerate(TEXTS)]
    settings = {"training.min_steps_per_epoch": 3, "model.counting": "none"}
    classifier = TextClassifier(
        "tiny", epochs=1, text=["a", "b"], columns="shop", settings=settings, keep_texts=True
    ).fit(rows, [n % 2 for n in range(len(rows))])
    found = classifier.explain(rows[3], nearest=True).nearest
    assert found is not None
    assert [near.text for near in found.itself] == [f"{TEXTS[3]} | {TEXTS[3][::-1]} [shop=Ulm]"]
    assert [near.label for near in found.itself] == [1]
    assert len(found.texts) == 5


def test_answers_are_the_same_with_and_without(tmp_path: Path) -> None:
    for name, keep in (("with", True), ("without", False)):
        train_model(SOURCES, recipe(epochs=1), out=tmp_path / name, keep_texts=keep)
    for file in ("model.safetensors", "tokenizer.json"):
        assert (tmp_path / "with" / file).read_bytes() == (tmp_path / "without" / file).read_bytes()


def test_a_model_in_memory_can_be_copied() -> None:
    trained = train_model(SOURCES, recipe(epochs=1), keep_texts=True)
    assert trained.kept is not None
    assert pickle.loads(pickle.dumps(trained.kept))().texts == trained.kept().texts


def test_a_resumed_run_keeps_them(tmp_path: Path) -> None:
    stop = Memory(lambda done: signal.raise_signal(signal.SIGINT) if done == 3 else None)
    asked: dict[str, Any] = {"out": tmp_path, "keep_texts": True}
    with pytest.raises(InterruptedTraining):
        train_model(SOURCES, recipe(), observer=stop, **asked)
    assert not (tmp_path / TEXTS_FILE).exists()
    trained = train_model(SOURCES, recipe(), resume=True, **asked)
    assert trained.kept is not None
    assert len(trained.kept().texts) == 48


def test_a_design_without_vectors_is_refused_before_it_is_trained(tmp_path: Path) -> None:
    asked = Recipe(model=VinhMLPConfig(), training=config(epochs=1))
    with pytest.raises(UsageError, match="the design VinhMLP makes no vector of a text"):
        train_model(SOURCES, asked, out=tmp_path / "m", keep_texts=True)
    assert not (tmp_path / "m" / "config.json").exists()
