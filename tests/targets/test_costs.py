"""What wrong answers cost: how costs are read, and which answers are the cheapest."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.errors import UsageError
from glassformer.targets.costs import CostRow, Costs, in_words, read_costs, settled
from glassformer.targets.kept_rows import packed
from glassformer.targets.labels.held_out import HeldOutAnswers, KeptAnswers
from glassformer.targets.labels.target import labels_target
from glassformer.targets.probabilities import confidences_of, given_by
from glassformer.targets.review import Thresholds

NAMES = ("fraud", "ok", "odd")


def costs(given: Any, names: tuple[str, ...] = NAMES, *, multilabel: bool = False) -> Costs:
    found = Costs.of(read_costs(given), names, multilabel=multilabel)
    assert found is not None
    return found


def rows_of(given: Any) -> list[tuple[str | None, str | None, float]]:
    return [(row.truth, row.answer, row.cost) for row in read_costs(given)]


def test_costs_by_label_by_answer_and_of_a_person_in_every_form(tmp_path: Path) -> None:
    expected = [("fraud", None, 10.0), ("fraud", "ok", 20.0), (None, "review", 0.3)]
    table = tmp_path / "costs.csv"
    table.write_text("truth,answer,cost\nfraud,,10\nfraud,ok,20\n,review,0.3\n")
    lines = tmp_path / "costs.jsonl"
    lines.write_text(
        '{"truth": "fraud", "cost": 10}\n{"truth": "fraud", "answer": "ok", "cost": 20}\n'
        '{"answer": "review", "cost": 0.3}\n'
    )
    mapping = {"fraud": 10, ("fraud", "ok"): 20, (None, "review"): 0.3}
    for each in (str(table), table, lines, mapping, [mapping], expected, read_costs(table)):
        assert rows_of(each) == expected
    assert rows_of([row.model_dump() for row in read_costs(table)]) == expected, "a recipe keeps them so"
    assert rows_of(["fraud=10", "a=b=2"]) == [("fraud", None, 10.0), ("a=b", None, 2.0)]
    assert rows_of({1: 2, 2.0: 1}) == [("1", None, 2.0), ("2", None, 1.0)]
    assert rows_of({"cost": 5}) == [("cost", None, 5.0)], "a label may have this name"


def test_matrix_has_usual_mistakes_at_1_and_the_cost_of_an_answer_before_that_of_a_label() -> None:
    found = costs([("fraud", "ok", 20), {"fraud": 10, "review": 0.3}])
    assert found.wrong.tolist() == [[0, 20, 10], [1, 0, 1], [1, 1, 0]]
    assert found.review == 0.3
    assert costs({"review": 2}, ("review", "ok")).review is None, "a label of this name is a label"
    assert Costs.of((), NAMES, multilabel=False) is None


@pytest.mark.parametrize(
    ("given", "multilabel", "said"),
    [
        ({"fruad": 10}, False, "`costs=`: there is no label 'fruad'; there are fraud, ok, odd"),
        ([("fraud", "okay", 1)], False, "there is no label 'okay'"),
        ([("fraud", "fraud", 1)], False, "'fraud' is then the right answer"),
        ([("fraud", "review", 1)], False, "asking a person costs the same"),
        ([(None, "fraud", 1)], False, "the truth is missing"),
        ([("fraud", "ok", 1)], True, "with several labels per text"),
    ],
)
def test_rows_that_do_not_fit_the_labels_are_refused(given: Any, multilabel: bool, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        settled(read_costs(given), NAMES, multilabel=multilabel)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("fraud=-1", "fraud=-1: the cost '-1' is no number from 0 on"),
        ("fraud=nan", "fraud=nan: the cost 'nan' is no number"),
        ("fraud=1e308", r"fraud=1e308: the cost '1e308' is larger than 1e\+100"),
        ({"fraud": float("inf")}, "the cost inf is no number"),
        ({"fraud": 10**400}, "the cost 1000.* is no number"),
        ({"fraud": True}, "the cost True is no number"),
        ({"fraud": None}, "the cost None is no number"),
        ("fraud", "give a label and its cost, such as fraud=10, or a table"),
        (10, "`costs=10`: give costs by label"),
        (["fraud=1", "fraud=2"], "fraud=2: there is another cost for 'fraud'"),
        ({"": 1}, "it is not clear what costs 1"),
    ],
)
def test_what_is_no_cost_is_refused(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_costs(given)


def test_a_label_may_be_longer_than_the_name_of_a_file() -> None:
    assert rows_of(f"{'very ' * 60}odd=10") == [(f"{'very ' * 60}odd", None, 10.0)]


def test_errors_of_a_table_name_its_row(tmp_path: Path) -> None:
    table = tmp_path / "costs.csv"
    table.write_text("truth,answer,cost\nfraud,,10\nfruad,,3\n")
    with pytest.raises(UsageError, match=r"costs\.csv, row 2: there is no label 'fruad'"):
        settled(read_costs(table), NAMES, multilabel=False)
    table.write_text("truth,answer,cost\nfraud,,ten\n")
    with pytest.raises(UsageError, match=r"costs\.csv, row 1: the cost 'ten' is no number from 0 on"):
        read_costs(table)
    table.write_text("label,cost\nfraud,10\n")
    with pytest.raises(UsageError, match=r"costs\.csv has no column 'truth' \(it has: label, cost\)"):
        read_costs(table)


def test_a_target_keeps_a_person_under_one_name_and_no_place() -> None:
    found = settled(read_costs(["fraud=10", "review=0.3"]), NAMES, multilabel=False)
    assert found == (CostRow(truth="fraud", cost=10), CostRow(answer="review", cost=0.3))
    assert in_words(found) == "a missed fraud costs 10; asking a person costs 0.3"
    assert in_words(settled(read_costs([("fraud", "ok", 2)]), NAMES, multilabel=False)) == "fraud taken for ok costs 2"


PROBS = np.array([[0.2, 0.7, 0.1], [0.05, 0.85, 0.1], [0.0, 0.45, 0.55]])


def test_answer_has_the_least_expected_cost() -> None:
    found = costs({"fraud": 10, "review": 0.5})
    # Of the first row: fraud costs .8, ok 10 · .2 + .1, odd 10 · .2 + .7.
    np.testing.assert_allclose(found.expected(PROBS)[0], [0.8, 2.1, 2.7])
    assert found.given(PROBS).argmax(axis=1).tolist() == [0, 1, 2]
    assert found.asked(PROBS).tolist() == [True, True, False], ".8 and .6 are more than .5, .45 is not"
    given, truth = found.given(PROBS), np.array([1, 0, 2])
    assert found.paid(given, truth).tolist() == [1, 10, 0]
    assert not costs({"fraud": 10}).asked(PROBS).any()
    np.testing.assert_allclose(confidences_of(PROBS, multilabel=False, costs=found), [0.2, 0.85, 0.55])


def test_several_labels_have_thresholds_of_their_own() -> None:
    found = costs({"fraud": 9, "odd": 1 / 3, "review": 0.5}, multilabel=True)
    probs = np.array([[0.1, 0.5, 0.74], [0.09, 0.49, 0.76]])  # the thresholds are .1, .5 and .75
    assert found.given(probs).tolist() == [[True, True, False], [False, False, True]]
    np.testing.assert_allclose(found.expected(probs).min(axis=2)[1], [0.81, 0.49, 0.24])
    assert found.asked(probs).tolist() == [True, True]
    assert found.asked(np.array([[0.0, 0.01, 0.99]])).tolist() == [False]
    truth = np.array([[1, 0, 0], [1, 1, 1]])
    assert found.paid(found.given(probs), truth).tolist() == [1, 10]
    np.testing.assert_allclose(confidences_of(probs, multilabel=True, costs=found), [0.1, 0.51])


@given(st.integers(0, 10_000), st.booleans())
def test_no_other_answer_is_cheaper_and_costs_of_1_change_nothing(seed: int, multilabel: bool) -> None:
    rng = np.random.default_rng(seed)
    probs = rng.uniform(size=(20, 3)) if multilabel else rng.dirichlet(np.ones(3), 20)
    usual = Costs(wrong=np.ones(3) if multilabel else 1 - np.eye(3), review=None)
    assert (usual.given(probs) == given_by(probs, multilabel=multilabel)).all()
    other = Costs(
        wrong=rng.uniform(0, 9, 3) if multilabel else rng.uniform(0, 9, (3, 3)) * (1 - np.eye(3)), review=None
    )
    expected, given = other.expected(probs), other.given(probs)
    chosen = np.where(given, expected[..., 1], expected[..., 0]) if multilabel else expected[given]
    np.testing.assert_allclose(chosen, expected.min(axis=-1))


def test_thresholds_count_the_rows_that_the_costs_answer_wrongly() -> None:
    thresholds = Thresholds.of(PROBS, np.array([0, 1, 2]), multilabel=False, costs=costs({"fraud": 10}))
    assert thresholds.wrong is not None
    assert thresholds.wrong[-1] == 0
    plain = Thresholds.of(PROBS, np.array([0, 1, 2]), multilabel=False)
    assert plain.wrong is not None
    assert plain.wrong[-1] == 1
    assert min(thresholds.confidence) == 0.2


@pytest.mark.parametrize("multilabel", [False, True])
def test_held_out_rows_are_judged_anew_when_costs_change(multilabel: bool) -> None:
    draw = np.random.default_rng(3)
    probs = (draw.random((300, 3)) if multilabel else draw.dirichlet((1, 1, 1), 300)).astype(np.float32)
    truth = draw.integers(0, 2, (300, 3)) if multilabel else draw.integers(0, 3, 300)
    target = labels_target(NAMES, multilabel=multilabel)
    rows = settled(read_costs({"fraud": 20, "review": 0.4}), NAMES, multilabel=multilabel)

    def summed_up(rows: tuple[CostRow, ...]) -> HeldOutAnswers:
        logits = np.log(probs) - (np.log1p(-probs) if multilabel else 0)
        asked = target.model_copy(update={"costs": rows})
        answers = asked.answers({"": logits}, None, empty=np.zeros(300, np.bool_))
        return HeldOutAnswers.of(answers, labels=truth, costs=rows)

    before, expected = summed_up(()), summed_up(rows)
    assert before.model_dump_json().count('"kept"') == 1
    found = HeldOutAnswers.model_validate_json(before.model_dump_json()).under(rows, NAMES, multilabel=multilabel)
    assert found.labels == pytest.approx(expected.labels, abs=0.005)
    assert found.labels != before.labels
    assert found.thresholds is not None
    assert expected.thresholds is not None
    assert found.thresholds.confidence == pytest.approx(expected.thresholds.confidence, abs=1e-3)
    wrong = [np.array(each.thresholds.wrong) for each in (found, expected) if each.thresholds is not None]
    assert np.abs(wrong[0] - wrong[1]).max() <= 1
    assert found.thresholds.label_probability == expected.thresholds.label_probability
    assert before.under((), NAMES, multilabel=multilabel) is before


def test_some_rows_of_many_are_kept() -> None:
    probs = np.tile(np.linspace(0, 1, 5_000, dtype=np.float32)[:, None], 2)
    kept = KeptAnswers.of(probs, np.arange(5_000) % 2, 70_000 + np.arange(5_000))
    found, truth = kept.read(multilabel=False)
    assert (kept.rows, found.shape, len(truth if truth is not None else ())) == (2_000, (2_000, 2), 2_000)
    assert found[[0, -1], 0].tolist() == [0, 1]
    assert kept.row_numbers is not None
    assert kept.row_numbers[[0, -1]].tolist() == [70_000, 74_999]
    assert kept.model_copy(update={"numbers": None}).row_numbers is None
    with pytest.raises(ValueError, match="one value for each of 2,000 rows"):
        KeptAnswers.model_validate(kept.model_dump() | {"numbers": packed(np.zeros(2_000))})
    assert KeptAnswers.of(np.zeros((5_000, 4_000), np.float32), None).rows == 100
