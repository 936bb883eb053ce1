"""Explanations of a number: `targets/number/explanation.py`."""

from dataclasses import replace

import numpy as np
import pytest

from glassformer.errors import UsageError
from glassformer.explanation.by_reader import shares_by_reader
from glassformer.explanation.counterfactual import find_counterfactual
from glassformer.explanation.explain import explain
from glassformer.explanation.page import render
from glassformer.explanation.question import Question
from glassformer.explanation.reasons import reasons_table
from glassformer.prediction.predictor import Predictor
from glassformer.targets.number.explanation import AskedNumber
from glassformer.targets.number.target import NumberAnswers
from tests.explanation.test_explain import TEXT, two_readers
from tests.tracing.test_trace import of_a_number


def asked(*, deviation: float = 2.5, distance: float | None = 1.0, **where: float | None) -> AskedNumber:
    places: dict[str, float | None] = {"above": None, "below": None, **where}
    return AskedNumber(
        prediction=3.0,
        direction=np.array([deviation]),
        offset=3.0,
        column="score",
        answers=NumberAnswers(values=np.array([3.0]), distance=distance, empty=np.zeros(1, bool), readers={}),
        **places,
    )


def test_the_parts_add_up_to_the_number() -> None:
    predictor = of_a_number()
    found = explain(predictor, TEXT)
    (value,) = predictor.answer([TEXT]).values
    parts = [found.without_known_words, found.unexplained, *(word.total for word in found.words)]
    assert sum(parts) == pytest.approx(found.margin)
    assert found.margin == pytest.approx(value)
    assert found.unexplained == pytest.approx(0, abs=0.01)
    assert found.readers == ("counting", "transformer")
    assert found.faithfulness is not None
    assert set(found.agreement) == {"integrated-gradients", "gradient-x-input", "occlusion", "leave-one-out"}


def test_the_shares_of_a_reader_are_those_of_its_part() -> None:
    question = Question.ask(of_a_number(), TEXT)
    scores = question.predictor.reader_logits([TEXT])
    for name, shares in shares_by_reader(question).items():
        part = scores[name][0, 0] * 2.5
        assert shares.words.sum() + shares.nothing == pytest.approx(part, abs=1e-4)


def test_of_a_reader_that_only_scores_each_word_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = of_a_number()
    exact = shares_by_reader(Question.ask(predictor, "loved not"))["counting"]
    monkeypatch.setattr("glassformer.explanation.by_reader._EXPLAINED", {})
    found = shares_by_reader(Question.ask(predictor, TEXT))
    alone = predictor.alone("counting", [TEXT, TEXT.replace("thin", "")])[:, 0] * 2.5 * 0.4
    assert found["counting"].words[3] == pytest.approx(alone[0] - alone[1], abs=1e-5)
    assert found["counting"].nothing == pytest.approx(exact.nothing, abs=1e-5)


@pytest.mark.parametrize(
    ("deviation", "share", "written"),
    [(2.5, 1.234, "+1.23"), (2.5, -0.004, "0.00"), (40_000.0, -37_326.8, "−37,327"), (0.03, 0.01234, "+0.0123")],
)
def test_shares_are_written_to_a_hundredth_of_the_deviation(deviation: float, share: float, written: str) -> None:
    assert asked(deviation=deviation).written(share) == written
    assert asked(deviation=deviation).is_nothing(share) == (written == "0.00")


def test_the_page_and_the_table_speak_of_the_number() -> None:
    found = explain(of_a_number(), TEXT)
    page = render(found)
    assert f"<h1>Why {found.asked.named}?</h1>" in page
    for words in ("Blue: raises the number", "lowers it", "adds to the number<", "sum: the number", found.verdict):
        assert words in page
    assert "logit" not in page
    (row,) = reasons_table(AskedNumber, [found], nested=True).to_dicts()
    assert (row["prediction"], row["verdict"]) == (found.prediction, found.verdict)
    raising = [each["effect"] for each in row["words_raising"]]
    assert raising == sorted(raising, reverse=True)
    assert raising[0] == pytest.approx(max(word.total for word in found.words), rel=1e-5)


@pytest.mark.parametrize(
    ("where", "reached"),
    [({"above": 4.0}, "rises above 4"), ({"below": 2.5}, "falls below 2.5"), ({}, "falls below 2 or rises above 4")],
)
def test_a_change_moves_the_number_to_where_it_is_asked(where: dict[str, float], reached: str) -> None:
    goals = asked(**where).goals(np.zeros((1, 1), np.float32))
    assert " or ".join(goal.reached for goal in goals) == reached
    scores = np.array([[-0.5], [0.0], [0.5]])  # 1.75, 3 and 4.25
    for goal in goals:
        turned = [False, False, True] if "rises" in goal.reached else [True, False, False]
        assert (goal.gaps(scores) < 0).tolist() == turned
        assert goal.sign == (-1 if "rises" in goal.reached else 1)


def test_the_number_of_a_changed_text_passes_the_goal() -> None:
    predictor = of_a_number()
    before = explain(predictor, TEXT)
    wanted = float(before.margin) - 0.5
    question = Question.ask(predictor, TEXT, below=wanted)
    found = find_counterfactual(question, np.array([word.total for word in before.words]))
    assert found.changes
    assert predictor.answer([found.text]).values[0] < wanted
    assert found.prediction == pytest.approx(predictor.answer([found.text]).values[0], rel=1e-5)
    assert found.sentence.startswith("The answer falls below ")


def test_the_nearer_end_of_the_interval_counts() -> None:
    question = Question.ask(of_a_number(), TEXT)
    assert isinstance(question.asked, AskedNumber)
    near = replace(question.asked, answers=replace(question.asked.answers, distance=0.2))
    found = find_counterfactual(replace(question, asked=near), np.zeros(len(question.text.words)))
    assert len(found.changes) == 1
    assert abs(found.prediction - near.value) > 0.2


def test_what_goes_with_another_kind_of_answer_is_refused() -> None:
    with pytest.raises(UsageError, match="the model knows no interval that the answer could leave"):
        explain(of_a_number(), TEXT, counterfactual=True)
    with pytest.raises(UsageError, match="`above=` is for models that answer with a number"):
        Question.ask(Predictor(two_readers()), TEXT, above=1.0)
    with pytest.raises(UsageError, match="`label=` is for models that answer with labels"):
        explain(of_a_number(), TEXT, label="good")
