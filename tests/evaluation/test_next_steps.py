"""The advice of an evaluation: each step needs a figure that supports it."""

from pathlib import Path
from typing import Any

import pytest

from glassformer.cli.flags import as_flags
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.report import render
from glassformer.evaluation.weak_spots import DoubtfulRows, NextStep, Slice, Slices
from glassformer.prediction.folder_config import FolderConfig
from glassformer.targets.costs import CostRow
from glassformer.targets.labels.evaluation_result import DoubtfulLabel, LabelEvaluation
from glassformer.targets.labels.evaluation_steps import label_steps
from glassformer.targets.labels.target import labels_target
from tests.evaluation.samples import sample_evaluation

READ_AS = {"train": "my reviews.csv", "label": "stars", "fold_labels": True}
WORST = Slice(
    kind="keyword",
    value="<refund>",
    rows=40,
    accuracy=Estimate(value=0.6, low=0.5, high=0.7),
    accuracy_of_rest=0.8,
    p=0.001,
    corrected_p=0.002,
)
CHECK = "glassformer labels 'my reviews.csv' `label='stars'` `fold_labels=True`"


def config(**read_as: Any) -> FolderConfig:
    data = {"source": "my reviews.csv", "read_as": READ_AS | read_as, "text_column": "text", "label_column": "stars"}
    target = labels_target(("bad", "good"))
    return FolderConfig.model_construct(data=data, recipe={}, target=target)


def steps_of(evaluation: LabelEvaluation, of: FolderConfig | None = None) -> tuple[NextStep, ...]:
    return label_steps(evaluation, of or config(), Path("runs/my reviews"))


def against(evaluation: LabelEvaluation, difference: float, *, macro_f1: float) -> LabelEvaluation:
    """The same, with this clear difference in accuracy from the strongest baseline, and this macro F1 of the model."""
    duel = evaluation.duel
    low, high = sorted((difference / 2, difference * 2))
    clear = {"difference": Estimate(value=difference, low=low, high=high), "mcnemar_p": 0.001}
    comparisons = tuple(each.model_copy(update=clear) for each in duel.comparisons)
    metrics = evaluation.metrics.model_copy(update={"macro_f1": Estimate(value=macro_f1, low=0, high=1)})
    return evaluation.model_copy(
        update={"duel": duel.model_copy(update={"comparisons": comparisons}), "metrics": metrics}
    )


def test_every_step_says_where_and_how() -> None:
    doubts = DoubtfulRows[DoubtfulLabel](source="my reviews.csv", rows=300, doubtful=9, listed=(), command=CHECK)
    slices = Slices(looked_at=12, significantly_worse=1, columns=(), listed=(WORST,))
    evaluation = against(sample_evaluation(), -0.1, macro_f1=0.1).model_copy(
        update={"label_doubts": doubts, "slices": slices}
    )
    steps = steps_of(evaluation)
    assert [(step.section, step.command) for step in steps] == [
        ("duel", None),
        ("labels", CHECK),
        ("slices", None),
        ("review", "glassformer predict 'runs/my reviews' `file='new.csv'` `automatic=0.9`"),
    ]
    last = steps_of(evaluation.model_copy(update={"label_doubts": None}))[-1]
    assert (last.text, last.command) == ("Estimate how far more labelled rows would improve counting.", CHECK)
    assert steps[0].text == "Prefer TF-IDF + logistic regression: it is more accurate on these rows."
    assert "9 of 300 held-out rows of my reviews.csv have a label" in steps[1].text
    assert "(keyword: <refund>): it is right on .600 of them, and on .800 of the others" in steps[2].text
    assert evaluation.review is not None
    surest = next(each for each in evaluation.review.shares if each.asked == 0.9)
    assert surest.threshold is not None
    assert surest.threshold.error is not None
    left, wrong = 1 - surest.threshold.coverage.value, f"{surest.threshold.error.value:.3f}".removeprefix("0")
    assert f"the least sure answers, here {left:.1%}: {wrong} of the others are wrong" in steps[3].text
    html = render(evaluation.model_copy(update={"next_steps": steps}))
    assert html.index("What to do next") < html.index('<section id="duel">')
    for section in ("duel", "slices", "review", "labels"):
        assert f'<a href="#{section}">Details</a>' in html
        assert f'<section id="{section}">' in html
    assert "keyword: &lt;refund&gt;" in html


@pytest.mark.parametrize(
    ("difference", "macro_f1", "said"),
    [(0.1, 0.9, None), (-0.1, 0.999, "higher macro F1"), (-0.1, 0.1, "Prefer TF-IDF")],
)
def test_a_model_that_won_needs_no_other(difference: float, macro_f1: float, said: str | None) -> None:
    found = [step.text for step in steps_of(against(sample_evaluation(), difference, macro_f1=macro_f1))]
    assert not any("accura" in text for text in found) if said is None else said in found[0]


@pytest.mark.parametrize("difference", [0.1, -0.1])
def test_rows_that_were_learned_choose_no_model(difference: float) -> None:
    why = "27 of 80 measured texts were also in training; all figures are too good"
    learned = against(sample_evaluation(), difference, macro_f1=0.1).model_copy(update={"too_good": why})
    first = steps_of(learned)[0].text
    assert first == f"Choose by rows that the model has not seen, and measure it on them: {why}."
    headline = render(learned).partition("<nav")[0]
    assert headline.index('class="score"') < headline.index(f"<strong>{why}.</strong>")
    assert headline.index(why) < headline.index(learned.duel.verdict)


