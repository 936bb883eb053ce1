import numpy as np

from glassformer.evaluation.intervals import wilson
from glassformer.evaluation.rules import measure_rules
from glassformer.readers.rules.reader import RulesReader
from glassformer.readers.rules.saying import LabelSaying
from glassformer.targets.costs import CostRow
from glassformer.targets.labels.evaluation import LabelledRows
from glassformer.targets.labels.target import labels_target

LABELS = ("a", "b", "c")
CONTENT = '"one" -> a 2\n"two" -> b\n"three" -> not a\n"four" -> a always\n"five" -> c always\n"six" -> a\n'
TEXTS = ["one", "one two", "two three", "four one two", "five four", "one three", "nothing"]


def reader(*, several: bool = False) -> RulesReader:
    return RulesReader.of(CONTENT, LabelSaying(labels=LABELS, several=several), "rules.txt")


def test_it_counts_how_often_each_rule_matches_and_is_right() -> None:
    truth = np.array([0, 1, 1, 0, 2, 1, 2])
    with_rules = np.eye(3, dtype=bool)[[0, 0, 1, 0, 0, 1, 2]]
    without = np.eye(3, dtype=bool)[[1, 1, 1, 1, 2, 0, 2]]
    found = measure_rules(reader(), TEXTS, truth, with_rules, without)
    assert [(each.rows, each.right) for each in found.rules] == [(4, 2), (3, 2), (2, 2), (2, 1), (1, 1), (0, 0)]
    assert found.rules[0].share == wilson(2, 4)
    assert found.rules[5].share is None
    assert [each.weight for each in found.rules] == [2, 1, -1, None, None, 1]
    assert [each.given for each in found.rules] == [True, False, False, False, False, False]
    assert (found.rows, found.changed, found.mended, found.spoiled) == (6, 5, 3, 2)
    assert found.sentence == (
        "The rules match 6 texts and change 5 answers: 3 of them became right, 2 wrong; 1 of 6 rules match none."
    )


def test_it_lists_rules_that_contradict_each_other_and_which_one_decides() -> None:
    same = np.eye(3, dtype=bool)[[0] * 7]
    found = measure_rules(reader(), TEXTS, np.zeros(7, int), same, same)
    pairs = {tuple(int(rule[5]) for rule in each.rules): (each.rows, each.decided) for each in found.contradictions}
    assert pairs == {(1, 2): (1, False), (1, 3): (1, False), (4, 2): (1, True), (4, 5): (1, True)}
    assert found.sentence == "The rules match 6 texts and change no answer; 1 of 6 rules match none."


def test_of_several_labels_only_rules_about_the_same_label_contradict_each_other() -> None:
    truth = np.zeros((7, 3), int)
    found = measure_rules(reader(several=True), TEXTS, truth, truth > 0, truth > 0)
    assert [each.rules[0][:6] + each.rules[1][:6] for each in found.contradictions] == ["line 1line 3"]
    assert [each.right for each in found.rules] == [0, 0, 2, 0, 0, 0]


def test_the_answers_without_the_rules_are_those_of_the_calibrated_model() -> None:
    """A missed b is dear. Only by probabilities of the logits as they are, the rule would seem to turn the answer."""
    target = labels_target(LABELS, temperature=4.0, costs=(CostRow(truth="b", cost=3.0),))
    logits, by_rules = np.array([[3.0, 0.0, -9.0]]), np.array([[0.5, 0.0, 0.0]])
    rows = LabelledRows(
        target=target, truth=np.array([1]), texts=["one"], rows=[1], logits=logits, by_rules=by_rules, rules=reader()
    )
    found = rows.looked_into([])["rules"]
    assert (found.rows, found.changed) == (1, 0)
