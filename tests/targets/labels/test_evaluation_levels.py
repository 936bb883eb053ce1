"""Measures of classes with levels, against a count by hand and against sets."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from glassformer.targets.labels.evaluation_levels import hierarchical, level_by_level, measure_levels
from glassformer.targets.labels.levels import Tree
from tests.targets.labels.test_levels import FOOD, LABELS

NODES = {name: place for place, name in enumerate(FOOD.nodes)}


def test_hierarchical_f1_counts_the_nodes_of_the_paths() -> None:
    given = np.array([NODES["Food > Bread"], -1, NODES["Drink"]])
    truth = np.array([NODES["Food > Fruit > Apple"], NODES["Food > Bread"], NODES["Drink"]])
    found = hierarchical(FOOD, given, truth, resamples=50)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 6)
    assert found.f1.value == pytest.approx(2 * (2 / 3) * (1 / 3) / (2 / 3 + 1 / 3))
    assert found.f1.low <= found.f1.value <= found.f1.high


def test_the_measures_are_those_of_sets() -> None:
    rng = np.random.default_rng(0)
    labels, probs = rng.integers(0, 4, 300), rng.dirichlet([0.5] * 4, 300)
    found = measure_levels(FOOD, {"other": probs[::-1], "model": probs}, labels, resamples=20)
    (other, model) = found.contestants
    assert (other.name, model.name) == ("other", "model")
    sets = [{LABELS[label][: end + 1] for end in ends(LABELS[label])} for label in labels]
    answered = [{LABELS[label][: end + 1] for end in ends(LABELS[label])} for label in probs.argmax(axis=1)]
    shared = sum(len(one & both) for one, both in zip(sets, answered, strict=True))
    assert model.hierarchical.recall == pytest.approx(shared / sum(map(len, sets)))
    assert model.hierarchical.precision == pytest.approx(shared / sum(map(len, answered)))
    food = probs[:, 1:].sum(axis=1) > probs[:, 0]  # the first of two nodes, by the sum of its labels
    first, second = model.levels[:2]
    assert (first.level, first.nodes, first.rows) == (1, 2, 300)
    assert first.accuracy.value == pytest.approx(accuracy_score(labels > 0, food))
    assert first.macro_f1.value == pytest.approx(f1_score(labels > 0, food, average="macro"))
    lower = labels > 0  # "Drink" has no second level
    assert second.rows == lower.sum()
    fruit = probs[:, 2:].sum(axis=1) > probs[:, 1]
    assert second.accuracy.value == pytest.approx(((labels > 1) == fruit)[lower].mean())


def ends(label: str) -> list[int]:
    return [place for place in range(len(label)) if label[place + 1 :].startswith(" > ") or place == len(label) - 1]


def test_where_the_paths_end_is_counted() -> None:
    tree = Tree.of(("a/x", "a/y", "b/z", "c/z"), "/")
    probs = np.array([[0.6, 0.2, 0.1, 0.1], [0.4, 0.4, 0.1, 0.1], [0.4, 0.4, 0.1, 0.1], [0.3, 0.1, 0.3, 0.3]])
    found = measure_levels(tree, {"model": probs}, np.array([1, 0, 2, 3]), resamples=20)
    assert [(each.level, each.rows, each.right) for each in found.ends] == [(0, 1, None), (1, 2, 0.5), (2, 1, 0.0)]
    assert found.paths.precision == pytest.approx(2 / 4)  # a of row 1, a of row 2; of a, x, a and a
    assert found.paths.recall == pytest.approx(2 / 8)
    said = level_by_level(found)
    assert "25.0% name no level, 50.0% end at level 1 (50.0% of these are right)" in said
    assert "25.0% end at level 2 (0.0% of these are right)" in said
