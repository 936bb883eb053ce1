import numpy as np
import pytest

from glassformer.evaluation.weak_spots import WorstError
from glassformer.evaluation.worst_errors import EXPLAINED, LONGEST_EXPLAINED, explain_worst, worst_errors
from glassformer.explanation.explain import explain
from glassformer.prediction.predictor import Predictor
from glassformer.targets.costs import Costs, read_costs
from tests.trained import NEGATIVE, POSITIVE, Trained


def error(text: str, **changes: object) -> WorstError:
    fields = {"row": 1, "text": text, "truth": (NEGATIVE,), "prediction": (POSITIVE,), "confidence": 0.9} | changes
    return WorstError.model_validate(fields)


def test_the_right_label_is_explained_over_the_answer(reviews: Trained) -> None:
    predictor = Predictor.load(reviews.folder)
    (found,) = explain_worst(predictor, [error("good film, great")])
    assert found.reasons is not None
    assert (found.reasons.label, found.reasons.rival) == (NEGATIVE, POSITIVE)
    expected = explain(predictor, "good film, great", label=NEGATIVE, faithfulness=False)
    assert [word[:2] for word in found.reasons.words] == [(word.start, word.end) for word in expected.words]
    assert [word[2] for word in found.reasons.words] == pytest.approx([each.total for each in expected.words], abs=1e-5)
    assert found.reasons.words[0][2] < 0  # "good" speaks for the answer


def test_the_confidence_is_that_of_the_answer_by_cost() -> None:
    """A missed label costs 9, so it is given from a probability of .1 on: .2 is not sure of it."""
    costs = Costs.of(read_costs({"b": 9}), ("a", "b"), multilabel=True)
    probs, labels = np.array([[0.1, 0.2], [0.7, 0.9]]), np.array([[0, 0], [0, 1]])
    found = worst_errors(probs, labels, ["x", "y"], [1, 2], ("a", "b"), costs)
    assert [(each.row, each.wrong_label, each.confidence) for each in found] == [(2, "a", 0.7), (1, "b", 0.2)]


def test_with_several_labels_the_wrong_one_is_explained(tags: Trained) -> None:
    wrong = error("bad film", truth=("neg",), prediction=("film", "neg"), wrong_label="film")
    (found,) = explain_worst(Predictor.load(tags.folder), [wrong])
    assert found.reasons is not None
    assert (found.reasons.label, found.reasons.rival) == ("film", None)


def test_only_the_first_texts_that_are_not_too_long_are_explained(reviews: Trained) -> None:
    errors = [error("good " * LONGEST_EXPLAINED), *(error(f"good film {number}") for number in range(EXPLAINED + 2))]
    found = explain_worst(Predictor.load(reviews.folder), errors)
    assert [each.reasons is not None for each in found] == [False, *[True] * EXPLAINED, False, False]
    assert [each.model_copy(update={"reasons": None}) for each in found] == errors
