from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, softmax

from glassformer.prediction.model_folder import save_model
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.answers import LabelAnswers
from tests.prediction.samples import WORDS, small_trained_model

TEXTS = ["the plot is thin", "i loved it", "not at all", " ".join(WORDS * 5), "it", "see it again but not the plot"]
NOT_KNOWN = dict.fromkeys(["unseen_share", "unlike_training"])


def answers(probs: list[list[float]], *, multilabel: bool) -> LabelAnswers:
    return LabelAnswers(
        labels=("a", "b", "c"),
        multilabel=multilabel,
        probs=np.array(probs, dtype=np.float32),
        empty=np.zeros(len(probs), dtype=np.bool_),
        readers={},
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
    answered = answers([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]], multilabel=False)
    assert answered.predictions() == ["b", "a"]
    np.testing.assert_allclose(answered.confidences, [0.5, 0.7])


def test_several_labels_are_those_from_a_half_up() -> None:
    several = answers([[0.5, 0.49, 0.9], [0.1, 0.2, 0.3]], multilabel=True)
    assert several.predictions() == [["a", "c"], []]
    np.testing.assert_allclose(several.confidences, [0.5, 0.7])


def test_ranking_is_by_probability_and_cut_at_k() -> None:
    answered = answers([[0.2, 0.5, 0.3]], multilabel=False)
    assert [label for label, _ in answered.ranked(0)] == ["b", "c", "a"]
    assert answered.ranked(0, 2) == [("b", 0.5), ("c", pytest.approx(0.3))]
    assert len(answered.ranked(0, 99)) == 3


def test_a_number_as_label_is_written_in_one_way() -> None:
    found = replace(answers([[0.2, 0.5, 0.3]], multilabel=False), labels=(-2.0, 3.0, 1.5))
    (record,), columns = found.records(), found.columns()
    assert [*record["probabilities"]] == ["3", "1.5", "-2"]
    assert [name for name in columns.columns if "_" in name][:3] == [
        "probability_-2",
        "probability_3",
        "probability_1.5",
    ]
    assert columns["prediction"].to_list() == ["3"]
    assert found.cells(0, 1) == ["3", "3 0.500"]
    assert (record["prediction"], type(record["prediction"])) == (3.0, float)


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


def test_an_empty_text_has_no_answer() -> None:
    found = Predictor(small_trained_model()).answer(["it", "", " \t\n\u3000", "see it"])
    assert found.empty.tolist() == [False, True, True, False]
    assert [label is None for label in found.predictions()] == [False, True, True, False]
    records = list(found.records())
    assert records[1] == records[2] == {"prediction": None, "confidence": None, "probabilities": None} | NOT_KNOWN
    assert np.isfinite(found.probs).all()
    several = Predictor(small_trained_model(multilabel=True)).answer(["", "it"])
    assert several.predictions()[0] is None
    assert isinstance(several.predictions()[1], list)


def test_a_record_holds_the_answer_the_likeliest_label_first() -> None:
    found = answers([[0.2, 0.5, 0.3], [0.1234567, 0.1, 0.7765433]], multilabel=False)
    first, second = found.records()
    assert first == {"prediction": "b", "confidence": 0.5, "probabilities": {"b": 0.5, "c": 0.3, "a": 0.2}} | NOT_KNOWN
    assert list(second["probabilities"].items()) == [("c", 0.776543), ("a", 0.123457), ("b", 0.1)]
    assert next(found.records(1))["probabilities"] == {"b": 0.5}
    assert next(answers([[0.5, 0.4, 0.9]], multilabel=True).records())["prediction"] == ["a", "c"]


def test_progress_is_told_while_a_long_text_is_read() -> None:
    heard: list[float] = []
    Predictor(small_trained_model()).answer([" ".join(WORDS * 5000), "it"], on_progress=heard.append)
    assert len(heard) > 1
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
