"""`TextClassifier.add`: more rows later, also with new labels."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from glassformer import TextClassifier, TextRegressor
from glassformer.errors import UsageError
from tests.cli.terminal import QUICK, glassformer
from tests.estimators.samples import ALONE, LISTS, TEXTS, small

LABELS = ["p", "n"] * 12
NEW = ["middling film", "so-so film"] * 4
HOLDING_OUT = ALONE | {"validation.min_rows": 10, "validation.fraction": 0.25}
"""Rows are held out, so the weights are kept: otherwise training begins anew."""


def numbered(texts: list[str]) -> list[str]:
    return [f"{text} {number}" for number, text in enumerate(texts)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that the command line trained."""
    place = tmp_path_factory.mktemp("trained")
    pl.DataFrame({"review": numbered(TEXTS * 2), "label": LABELS * 2}).write_csv(place / "a.csv")
    settings = [part for name, value in HOLDING_OUT.items() for part in ("--set", f"{name}={value}")]
    said = glassformer("train", place / "a.csv", "--out", place / "model", *QUICK, *settings)
    assert said.code == 0, said.err
    return place / "model"


def test_a_new_label_is_learned_from_the_weights() -> None:
    classifier = small(epochs=6, learning_rate=1e-2, settings=HOLDING_OUT).fit(numbered(TEXTS), LABELS)
    before = classifier.predictor_.trained
    assert classifier.add(numbered(NEW), ["m"] * 8) is classifier
    after = classifier.predictor_.trained
    assert classifier.classes_.tolist() == ["m", "n", "p"]
    assert after.config.init is not None
    assert after.config.init["from"] == "this model"
    assert after.tokenizer.to_json() == before.tokenizer.to_json()
    assert after.config.data["rows"] + after.config.data["validation_rows"] == 32
    assert classifier.score(numbered(TEXTS), LABELS) > 0.9
    # and again, with one row of a label that is known
    classifier.set_params(epochs=1).add(["quite new film"], ["m"], replay=0.5)
    assert len(classifier.history_) == 1
    assert classifier.predictor_.trained.config.data["rows"] + after.config.data["validation_rows"] == 33


def test_without_held_out_rows_training_begins_anew() -> None:
    classifier = small(epochs=1).fit(TEXTS, [1, 0] * 12).add(NEW, [2] * 8)
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert classifier.predictor_.trained.config.init is None
    with pytest.raises(UsageError, match=r"`replay=0.5`: this model held out no rows"):
        classifier.add(["another film"], [2], replay=0.5)


def test_several_labels_grow() -> None:
    matrix = np.array([[int(label in given) for label in "ba"] for given in LISTS])
    classifier = small(epochs=1).fit(TEXTS, pl.DataFrame(matrix, schema=["b", "a"]))
    classifier.add(NEW, [["c"], ["a", "c"]] * 4)
    assert classifier.classes_.tolist() == ["b", "a", "c"]
    assert classifier.predict(NEW).shape == (8, 3)


@pytest.mark.parametrize("head", ["classes", "ordered"])
def test_ordered_classes_grow_where_their_order_says(head: str) -> None:
    settings = HOLDING_OUT | {"model.head": head}
    classifier = small(epochs=1, order=["n", "p"], settings=settings).fit(numbered(TEXTS), LABELS)
    classifier.add(["a good new film", "a bad new film"], ["p", "n"])
    assert classifier.predictor_.trained.config.target.ordered
    assert classifier.predictor_.trained.config.init is not None
    with pytest.raises(UsageError, match=r"`order=` lacks the label 'm' \(texts\[0\]\); it names \['n', 'p'\]"):
        classifier.add(numbered(NEW), ["m"] * 8)
    classifier.set_params(order=["n", "m", "p"]).add(numbered(NEW), ["m"] * 8)
    config = classifier.predictor_.trained.config
    assert (config.target.ordered, config.target.labels) == (True, ("n", "m", "p"))
    assert config.data["rows"] + config.data["validation_rows"] == 34
    classifier.set_params(order=["m", "p"])
    with pytest.raises(UsageError, match="`order=` lacks the label 'n'"):
        classifier.add(["one more film"], ["m"])


@pytest.mark.parametrize("counting", ["auto", "none"])
def test_a_regressor_learns_more_numbers(counting: str, tmp_path: Path) -> None:
    numbers, settings = [float(len(text) % 5) for text in numbered(TEXTS)], HOLDING_OUT | {"model.counting": counting}
    regressor = TextRegressor("tiny", epochs=1, settings=settings).fit(numbered(TEXTS), numbers)
    before = regressor.predictor_.trained.config
    regressor.add(numbered(NEW), [9.5] * 8, replay=0.5)
    config = regressor.predictor_.trained.config
    assert config.data["rows"] + config.data["validation_rows"] == 32
    assert config.init == {"from": "this model", "fingerprint": config.init["fingerprint"]} if config.init else None
    assert config.target.scale.highest == 9.5 > before.target.scale.highest
    with pytest.raises(UsageError, match="8 texts but 1 number"):
        regressor.add(NEW, [1.0])
    with pytest.raises(UsageError, match="learned rows in memory"):
        TextRegressor.load(regressor.save(tmp_path / "m")).add(NEW, [1.0] * 8)


