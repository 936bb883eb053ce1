from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from glassformer.explanation.counterfactual import find_counterfactual, searching
from glassformer.explanation.question import Question
from glassformer.prediction.predictor import Predictor
from tests.explanation.test_explain import two_readers
from tests.prediction.samples import small_trained_model


class Adding(Predictor):
    """A model that adds up the worth of words, for and against the second of two labels."""

    worth: dict[str, float]
    texts: list[str]

    def logits(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        total = [0.1 + sum(self.worth.get(word, 0.0) for word in text.split()) for text in texts]
        return np.array([[0.0, value] for value in total], np.float32)


def adding(**worth: float) -> Adding:
    predictor = Adding(small_trained_model(labels=("bad", "good")))
    predictor.worth, predictor.texts = worth, []
    return predictor


def asked(predictor: Predictor, text: str, label: str = "good") -> tuple[Question, Any]:
    question = Question.ask(predictor, text, label=label)
    worth = getattr(predictor, "worth", {})
    return question, np.array([worth.get(word.text, 0.0) for word in question.text.words])


def test_one_word_is_dropped_if_that_is_enough() -> None:
    found = find_counterfactual(*asked(adding(loved=2.0, thin=-1.0, see=0.5), "i loved the thin plot see"))
    assert [(change.before, change.after) for change in found.changes] == [("loved", "")]
    assert found.text.split() == ["i", "the", "thin", "plot", "see"]
    assert found.text[: found.changes[0].start] == "i "


def test_a_word_is_swapped_for_a_near_one_if_no_drop_is_enough() -> None:
    predictor = adding(loved=1.0, thin=-9.0, plot=2.0)
    table = predictor.trained.model.get_parameter("trunk.embedding.weight")
    words = predictor.trained.tokenizer.words()
    table.data[words["loved"]] = 2 * table.data[words["thin"]]
    found = find_counterfactual(*asked(predictor, "i loved the plot"))
    assert [(change.before, change.after) for change in found.changes] == [("loved", "thin")]
    assert "replace 'loved' by 'thin'" in found.sentence


def test_two_words_are_changed_if_one_is_not_enough() -> None:
    found = find_counterfactual(*asked(adding(loved=2.0, see=2.0, dull=-2.05), "loved it see it again dull"))
    assert {change.before for change in found.changes} == {"loved", "see"}


def test_many_words_are_changed_if_all_of_them_are_needed() -> None:
    """Five words hold the answer equally; four of them have to go."""
    worth = dict.fromkeys(("loved", "see", "again", "not", "but"), 1.0)
    found = find_counterfactual(*asked(adding(**worth, dull=-1.5), "loved see again not but dull the plot"))
    assert len(found.changes) == 4
    dropped = [f"drop {change.before!r}" for change in found.changes]
    assert f"{', '.join(dropped[:3])} and {dropped[3]} (" in found.sentence
    assert {change.after for change in found.changes} == {""}


class Joining(Adding):
    """Two words count only together, so that dropping one of them is enough."""

    def logits(self, texts: Sequence[str]) -> Any:
        together = np.array([2.0 * ({"not", "bad"} <= set(text.split())) for text in texts], np.float32)
        return super().logits(texts) + np.stack([0 * together, together], axis=1)


def test_words_that_are_not_needed_are_put_back() -> None:
    predictor = Joining(small_trained_model(labels=("bad", "good")))
    predictor.worth, predictor.texts = {"loved": 1.0, "see": 1.0, "dull": -0.6}, []
    found = find_counterfactual(*asked(predictor, "not bad loved see dull"))
    assert len(found.changes) == 3
    assert {"loved", "see"} < {change.before for change in found.changes}


def test_nothing_is_found_if_no_word_matters() -> None:
    predictor = adding()
    question, shares = asked(predictor, "the plot is thin")
    before = len(predictor.texts)
    found = find_counterfactual(question, shares, budget=12)
    assert found.changes == ()
    assert found.text == "the plot is thin"
    assert len(predictor.texts) - before == found.answers + 1 == 13  # it also answers the text itself
    assert f"{found.answers} changed texts were answered, of at most 12" in found.sentence


def test_a_label_that_is_not_the_answer_can_become_it() -> None:
    found = find_counterfactual(*asked(adding(thin=-1.0), "the thin plot"))
    assert [(change.before, change.after) for change in found.changes] == [("thin", "")]


@pytest.mark.parametrize("transformer", [0.0, 0.7])
def test_the_answer_of_a_model_turns(transformer: float) -> None:
    predictor = Predictor(two_readers(transformer=transformer))
    question = Question.ask(predictor, "not good film good")
    found = find_counterfactual(question, np.zeros(len(question.text.words)))
    assert found.answers <= found.budget
    before, after = predictor.answer([question.text.text, found.text]).predictions()
    assert (before != after) == bool(found.changes)
    assert found.changes


def test_a_search_goes_in_steps_of_a_few_answers() -> None:
    question, shares = asked(adding(), "the plot is thin but i loved it and would see it again not bad at all")
    counts = list(searching(question, shares, budget=50))
    assert counts[-1] == 50
    assert max(np.diff([0, *counts])) <= 16
