import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from glassformer import TextClassifier
from glassformer.data.sources import SourceConfig, read_sources
from glassformer.data.table import read_table
from glassformer.errors import GlassformerError, InputError, UsageError
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model
from tests.estimators.samples import BINARY, BOTH, LISTS, TEXTS, small
from tests.support import NAType, whole_cross_fitting


@pytest.fixture(scope="module")
def fitted() -> TextClassifier:
    with whole_cross_fitting():
        return small(learning_rate=1e-2, epochs=4, settings=BOTH).fit(TEXTS, BINARY)


@pytest.fixture(scope="module")
def alone() -> TextClassifier:
    """A transformer without a counting reader."""
    return small(learning_rate=1e-2, epochs=4).fit(TEXTS, BINARY)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([1, 0] * 12, [0, 1]),
        ([10, 9] * 12, [9, 10]),
        ([-1, 1] * 12, [-1, 1]),
        (["p", "n"] * 12, ["n", "p"]),
        (["", "n n, n"] * 12, ["", "n n, n"]),
        ([True, False] * 12, [False, True]),
        ([0.5, 10.0] * 12, [0.5, 10.0]),
        (np.array([7, 3] * 12), [3, 7]),
        (np.array(["p", "n"] * 12), ["n", "p"]),
        (np.array([True, False] * 12), [False, True]),
        (np.array(["p", "n"] * 12, dtype=object), ["n", "p"]),
        (pl.Series([5, 4] * 12), [4, 5]),
    ],
)
def test_labels_keep_their_type(labels: Any, classes: list[Any], tmp_path: Path) -> None:
    classifier = small().fit(TEXTS, labels)
    for ours in (classifier, TextClassifier.load(classifier.save(tmp_path / "model"))):
        assert ours.classes_.tolist() == np.unique(classes).tolist() == classes
        assert [type(label) for label in ours.classes_.tolist()] == [type(label) for label in classes]
        predicted = ours.predict(TEXTS)
        assert predicted.dtype == ours.classes_.dtype
        assert set(predicted.tolist()) <= set(classes)


@pytest.mark.parametrize("missing", [None, float("nan"), NAType()])
def test_texts_without_a_label_are_unlabelled_texts(missing: Any) -> None:
    with_body = {"model.counting": "tfidf", "model.body": "english", "training.epochs": 0}
    with pytest.warns(UserWarning, match=r"4 rows were left out of training: no label \(first: texts\[24\]\)"):
        found = small(settings=with_body).fit([*TEXTS, *(f"a new film {n}" for n in "abcd")], [*BINARY, *[missing] * 4])
    assert found.classes_.tolist() == [0, 1]
    assert found.predictor_.trained.config.data["body"]["unlabelled_texts"] == 4


def test_classes_are_sorted_as_scikit_learn_sorts_them() -> None:
    """By code point, where the labels are numbers written as text: the scorers take columns to be in this order."""
    scores = cross_val_score(small(epochs=6, learning_rate=1e-2), TEXTS, ["10", "9"] * 12, scoring="roc_auc", cv=2)
    assert scores.min() > 0.9


def test_a_table_of_whole_floats_has_the_same_labels(tmp_path: Path) -> None:
    trained = small().fit(TEXTS, [1.0, 0.0] * 12).predictor_.trained
    path = tmp_path / "a.csv"
    pl.DataFrame({"text": TEXTS, "label": [1.0, 0.0] * 12}).write_csv(path)
    assert trained.config.label_set.encode(read_table(path)).tolist() == [1, 0] * 12


def test_predictions_are_the_likeliest_classes(fitted: TextClassifier) -> None:
    probabilities = fitted.predict_proba(TEXTS)
    assert probabilities.shape == (24, 2)
    assert probabilities.dtype == np.float64
    assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert (fitted.predict(TEXTS) == fitted.classes_[probabilities.argmax(axis=1)]).all()
    assert fitted.score(TEXTS, BINARY) == 1.0
    assert [row["epoch"] for row in fitted.history_] == [1, 2, 3, 4]


@pytest.mark.parametrize("container", [tuple, np.array, lambda texts: np.array(texts, dtype=object), pl.Series])
def test_texts_come_in_any_sequence(container: Callable[[list[Any]], Any], alone: TextClassifier) -> None:
    again = small(learning_rate=1e-2, epochs=4).fit(container(TEXTS), container(BINARY))
    assert np.array_equal(again.predict_proba(container(TEXTS)), alone.predict_proba(TEXTS))