def test_a_head_of_numbers_goes_on() -> None:
    numbers = [float(number % 3) for number in range(24)]
    regressor = TextRegressor("tiny", epochs=3, settings=HOLDING_OUT).fit(numbered(TEXTS), numbers)
    before = regressor.predictor_.trained.model.state_dict()
    regressor.set_params(epochs=1, learning_rate=1e-9).add(["one more film"], [2.0])
    after = regressor.predictor_.trained.model.state_dict()
    assert all(np.allclose(before[name], after[name], atol=1e-5) for name in before)


def test_the_table_of_a_loaded_classifier_is_read_again(folder: Path) -> None:
    loaded = TextClassifier.load(folder)
    loaded.add(pl.DataFrame({"id": range(8), "review": numbered(NEW)}), ["m"] * 8)
    assert loaded.classes_.tolist() == ["m", "n", "p"]
    data = loaded.predictor_.trained.config.data
    assert data["rows"] + data["validation_rows"] == 56
    (folder.parent / "a.csv").rename(folder.parent / "b.csv")
    with pytest.raises(UsageError, match=r"The training rows cannot be read"):
        TextClassifier.load(folder).add(["x"], ["p"])


def test_rows_of_several_inputs_are_read_as_before() -> None:
    frame = pl.DataFrame({"a": numbered(TEXTS), "b": TEXTS, "shop": ["Ulm", "Rom", "Ulm"] * 8})
    classifier = small(epochs=1, text=["a", "b"], columns="shop", settings=HOLDING_OUT).fit(frame, LABELS)
    before = classifier.predictor_.trained
    more = [{"a": text, "b": text, "shop": "Wien"} for text in numbered(NEW)]
    classifier.add(more, ["m"] * 8)
    after = classifier.predictor_.trained
    assert after.config.inputs == before.config.inputs
    assert after.tokenizer.to_json() == before.tokenizer.to_json()
    assert classifier.predict_proba(more).shape == (8, 3)
    with pytest.raises(UsageError, match=r"rows\[0\] has no 'b'; this model reads the texts 'a' and 'b'"):
        classifier.add([{"a": "x"}], ["m"])


def test_rows_in_memory_are_not_saved(tmp_path: Path) -> None:
    classifier = small(epochs=1).fit([f"{text} secret" for text in TEXTS], LABELS)
    again = pickle.loads(pickle.dumps(classifier))
    for ours in (TextClassifier.load(classifier.save(tmp_path / "m")), again):
        with pytest.raises(UsageError, match=r"learned rows in memory, which its folder does not hold"):
            ours.add(NEW, ["m"] * 8)
    assert TEXTS[0].encode() + b" secret" not in pickle.dumps(classifier)


@pytest.mark.parametrize("held_out", [True, False])
def test_unlabelled_texts_are_read_again_by_what_is_learned_again(held_out: bool) -> None:
    unlabelled = ["a good new film", "one more strange film"]
    quick = {"pretraining.min_steps_per_epoch": 4, "model.max_seq_len": 16}
    settings = (HOLDING_OUT if held_out else ALONE) | quick
    pretrained = small(epochs=1, pretrain="0.2s", unlabelled=unlabelled, settings=settings).fit(numbered(TEXTS), LABELS)
    data = pretrained.add(numbered(NEW), ["m"] * 8).predictor_.trained.config.data
    assert data.get("pretraining", {}).get("unlabelled_texts") == (None if held_out else 2), "the weights are kept"
    own = {"model.body": "own"} | (HOLDING_OUT if held_out else ALONE)
    with_body = small(epochs=1, unlabelled=unlabelled, settings=own).fit(numbered(TEXTS), LABELS)
    before = with_body.predictor_.trained.config.data["body"]
    after = with_body.add(numbered(NEW), ["m"] * 8).predictor_.trained.config.data["body"]
    assert (before["unlabelled_texts"], after["unlabelled_texts"]) == (2, 2)
    assert after["texts"] > before["texts"]


@pytest.mark.parametrize(
    ("texts", "labels", "replay", "words"),
    [
        (NEW, ["m"] * 7, 1, "8 texts but 7 labels"),
        (NEW[:1], ["m"], 1, "a single row"),
        (NEW, ["m"] * 8, 2, "`replay=2`: give a share from 0 to 1"),
        (NEW, [7] * 8, 1, r"the labels are of several types \(int, str\)"),
        (NEW, [["m"]] * 8, 1, r"labels\[0\] is \['m'\], and this model gives one label"),
        ([" "], ["m"], 1, "there is no text to add"),
        (TEXTS, LABELS, 1, "no row is left to learn from"),
        ([7], ["m"], 1, r"texts\[0\] is 7"),
    ],
)
def test_rows_that_cannot_be_added(texts: Any, labels: Any, replay: float, words: str, fixed: TextClassifier) -> None:
    before = fixed.predictor_
    with pytest.raises(UsageError, match=words):
        fixed.add(texts, labels, replay=replay)
    assert fixed.predictor_ is before


@pytest.fixture(scope="module")
def fixed() -> TextClassifier:
    return small(epochs=1).fit(TEXTS, LABELS)


def test_models_that_cannot_grow() -> None:
    with pytest.raises(NotFittedError):
        small().add(NEW, ["m"] * 8)
    weighed = small(epochs=1).fit(TEXTS, LABELS, sample_weight=np.ones(24))
    with pytest.raises(UsageError, match="learned rows with weights"):
        weighed.add(NEW, ["m"] * 8)
