"""What answers cost on measured rows."""

import numpy as np
import pytest

from glassformer.evaluation.measured import Outcome
from glassformer.targets.costs import read_costs
from glassformer.targets.labels.evaluation_costs import cost_figures
from glassformer.targets.labels.evaluation_report import _chooser
from glassformer.targets.labels.evaluation_result import ChangedAnswers, LabelEvaluation
from glassformer.targets.labels.target import labels_target
from tests.evaluation.samples import sample_evaluation, section

NAMES = ("fraud", "ok")
ROWS = read_costs({"fraud": 10})
PROBS = np.array([[0.2, 0.8], [0.2, 0.8], [0.05, 0.95], [0.9, 0.1]])
TRUTH = np.array([0, 1, 1, 0])


def test_the_mean_cost_of_a_row_beside_that_of_other_answers() -> None:
    baseline = Outcome(name="the majority class", description="", answers=np.tile([0.3, 0.7], (4, 1)))
    found = cost_figures(labels_target(NAMES, costs=ROWS), PROBS, TRUTH, [baseline], seed=0, resamples=50)
    assert found is not None
    assert found.mean.value == 1 / 4, "one ok is taken for fraud"
    assert {each.name: each.mean.value for each in found.others} == {
        "the most probable answers": 10 / 4,
        "always the most frequent answer": 20 / 4,
        "always the cheapest answer": 2 / 4,
    }
    assert [each.more.value for each in found.others] == [9 / 4, 19 / 4, 1 / 4]
    assert found.changed == (ChangedAnswers(was="ok", now="fraud", rows=2, cost_before=5, cost_now=0.5),)


def test_a_person_costs_what_asking_costs_whatever_the_answer() -> None:
    rows = read_costs({"fraud": 10, "review": 0.3})
    found = cost_figures(labels_target(NAMES, costs=rows), PROBS, TRUTH, (), seed=0, resamples=50)
    assert found is not None
    assert found.asked == 3, "least expected costs of .8, .8, .5 and .1"
    assert found.mean.value == pytest.approx(0.9 / 4)
    assert found.changed[0].now == "(a person)"


@pytest.mark.parametrize("multilabel", [False, True])
def test_the_report_shows_costs_and_its_figures_are_those_of_these_answers(multilabel: bool) -> None:
    rows = read_costs({"positive": 8})
    plain = sample_evaluation(multilabel=multilabel)
    found = sample_evaluation(multilabel=multilabel, costs=rows)
    assert section("costs", plain) == ""
    page = section("costs", found)
    assert "A missed positive costs 8. Other mistakes cost 1." in page
    assert "TF-IDF + logistic regression, by cost" in page
    assert found.metrics.per_class[1].recall > plain.metrics.per_class[1].recall
    assert found.metrics.log_loss == plain.metrics.log_loss, "the probabilities are the same"
    assert '"name": "positive"' in _chooser(found)
    assert '"cost": 8.0' in _chooser(found)
    assert LabelEvaluation.model_validate_json(found.model_dump_json()) == found
