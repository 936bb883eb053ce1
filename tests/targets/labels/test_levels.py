"""The tree of classes with levels, and where a path ends."""

import numpy as np
import pytest

from glassformer.targets.labels.levels import Tree, path_of

LABELS = ("Drink", "Food > Bread", "Food > Fruit > Apple", "Food > Fruit > Pear")
FOOD = Tree.of(LABELS, " > ")


def test_a_tree_has_a_node_for_each_beginning_of_a_path() -> None:
    assert FOOD.nodes == (
        "Drink", "Food", "Food > Bread", "Food > Fruit", "Food > Fruit > Apple", "Food > Fruit > Pear"
    )  # fmt: skip
    assert FOOD.depths.tolist() == [1, 1, 2, 2, 3, 3]
    assert [FOOD.nodes[node] for node in FOOD.of_class] == list(LABELS)
    assert FOOD.paths[FOOD.of_class[2]].tolist() == [1, 3, 4]
    assert FOOD.paths[FOOD.of_class[0]].tolist() == [0, -1, -1]


def test_the_probability_of_a_node_is_the_sum_of_its_labels() -> None:
    (found,) = FOOD.probabilities(np.array([[0.1, 0.2, 0.4, 0.3]], np.float32))
    assert found.tolist() == pytest.approx([0.1, 0.9, 0.2, 0.7, 0.4, 0.3])


def test_a_label_may_be_a_node_of_others() -> None:
    tree = Tree.of(("Food", "Food > Fruit", "Drink"), " > ")
    assert tree.nodes == ("Drink", "Food", "Food > Fruit")
    (found,) = tree.probabilities(np.array([[0.3, 0.4, 0.3]]))
    assert found.tolist() == pytest.approx([0.3, 0.7, 0.4])
    assert tree.surest(np.array([[0.3, 0.4, 0.3]]))[0].tolist() == [1]


@pytest.mark.parametrize(
    ("probs", "node", "prob"),
    [
        ([0.1, 0.2, 0.4, 0.3], "Food > Fruit", 0.7),
        ([0.3, 0.25, 0.25, 0.2], "Food", 0.7),
        ([0.2, 0.1, 0.6, 0.1], "Food > Fruit > Apple", 0.6),
        ([0.51, 0.19, 0.2, 0.1], "Drink", 0.51),
        ([0.0, 0.0, 1.0, 0.0], "Food > Fruit > Apple", 1.0),
    ],
)
def test_a_path_ends_at_the_deepest_node_of_at_least_a_half(probs: list[float], node: str, prob: float) -> None:
    (found,), (how_sure,) = FOOD.surest(np.array([probs]))
    assert FOOD.nodes[found] == node
    assert how_sure == pytest.approx(prob)


def test_no_level_may_be_sure() -> None:
    found, how_sure = Tree.of(("a/x", "b/y", "c/z"), "/").surest(np.array([[0.4, 0.3, 0.3]]))
    assert (found.tolist(), how_sure.tolist()) == ([-1], [1.0])


def test_names_are_stripped_and_empty_ones_left_out() -> None:
    assert path_of("/ food /fruit/", "/") == ("food", "fruit")
    assert path_of("/", "/") == ("/",)
    assert path_of("Food", " > ") == ("Food",)
