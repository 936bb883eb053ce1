from dataclasses import replace

import numpy as np
import pytest

from glassformer.errors import UsageError
from glassformer.prediction.change_costs import with_costs
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.predictor import Predictor
from glassformer.targets.costs import CostRow
from tests.prediction.samples import small_trained_model

TEXTS = ["good film", "bad film", "the plot", ""]


def test_answers_margins_and_confidences_follow_the_costs() -> None:
    trained = small_trained_model()
    plain = Predictor(trained).answer(TEXTS)
    config = with_costs(trained.config, {("good", "bad"): 1e6, ("fine", "bad"): 1e6, ("good", "fine"): 1e6})
    found = Predictor(replace(trained, config=config)).answer(TEXTS)
    assert found.predictions() == ["good", "good", "good", None]
    np.testing.assert_array_equal(found.probs, plain.probs)
    np.testing.assert_array_equal(found.confidences, plain.probs[:, 2])
    best_other = plain.probs[:, :2].max(axis=1)
    np.testing.assert_allclose(sum(found.margins().values()), np.log(plain.probs[:, 2] / best_other), rtol=1e-4)
    assert found.needs_review is None


def test_the_recipe_keeps_costs_for_rows_that_are_added_later() -> None:
    config = small_trained_model().config
    changed = with_costs(config.model_copy(update={"recipe": {"training": {"seed": 3}}}), ["bad=2"])
    assert changed.recipe["training"] == {"seed": 3, "costs": [{"truth": "bad", "answer": None, "cost": 2.0}]}
    again = FolderConfig.model_validate_json(changed.model_dump_json())
    assert again.target == changed.target
    assert again.target.costs == (CostRow(truth="bad", cost=2),)  # type: ignore[attr-defined]
    assert "costs" not in config.model_dump()["target"], "folders without costs stay as they were"


def test_a_person_is_asked_about_what_would_cost_more_unless_a_confidence_is_given() -> None:
    trained = small_trained_model(multilabel=True)
    config = with_costs(trained.config, {"bad": 2, "review": 0.5})
    predictor = Predictor(replace(trained, config=config))
    found = predictor.answer(TEXTS)
    given = found.probs >= [1 / 3, 0.5, 0.5]
    expected = np.where(given, 1 - found.probs, found.probs * [2, 1, 1]).sum(axis=1)
    assert found.needs_review.tolist() == (expected > 0.5).tolist()
    assert found.named == [[name for name, on in zip(("bad", "fine", "good"), row, strict=True) if on] for row in given]
    assert not predictor.answer(TEXTS, review_below=0.0).needs_review.any()


def test_unknown_labels_are_refused() -> None:
    with pytest.raises(UsageError, match="there is no label 'awful'"):
        with_costs(small_trained_model().config, {"awful": 2})