def test_save_and_load_answer_the_same_bit_for_bit(fitted: TextClassifier, tmp_path: Path) -> None:
    texts = [*TEXTS, "good " * 900, "电影 😀"]
    loaded = TextClassifier.load(fitted.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict_proba(texts), fitted.predict_proba(texts))
    assert loaded.history_ == fitted.history_
    other = small(random_state=3).fit(TEXTS, BINARY)
    other.save(tmp_path / "model", overwrite=True)
    assert np.array_equal(TextClassifier.load(tmp_path / "model").predict_proba(texts), other.predict_proba(texts))


def test_no_texts_and_unknown_words(fitted: TextClassifier) -> None:
    assert fitted.predict([]).shape == (0,)
    assert fitted.predict_proba([]).shape == (0, 2)
    assert fitted.unknown_words(["good zebra", "a zebra"]) == {"zebra": 2, "a": 1}


def test_texts_unlike_the_training_data(fitted: TextClassifier, tmp_path: Path) -> None:
    texts = [TEXTS[0], "quite another matter"]
    assert fitted.unseen_share(texts).tolist() == [0, 1]
    assert fitted.unlike_training(texts).tolist() == [False, True]
    assert TextClassifier.load(fitted.save(tmp_path / "m")).unlike_training(texts).tolist() == [False, True]
    assert fitted.unlike_training([]).shape == (0,)


def test_a_model_without_seen_words_does_not_know_what_is_unlike_its_training_data() -> None:
    forgetful = small(settings={"training.keep_seen_words": False, "training.epochs": 0}).fit(TEXTS, BINARY)
    with pytest.raises(GlassformerError, match="keep_seen_words=false`"):
        forgetful.unlike_training(["a text"])


def test_several_labels_per_text(tmp_path: Path) -> None:
    classifier = small(learning_rate=1e-2, epochs=6, settings=BOTH).fit(TEXTS, LISTS)
    assert classifier.classes_.tolist() == ["a", "b"]
    assert classifier.predict(TEXTS[:4]) == [["a", "b"], ["b"], [], ["a"]]
    loaded = TextClassifier.load(classifier.save(tmp_path / "model"))
    assert loaded.predict(TEXTS[:4]) == classifier.predict(TEXTS[:4])
    numbers = small().fit(TEXTS, [[2, 11], [2], [], [11]] * 6)
    assert numbers.classes_.tolist() == [2, 11]


def test_parameters_round_trip() -> None:
    classifier = small(recipe="quick", learning_rate=3e-3, random_state=5)
    assert TextClassifier(**classifier.get_params()).get_params() == classifier.get_params()
    assert clone(classifier).get_params() == classifier.get_params()
    assert classifier.set_params(epochs=7).epochs == 7


def test_parameters_reach_the_recipe() -> None:
    trained = small(recipe="quick", learning_rate=3e-3, random_state=5, epochs=1).fit(TEXTS, BINARY).predictor_.trained
    training = trained.config.recipe["training"]
    assert (training["learning_rate"], training["seed"], training["epochs"]) == (3e-3, 5, 1)
    assert training["min_steps_per_epoch"] == 4


def test_pipeline() -> None:
    upper = [text.upper() for text in TEXTS]
    settings = {"training.min_steps_per_epoch": 4, "tokenizer.lowercase": False, "model.dropout": 0}
    steps = [("lower", FunctionTransformer(_lower)), ("classify", small(epochs=4, learning_rate=1e-2))]
    pipeline = Pipeline(steps).set_params(classify__settings=settings).fit(TEXTS, BINARY)
    assert pipeline.score(upper, BINARY) == 1.0


def _lower(texts: list[str]) -> list[str]:
    return [text.lower() for text in texts]


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "f1_macro"])
def test_cross_val_score(scoring: str) -> None:
    scores = cross_val_score(small(), np.array(TEXTS), np.array(["p", "n"] * 12), cv=2, scoring=scoring)
    assert np.isfinite(scores).all()


def test_grid_search_over_the_learning_rate() -> None:
    search = GridSearchCV(small(epochs=4), {"learning_rate": [1e-9, 1e-2]}, cv=2, scoring="neg_log_loss")
    search.fit(TEXTS, BINARY)
    assert search.best_params_ == {"learning_rate": 1e-2}
    assert search.predict(TEXTS[:2]).tolist() == [1, 0]


