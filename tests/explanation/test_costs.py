"""Explanations of answers by cost: the answer is explained, and a counterfactual turns it."""

import math
from dataclasses import replace

import pytest

from glassformer.explanation.counterfactual import find_counterfactual
from glassformer.explanation.explain import explain
from glassformer.prediction.change_costs import with_costs
from glassformer.prediction.predictor import Predictor
from tests.explanation.test_counterfactual import adding, asked
from tests.prediction.samples import small_trained_model


def test_the_answer_is_explained_though_another_label_is_more_probable() -> None:
    trained = small_trained_model()
    plain = explain(Predictor(trained), "the plot is thin")
    config = with_costs(trained.config, {plain.rival: 1e6})
    found = explain(Predictor(replace(trained, config=config)), "the plot is thin")
    assert found.label == found.as_json()["prediction"] == plain.rival
    assert found.as_json()["most_probable"] is False
    assert found.margin == pytest.approx(-plain.margin, abs=1e-5)
    assert f"{plain.rival} (" in found.asked.headline
    assert "the answer" not in found.asked.headline


def test_a_counterfactual_turns_the_answer_by_cost() -> None:
    """A missed `bad` costs 10, so `good` needs a logit of ln 10. Without costs, dropping a word would not be enough."""
    costly, plain = (adding(loved=2.0, plot=1.0, thin=0.5) for _ in range(2))
    costly.trained = replace(costly.trained, config=with_costs(costly.trained.config, {"bad": 10}))
    found = find_counterfactual(*asked(costly, "loved thin plot"))
    assert [(change.before, change.after) for change in found.changes] == [("loved", "")]
    assert 0 < costly.logits([found.text])[0, 1] < math.log(10)
    assert len(find_counterfactual(*asked(plain, "loved thin plot")).changes) != 1