def with_recalls(evaluation: LabelEvaluation, *found: tuple[float, int]) -> LabelEvaluation:
    """The same, with these recalls and numbers of rows of its classes."""
    classes = tuple(
        each.model_copy(update={"recall": recall, "support": support})
        for each, (recall, support) in zip(evaluation.metrics.per_class, found, strict=True)
    )
    return evaluation.model_copy(update={"metrics": evaluation.metrics.model_copy(update={"per_class": classes})})


def test_a_rare_class_that_is_missed_is_to_be_labelled_or_to_cost_more() -> None:
    [step] = [
        each
        for each in steps_of(with_recalls(sample_evaluation(), (0.9, 250), (0.4, 30), (0.2, 20)))
        if each.section == "classes"
    ]
    assert step.text.startswith("Label more texts of 'it depends': it was found in 4 of 20. If a miss is worse")
    assert step.command == "glassformer costs 'runs/my reviews' 'it depends=10'"
    assert step.on_one_line == f"{step.text} `{step.command}`"
    assert step.text.endswith(" is worse than a false alarm, say by how much (here 10 times), then measure again:")
    with_costs = sample_evaluation(costs=(CostRow(truth="positive", cost=3),))
    [step] = [
        each
        for each in steps_of(with_recalls(with_costs, (0.9, 250), (0.8, 30), (0.2, 20)))
        if each.section == "classes"
    ]
    assert (step.text, step.command) == ("Label more texts of 'it depends': it was found in 4 of 20.", None)


def test_a_label_that_begins_with_a_minus_is_no_option() -> None:
    evaluation = with_recalls(sample_evaluation(), (0.9, 250), (0.9, 30), (0.2, 20))
    classes = [each.model_copy(update={"name": f"-{each.name}"}) for each in evaluation.metrics.per_class]
    metrics = evaluation.metrics.model_copy(update={"per_class": tuple(classes)})
    commands = [
        each.command
        for each in steps_of(evaluation.model_copy(update={"metrics": metrics}))
        if each.section == "classes"
    ]
    assert commands == ["glassformer costs 'runs/my reviews' -- '-it depends=10'"]


@pytest.mark.parametrize("found", [
    ((0.9, 250), (0.6, 30), (0.5, 20)), ((0.9, 250), (0.6, 30), (0.0, 9)), ((0.2, 250), (0.8, 30), (0.9, 20)),
])  # fmt: skip
def test_no_class_is_rare_and_missed(found: tuple[tuple[float, int], ...]) -> None:
    assert all(step.section != "classes" for step in steps_of(with_recalls(sample_evaluation(), *found)))


@pytest.mark.parametrize(("wrong", "left", "advised"), [(0.1, 0.8, True), (0.1, 0.95, False), (0.0, 0.8, False)])
def test_a_person_is_not_asked_to_read_a_tenth_for_little(wrong: float, left: float, advised: bool) -> None:
    evaluation = sample_evaluation()
    review = evaluation.review
    assert review is not None
    of_all = {"error": Estimate(value=wrong, low=0, high=1)}
    error = Estimate(value=left * wrong, low=0, high=1)
    tenth = next(each for each in review.shares if each.asked == 0.9)
    assert tenth.threshold is not None
    applied = {"threshold": tenth.threshold.model_copy(update={"error": error})}
    changes: dict[float, dict[str, Any]] = {0.9: applied, 1.0: of_all}
    shares = tuple(each.model_copy(update=changes.get(each.asked, {})) for each in review.shares)
    some = evaluation.model_copy(update={"review": review.model_copy(update={"shares": shares})})
    assert any("least sure answers" in step.text for step in steps_of(some)) == advised


def test_without_support_there_is_no_step() -> None:
    whole = sample_evaluation()
    review = whole.review
    assert review is not None
    without_rules = tuple(each.model_copy(update={"threshold": None}) for each in review.shares)
    bare = whole.model_copy(
        update={
            "duel": whole.duel.model_copy(update={"baselines": (), "comparisons": ()}),
            "review": review.model_copy(update={"shares": without_rules}),
            "slices": Slices(looked_at=3, significantly_worse=0, columns=(), listed=(WORST,)),
            "data": whole.data.model_copy(update={"training_rows": 59}),
        }
    )
    assert steps_of(bare) == ()
    assert 'id="next"' not in render(bare)


@pytest.mark.parametrize(
    "of",
    [
        config(added=("more.csv",)),
        FolderConfig.model_construct(data={}, recipe={}, multilabel=False),
    ],
)
def test_no_command_for_tables_that_it_cannot_check(of: FolderConfig) -> None:
    assert all("glassformer labels" not in (step.command or "") for step in steps_of(sample_evaluation(), of))


def test_the_command_reads_all_inputs() -> None:
    of = config(text="question", other_texts=("answer",), columns=("price, net", "shop"), encoding="cp866")
    [command] = [step.command for step in steps_of(sample_evaluation(), of) if "labels" in (step.command or "")]
    assert command is not None
    flags = "--text question --text answer --columns '\"price, net\"' --columns shop"
    assert flags in as_flags(command)
    assert "--encoding cp866" in as_flags(command)