def test_settings_that_do_not_exist() -> None:
    with pytest.raises(UsageError, match=r"did you mean training\.learning_rate"):
        small(settings={"training.learningrate": 1}).fit(TEXTS, BINARY)
    with pytest.raises(UsageError, match="tiny, small, base"):
        small(preset="huge").fit(TEXTS, BINARY)


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ("good", [1, 0, 1, 0], "not one string"),
        (TEXTS, [1, 0], "24 texts but 2 labels; give each text its label"),
        (TEXTS[:2], [1], "2 texts but 1 label; give"),
        (pl.Series([None, *TEXTS[1:]]), BINARY, r"in polars by texts\.fill_null\(''\)"),
        ([None, *TEXTS[1:]], BINARY, r"texts\[0\] is None \(NoneType\).*fillna"),
        ([*TEXTS[:-1], "\ud800"], BINARY, r"texts\[23\] holds half of a surrogate pair"),
        (np.array([TEXTS, TEXTS]).T, BINARY, r"texts are a matrix of shape \(24, 2\)"),
        (
            pl.DataFrame({"a": TEXTS, "b": TEXTS}),
            BINARY,
            r"the frame has the columns \['a', 'b'\]; name the column of the texts, as in `text='review'`",
        ),
        (pl.DataFrame({"date": TEXTS, "remark": TEXTS}), BINARY, r"Or give one column: frame\['remark'\]"),
        (dict.fromkeys(TEXTS), BINARY, "not a dict"),
        (set(TEXTS), BINARY, "not a set"),
        (7, BINARY, "give a list of texts, not 7"),
        ([float("nan"), *TEXTS[1:]], BINARY, r"texts\[0\] is nan \(float\).*fillna"),
        ([NAType(), *TEXTS[1:]], BINARY, r"texts\[0\] is .*\(NAType\).*fillna"),
        (TEXTS, None, "the target y is None"),
        (TEXTS, [float("inf"), 1.0] * 12, "inf"),
        (TEXTS, [1, None] * 12, "there is 1 class, '1'"),
        (TEXTS, [None] * 24, "no text has a label"),
        (TEXTS, [[1], None] * 12, "a list of labels and some a single"),
        (TEXTS, [1, "1"] * 12, "several types"),
        (TEXTS, [1, True] * 12, "several types"),
        (TEXTS, [["a"], "b"] * 12, "a list of labels and some a single"),
        (TEXTS, np.array([[2, 0], [0, 1]] * 12), "matrix"),
        (TEXTS, [1] * 24, "there is 1 class, '1'; a classifier needs at least two classes"),
        (TEXTS, [1] * 23 + [0], "1 class has a single row: '0'; add texts of it"),
        (TEXTS, [number / 7 for number in range(24)], "the labels are a continuous number, learn them with `TextReg"),
        ([], [], "no text has a label"),
    ],
)
def test_data_that_cannot_be_learned_from(texts: Any, labels: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        small().fit(texts, labels)


def test_texts_that_cannot_be_answered(fitted: TextClassifier) -> None:
    for texts in ("good", [None], ["\ud800"]):
        with pytest.raises(UsageError):
            fitted.predict(texts)


def test_labels_that_look_like_several_in_one_string_are_said() -> None:
    labels = ["a|b", "b", "a", "b|a"] * 6
    with pytest.warns(
        UserWarning, match="look like several in one string, with '|' in between; each string is learned"
    ):
        small(epochs=1).fit(TEXTS, labels)


def test_rows_left_out_are_said() -> None:
    with pytest.warns(UserWarning, match=r"2 rows were left out of training: empty text \(first: texts\[24\]\)"):
        small().fit([*TEXTS, "", "  "], [*BINARY, 1, 0])
    with pytest.warns(UserWarning, match="1 row was left out of training: empty text"):
        small().fit([*TEXTS, ""], [*BINARY, 1])


@pytest.mark.parametrize(
    "ask", ["predict", "predict_proba", "unknown_words", "unlike_training", "unseen_share", "save"]
)
def test_an_unfitted_classifier_says_so(ask: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(small(), ask)(TEXTS)


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such model folder"):
        TextClassifier.load(tmp_path / "nosuch")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(GlassformerError, match=r"missing|another program"):
        TextClassifier.load(tmp_path)


def test_it_starts_from_the_weights_of_a_folder(fitted: TextClassifier, tmp_path: Path) -> None:
    folder = fitted.save(tmp_path / "model")
    still = {"training.min_steps_per_epoch": 2, "training.weight_decay": 0}
    begun = TextClassifier(init=str(folder), epochs=1, learning_rate=1e-30, settings=still)
    assert clone(begun).get_params() == begun.get_params()
    begun.fit(TEXTS, BINARY)
    np.testing.assert_allclose(begun.predictor_.logits(TEXTS), fitted.predictor_.logits(TEXTS), rtol=1e-5, atol=1e-6)
    with pytest.raises(UsageError, match="preset 'small' contradicts"):
        TextClassifier("small", init=str(folder)).fit(TEXTS, BINARY)


class Frame:
    """What a frame of pandas looks like to those who ask no more than columns and shape."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = list(columns)
        self.shape = (24, len(columns))
        self._values = columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self._values[name]


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(lambda: pl.DataFrame({"text": TEXTS}), id="polars"),
        pytest.param(lambda: Frame({"text": TEXTS}), id="pandas"),
        pytest.param(lambda: np.array(TEXTS)[:, None], id="column"),
        pytest.param(lambda: (text for text in TEXTS), id="generator"),
    ],
)
def test_a_column_and_a_generator_are_lists_of_texts(texts: Callable[[], Any], alone: TextClassifier) -> None:
    again = small(learning_rate=1e-2, epochs=4).fit(texts(), (label for label in BINARY))
    assert np.array_equal(again.predict_proba(texts()), alone.predict_proba(TEXTS))
    assert again.score(texts(), BINARY) == 1.0


def test_a_frame_of_several_columns_is_not_taken_for_its_names(fitted: TextClassifier) -> None:
    with pytest.raises(ValueError, match=r"the columns \['id', 'body'\]"):
        fitted.predict(Frame({"id": TEXTS, "body": TEXTS}))


def test_labels_in_a_column_are_taken_with_a_warning(alone: TextClassifier) -> None:
    for column in (np.array(BINARY)[:, None], pl.DataFrame({"label": BINARY})):
        with pytest.warns(DataConversionWarning, match="column-vector y"):
            again = small(learning_rate=1e-2, epochs=4).fit(TEXTS, column)
        assert np.array_equal(again.predict_proba(TEXTS), alone.predict_proba(TEXTS))


def test_an_empty_text_is_answered_with_a_warning(fitted: TextClassifier) -> None:
    with pytest.warns(UserWarning, match=r"2 of 3 texts have no word \(first: texts\[1\]\)"):
        probabilities = fitted.predict_proba(["good film", "", " \t"])
    assert np.array_equal(probabilities[1], probabilities[2])
    assert np.isfinite(probabilities).all()
    with pytest.warns(UserWarning, match="1 of 1 text has no word"):
        assert fitted.predict([""])[0] in (0, 1)


def test_nothing_is_said_of_rows_that_are_held_out_by_design() -> None:
    texts = [f"{text} {number % 120}" for number, text in enumerate(TEXTS * 10)] * 2  # every text twice
    classifier = small(epochs=1).fit(texts, BINARY * 20)  # a warning would be an error
    assert classifier.predictor_.trained.config.data["validation_rows"]


def test_class_weight_is_the_recipe_s() -> None:
    weights = [
        small(epochs=1, class_weight=given).fit(TEXTS, BINARY).predictor_.trained.config.recipe["training"]
        for given in ("balanced", {1: 3.0}, None)
    ]
    assert [settings["class_weights"] for settings in weights] == ["balanced", {"0": 1.0, "1": 3.0}, "none"]
    for wrong, message in (({7: 1.0}, "'7', which is not a label"), ("equal", "class_weight is 'equal'")):
        with pytest.raises(ValueError, match=message):
            small(class_weight=wrong).fit(TEXTS, BINARY)


def test_a_weight_of_a_text_counts_as_one_of_its_class() -> None:
    by_class = small(settings=BOTH, class_weight={1: 3.0}).fit(TEXTS, BINARY)
    by_row = small(settings=BOTH).fit(TEXTS, BINARY, sample_weight=[3.0 if label else 1.0 for label in BINARY])
    even = small(settings=BOTH).fit(TEXTS, BINARY, sample_weight=2.0)
    assert np.array_equal(by_row.predict_proba(TEXTS), by_class.predict_proba(TEXTS))
    assert [row["train_loss"] for row in by_row.history_] == [row["train_loss"] for row in by_class.history_]
    plain = small(settings=BOTH).fit(TEXTS, BINARY)
    np.testing.assert_allclose(even.predict_proba(TEXTS), plain.predict_proba(TEXTS), atol=1e-4)
    assert np.abs(np.log(by_row.predict_proba(TEXTS) / plain.predict_proba(TEXTS))).max() > 0.1


def test_weights_count_in_validation_too() -> None:
    texts = [f"{text} {number}" for number, text in enumerate(TEXTS * 10)]
    wrong = [1 - label if number % 7 == 0 else label for number, label in enumerate(BINARY * 10)]
    weights = [1e-6 if number % 7 == 0 else 1.0 for number in range(len(wrong))]
    weighted = small(learning_rate=1e-2, epochs=4).fit(texts, wrong, sample_weight=weights)
    plain = small(learning_rate=1e-2, epochs=4).fit(texts, wrong)
    assert min(row["validation_loss"] for row in weighted.history_) < min(
        row["validation_loss"] for row in plain.history_
    )


def test_a_text_of_weight_0_is_left_out() -> None:
    without = small(settings=BOTH).fit(TEXTS, BINARY)
    noise, labels = ["good good", "dull dull"], [0, 1]
    weighted = small(settings=BOTH).fit([*TEXTS, *noise], [*BINARY, *labels], sample_weight=[1.0] * 24 + [0.0] * 2)
    np.testing.assert_allclose(weighted.predict_proba(TEXTS), without.predict_proba(TEXTS), atol=1e-6)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "shape"),
        ([-1.0] * 24, "-1"),
        ([float("nan")] * 24, "nan"),
        (["a"] * 24, "number"),
        ([0] * 24, "zero"),
        ([1e38] * 24, "float32"),
    ],
)
def test_weights_that_cannot_be(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small().fit(TEXTS, BINARY, sample_weight=weights)


def test_a_generator_draws_the_seed() -> None:
    generator, same = np.random.RandomState(1), np.random.RandomState(1)
    seeds = [small(random_state=generator).fit(TEXTS, BINARY).predictor_.trained.config.recipe for _ in range(2)]
    assert [each["training"]["seed"] for each in seeds] == same.randint(2**31 - 1, size=2).tolist()


def test_random_state_is_the_seed() -> None:
    first = small(random_state=3).fit(TEXTS, BINARY).predict_proba(TEXTS)
    assert np.array_equal(small(random_state=3).fit(TEXTS, BINARY).predict_proba(TEXTS), first)
    assert not np.array_equal(small(random_state=4).fit(TEXTS, BINARY).predict_proba(TEXTS), first)


def test_verbose_shows_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    small().fit(TEXTS, BINARY)
    assert capsys.readouterr() == ("", "")
    small(verbose=1, epochs=2).fit(TEXTS, BINARY)
    said = capsys.readouterr()
    assert said.out == ""
    assert [line.split(":")[0] for line in said.err.splitlines()] == ["epoch 1", "epoch 2"]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    small(verbose=1, epochs=2).fit(TEXTS, BINARY)
    said = capsys.readouterr()
    assert "\repoch 1/2 █" in said.err
    assert [line.rsplit("\r")[-1].split(":")[0] for line in said.err.split("\n")] == ["epoch 1", "epoch 2", ""]


def test_what_scikit_learn_users_expect(fitted: TextClassifier) -> None:
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(TEXTS)), fitted.predict_proba(TEXTS))
    assert not hasattr(fitted, "n_features_in_")
    assert fitted.__sklearn_is_fitted__()
    assert not small().__sklearn_is_fitted__()
    assert fitted.score(TEXTS, BINARY, sample_weight=[1.0] * 24) == 1.0
    assert fitted.score(["good film", "dull film"], [1, 1], sample_weight=[3, 1]) == 0.75
    with pytest.raises(ValueError, match="no text to measure on"):
        fitted.score([], [])
    with sklearn.config_context(enable_metadata_routing=True):
        request = small().set_fit_request(sample_weight=True).get_metadata_routing()
    assert request.fit.requests == {"sample_weight": True, "groups": None}


def test_the_score_of_several_labels_counts_texts_with_all_labels_right() -> None:
    classifier = small(learning_rate=1e-2, epochs=6).fit(TEXTS, LISTS)
    assert classifier.score(TEXTS[:4], LISTS[:4]) == 1.0
    assert classifier.score(TEXTS[:4], [["a", "b"], ["b"], ["b"], []]) == 0.5


def test_labels_in_several_spellings_are_said() -> None:
    with pytest.warns(
        UserWarning, match=r"`fold_labels=True` joins them\. 3 labels would be 2: 'a' \(12\) = 'A' \(6\)$"
    ):
        small(epochs=1).fit(TEXTS, ["a", "b", "a", "A"] * 6)


@pytest.mark.parametrize("given", ["no", None, 0])
def test_texts_are_not_kept_by_a_value_that_may_mean_no(given: Any) -> None:
    with pytest.raises(InputError, match=r"`keep_texts=.*`: give True or False"):
        small(keep_texts=given).fit(TEXTS, BINARY)


def test_labels_in_several_spellings_are_joined_by_fold_labels() -> None:
    labels = ["a", "b", "a ", "A", *["a", "b"] * 10]  # one row alone has "A": without joining, that is refused
    folding = small(fold_labels=True, learning_rate=1e-2, epochs=6).fit(TEXTS, labels)
    assert folding.classes_.tolist() == ["a", "b"]
    answers = folding.predict(TEXTS)
    assert folding.score(TEXTS, [f" {answer.upper()}" for answer in answers]) == 1.0
    assert folding.score(TEXTS, ["c"] * len(TEXTS)) == 0.0
    tags = small(fold_labels=True).fit(TEXTS, [["B", "a"], ["b"], ["b", "a"], ["a"]] * 6)
    assert tags.classes_.tolist() == ["a", "b"]
    assert small(fold_labels=True, epochs=1).fit(TEXTS, BINARY).classes_.tolist() == [0, 1]


def test_fold_labels_is_kept_in_the_model_folder(tmp_path: Path) -> None:
    labels = ["a", "b", "a ", "A", *["a", "b"] * 10]
    folding = small(fold_labels=True, learning_rate=1e-2, epochs=4).fit(TEXTS, labels)
    loaded = TextClassifier.load(folding.save(tmp_path / "model"))
    assert loaded.get_params()["fold_labels"] is True
    assert loaded.score(TEXTS, labels) == folding.score(TEXTS, labels) > 0.9
    plain = small(epochs=1).fit(TEXTS, BINARY).save(tmp_path / "plain")
    assert TextClassifier.load(plain).get_params()["fold_labels"] is False


def test_a_table_that_training_folded_is_folded_by_a_loaded_classifier(tmp_path: Path) -> None:
    pl.DataFrame({"text": TEXTS, "label": ["a", "b", "A", "b"] * 6}).write_csv(tmp_path / "t.csv")
    source = SourceConfig(train=str(tmp_path / "t.csv"), fold_labels=True)
    recipe = load_recipe(preset="tiny", overrides={"training.max_steps": 1})
    train_model(read_sources(source, recipe.validation, None), recipe, source=source, out=tmp_path / "m")
    assert TextClassifier.load(tmp_path / "m").fold_labels is True


def test_save_replaces_a_model_only_with_overwrite(fitted: TextClassifier, tmp_path: Path) -> None:
    folder = fitted.save(tmp_path / "model")
    report = folder / "evaluation" / "report.html"
    report.parent.mkdir()
    report.touch()
    before = (folder / "config.json").read_bytes()
    with pytest.raises(UsageError, match=r"already holds a model; .*`overwrite=True`"):
        fitted.save(folder)
    assert report.is_file()
    assert (folder / "config.json").read_bytes() == before
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / "run.json").touch()
    with pytest.raises(UsageError, match="an unfinished run"):
        fitted.save(folder)
    fitted.save(folder, overwrite=True)
    assert not report.exists()
    assert not (folder / "checkpoint").exists()


def test_save_leaves_a_folder_of_other_files_alone(fitted: TextClassifier, tmp_path: Path) -> None:
    (tmp_path / "precious.txt").touch()
    for overwrite in (False, True):
        with pytest.raises(UsageError, match="a folder with other files in it"):
            fitted.save(tmp_path, overwrite=overwrite)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_a_warning_points_at_the_line_of_the_program(fitted: TextClassifier) -> None:
    texts = ["", *TEXTS]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        fitted.score(texts, [1, *BINARY])
        fitted.predict(texts)
        cross_val_score(small(epochs=1), texts, [1, *BINARY], cv=2)
    assert len(warned) >= 3
    assert {warning.filename for warning in warned} == {__file__}


@pytest.mark.parametrize("settings", [{5: 1}, ["training.clip"], "training.clip=1"])
def test_settings_are_values_by_name(settings: Any) -> None:
    with pytest.raises(UsageError, match=r"^settings is .*; give values by name"):
        TextClassifier(settings=settings).fit(TEXTS, BINARY)


def test_pretraining_on_own_and_unlabelled_texts() -> None:
    unlabelled = ["a good new film", "", TEXTS[0], "a dull new film"] * 4
    classifier = small(
        pretrain="0.1s", unlabelled=unlabelled, settings={"pretraining.min_steps_per_epoch": 4, "model.max_seq_len": 16}
    )
    record = clone(classifier).fit(TEXTS, BINARY).predictor_.trained.config.data["pretraining"]
    assert (record["unlabelled_texts"], record["unlabelled"]) == (2, ["texts in memory"])
    assert record["left_out"] == {"training": 4, "repeated": 6}
    assert record["seconds"] >= 0.1


def test_minutes_decide_what_is_done() -> None:
    trained = clone(small(minutes=0.0001, settings=BOTH)).fit(TEXTS, BINARY).predictor_.trained
    assert trained.metrics["time_plan"]["settings"] == {"training.epochs": 0}
    assert trained.config.asked == ("counting", "body")
    with pytest.raises(UsageError, match=r"`minutes='10'`: give a number of minutes"):
        small(minutes="10").fit(TEXTS, BINARY)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"pretrain": "30"}, r"`pretrain='30'`.*30m"),
        ({"pretrain": 30}, r"`pretrain=30`"),
        ({"unlabelled": ["a text"]}, "only word vectors and pre-training read these texts"),
        ({"pretrain": "1s", "unlabelled": [" "]}, "holds no text"),
        ({"pretrain": "1s", "unlabelled": [3]}, "not a string"),
        ({"pretrain": "1s", "unlabelled": "more.txt"}, "`unlabelled='more.txt'`: give a list of texts"),
        ({"pretrain": "1s", "unlabelled": TEXTS}, "no text is left to read"),
    ],
)
def test_pretraining_that_cannot_be(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        small(**settings).fit(TEXTS, BINARY)


def test_a_student_is_a_classifier(fitted: TextClassifier, tmp_path: Path) -> None:
    quick = {"training.epochs": 2, "training.min_steps_per_epoch": 5, "model.max_seq_len": 16}
    student = fitted.distil([*TEXTS, " "], settings=quick)
    assert student.classes_.tolist() == fitted.classes_.tolist()
    assert student.predictor_.trained.config.data["teacher"]["name"] == "a model in memory"
    loaded = TextClassifier.load(student.save(tmp_path / "student"))
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), student.predict_proba(TEXTS))
    for texts, words in (("a text", "`texts='a text'`: give a list"), ([""], "`texts=` holds no text")):
        with pytest.raises(InputError, match=words):
            fitted.distil(texts)
    with pytest.raises(UsageError, match="`into='huge'`"):
        fitted.distil(TEXTS, into="huge")
    with pytest.raises(NotFittedError):
        TextClassifier().distil(TEXTS)


def test_snapshots_of_fit_become_a_page(tmp_path: Path) -> None:
    classifier = small(snapshots=3).fit(TEXTS, BINARY)
    assert classifier.time_lapse_ is not None
    assert [snapshot.done for snapshot in classifier.time_lapse_.snapshots][::2] == [0.0, 1.0]
    classifier.time_lapse_.write(tmp_path / "page.html")
    assert '"good", "film"' in (tmp_path / "page.html").read_text("utf-8")
    assert small().fit(TEXTS, BINARY).time_lapse_ is None
    with pytest.raises(UsageError, match="whole number from 2 to 100"):
        small(snapshots=1).fit(TEXTS, BINARY)


def test_training_texts_are_kept_on_request(tmp_path: Path) -> None:
    kept = small(keep_texts=np.True_).fit(TEXTS, BINARY)
    loaded = TextClassifier.load(kept.save(tmp_path / "model"))
    for classifier in (kept, loaded):
        found = classifier.explain("a good film", nearest=True).nearest
        assert found is not None
        assert {near.text for near in found.texts} == {"good film", "bad film", "fine film", "dull film"}
        assert {near.label for near in found.texts} == {0, 1}
    with pytest.raises(UsageError, match="`keep_texts=True`"):
        small().fit(TEXTS, BINARY).explain("a good film", nearest=True)
