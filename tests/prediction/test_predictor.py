from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, softmax

from glassformer.errors import UsageError
from glassformer.prediction.model_folder import save_model
from glassformer.prediction.predictor import Answers, Predictor, answer_frames
from tests.prediction.samples import WORDS, small_trained_model

TEXTS = ["the plot is thin", "i loved it", "not at all", " ".join(WORDS * 5), "it", "see it again but not the plot"]


def answers(probs: list[list[float]], *, multilabel: bool) -> Answers:
    return Answers(
        labels=("a", "b", "c"), multilabel=multilabel, probs=np.array(probs, dtype=np.float32), unknown=Counter()
    )


def test_the_temperature_is_applied() -> None:
    logits = Predictor(small_trained_model()).logits(TEXTS)
    for temperature in (1.0, 2.5):
        probs = Predictor(small_trained_model(temperature=temperature)).answer(TEXTS).probs
        np.testing.assert_allclose(probs, softmax(logits / temperature, axis=1), atol=1e-6)


def test_several_labels_have_a_sigmoid_each() -> None:
    predictor = Predictor(small_trained_model(multilabel=True, temperature=0.5))
    np.testing.assert_allclose(predictor.answer(TEXTS).probs, expit(predictor.logits(TEXTS) / 0.5), atol=1e-6)


def test_alone_and_together_are_the_same_answer() -> None:
    predictor = Predictor(small_trained_model())
    alone = np.concatenate([predictor.answer([text]).probs for text in TEXTS])
    np.testing.assert_allclose(predictor.answer(TEXTS).probs, alone, atol=1e-5)


def test_one_label_is_the_likeliest() -> None:
    one = answers([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]], multilabel=False)
    assert one.predictions() == ["b", "a"]
    np.testing.assert_allclose(one.confidences(), [0.5, 0.7])


def test_several_labels_are_those_from_a_half_up() -> None:
    several = answers([[0.5, 0.49, 0.9], [0.1, 0.2, 0.3]], multilabel=True)
    assert several.predictions() == [["a", "c"], []]
    np.testing.assert_allclose(several.confidences(), [0.5, 0.7])


def test_ranking_is_by_probability_and_cut_at_k() -> None:
    one = answers([[0.2, 0.5, 0.3]], multilabel=False)
    assert [label for label, _ in one.ranked(0)] == ["b", "c", "a"]
    assert one.ranked(0, 2) == [("b", 0.5), ("c", pytest.approx(0.3))]
    assert len(one.ranked(0, 99)) == 3


def test_unknown_words_are_counted_and_answered() -> None:
    found = Predictor(small_trained_model()).answer(["the zebra is a zebra", "Zebra", "i loved it", "zebra ψ"])
    assert found.unknown == {"zebra": 2, "a": 1, "Zebra": 1, "ψ": 1}
    assert np.isfinite(found.probs).all()


def test_a_loaded_model_answers_as_the_saved_one(tmp_path: Path) -> None:
    trained = small_trained_model(labels=(1, 2.5, True), temperature=1.7)
    save_model(tmp_path / "model", trained, card="")
    loaded = Predictor.load(tmp_path / "model").answer(TEXTS)
    before = Predictor(trained).answer(TEXTS)
    np.testing.assert_array_equal(loaded.probs, before.probs)
    assert [type(label) for label in loaded.labels] == [int, float, bool]


def frames() -> Iterator[pl.DataFrame]:
    yield pl.DataFrame({"place": ["1", "2", "3"], "review": ["i loved it", None, "  "], "place_right": ["x", "y", "z"]})
    yield pl.DataFrame({"place": ["4"], "review": [""], "place_right": ["u"]})
    yield pl.DataFrame({"place": ["5", "6"], "review": ["the plot is thin", "not at all"], "place_right": ["v", "w"]})


def test_a_table_keeps_its_columns_and_rows_and_gains_the_answers() -> None:
    predictor = Predictor(small_trained_model(temperature=1.3))
    answered = pl.concat(
        [frame for frame, _ in answer_frames(predictor, frames(), text_column="review", source="new.csv")]
    )
    before = pl.concat(frames())
    assert answered.columns == [
        *before.columns,
        "prediction",
        "confidence",
        "probability_bad",
        "probability_fine",
        "probability_good",
    ]
    assert answered.select(before.columns).equals(before)
    assert answered["prediction"].is_null().to_list() == [False, True, True, True, False, False]
    assert answered.filter(pl.col("prediction").is_null())[:, 3:].null_count().row(0) == (3,) * 5
    expected = predictor.answer(["i loved it", "the plot is thin", "not at all"])
    filled = answered.drop_nulls("prediction")
    assert filled["prediction"].to_list() == expected.predictions()
    np.testing.assert_allclose(filled["confidence"].to_numpy(), expected.confidences(), atol=1e-5)
    np.testing.assert_allclose(filled[:, -3:].to_numpy(), expected.probs, atol=1e-5)


def test_probabilities_are_written_with_six_decimals() -> None:
    predictor = Predictor(small_trained_model())
    frame, _ = next(answer_frames(predictor, frames(), text_column="review", source="new.csv"))
    numbers = frame[:1, -4:].write_csv(include_header=False).strip().split(",")
    assert all(len(number) <= len("0.123456") for number in numbers)


def test_several_labels_stand_in_one_cell() -> None:
    predictor = Predictor(small_trained_model(multilabel=True, temperature=1.3))
    frame, found = next(answer_frames(predictor, frames(), text_column="review", source="new.csv"))
    assert frame["prediction"][0] == "|".join(found.predictions()[0])


def test_a_column_that_is_already_there_is_refused() -> None:
    clashing = iter([pl.DataFrame({"review": ["it"], "probability_fine": ["0"]})])
    with pytest.raises(UsageError, match=r"new\.csv already has a column 'probability_fine'"):
        next(answer_frames(Predictor(small_trained_model()), clashing, text_column="review", source="new.csv"))
