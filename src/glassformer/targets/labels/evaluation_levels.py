"""Measures of classes with levels: each level by itself, and how much of the path is right."""

from collections.abc import Mapping
from typing import Unpack

import numpy as np

from glassformer.data.arrays import Array, IntArray
from glassformer.data.wording import share_in_percent
from glassformer.evaluation.intervals import Draws, bootstrap, distinct_rows, share_right
from glassformer.evaluation.metrics import macro_f1
from glassformer.evaluation.verdict import share
from glassformer.targets.labels.evaluation_result import (
    EndOfPaths,
    Hierarchical,
    LevelMeasures,
    Levels,
    LevelScores,
)
from glassformer.targets.labels.levels import Tree


def measure_levels(tree: Tree, answers: Mapping[str, Array], labels: IntArray, **draws: Unpack[Draws]) -> Levels:
    """Measure contestants by their probabilities (n, n_classes), the model last.

    Args:
        labels: class numbers (n,).
    """
    truth, paths = tree.of_class[labels], tree.surest(answers[list(answers)[-1]])[0]
    return Levels(
        separator=tree.separator,
        contestants=tuple(
            LevelMeasures(
                name=name,
                levels=_by_level(tree, probs, truth, **draws),
                hierarchical=hierarchical(tree, tree.of_class[probs.argmax(axis=1)], truth, **draws),
            )
            for name, probs in answers.items()
        ),
        paths=hierarchical(tree, paths, truth, **draws),
        ends=_ends(tree, paths, truth),
    )


def level_by_level(found: Levels) -> str:
    """Say how many answers are right at each level, and where the paths end."""
    model = found.contestants[-1]
    by_level = ", ".join(f"level {each.level} {share(each.accuracy.value)}" for each in model.levels)
    ends = ", ".join(_end_in_words(each) for each in found.ends if each.rows)
    return (
        f"Accuracy by level: {by_level}. Hierarchical F1 {share(model.hierarchical.f1.value)}; of the paths, which end "
        f"where the model is not sure any more, {share(found.paths.f1.value)}: {ends}."
    )


def _end_in_words(each: EndOfPaths) -> str:
    if each.right is None:
        return f"{share_in_percent(each.share)} name no level"
    right = share_in_percent(each.right)
    return f"{share_in_percent(each.share)} end at level {each.level} ({right} of these are right)"


def _by_level(tree: Tree, probs: Array, truth: IntArray, **draws: Unpack[Draws]) -> tuple[LevelScores, ...]:
    by_node, found = tree.probabilities(probs), []
    for level in range(tree.paths.shape[1]):
        rows = np.flatnonzero(tree.paths[truth, level] >= 0)
        if not len(rows):
            continue
        nodes = np.flatnonzero(tree.depths == level + 1)
        given, right = by_node[np.ix_(rows, nodes)].argmax(axis=1), tree.paths[truth[rows], level] - nodes[0]
        found.append(
            LevelScores(
                level=level + 1,
                nodes=len(nodes),
                rows=len(rows),
                accuracy=share_right(given == right, **draws),
                macro_f1=macro_f1(given, right, len(nodes), **draws),
            )
        )
    return tuple(found)


def hierarchical(tree: Tree, given: IntArray, truth: IntArray, **draws: Unpack[Draws]) -> Hierarchical:
    """Compare the path to one node of each row with that to another.

    Args:
        given: the numbers of the nodes that were answered (n,), −1 for none.
        truth: those that are right.
    """
    depths = np.append(tree.depths, 0)  # of no node, at −1
    paths = np.where(given[:, None] < 0, -1, tree.paths[given])  # that to none is empty
    shared = (paths == tree.paths[truth]) & (tree.paths[truth] >= 0)
    patterns, counts = distinct_rows(np.stack([shared.sum(axis=1), depths[given], depths[truth]], axis=1))
    right, answered, true = counts @ patterns.astype(np.int64)
    return Hierarchical(
        precision=float(right / max(answered, 1)),
        recall=float(right / true),
        f1=bootstrap(patterns, counts, lambda sums: 2 * sums[:, 0] / (sums[:, 1] + sums[:, 2]), **draws),
    )


def _ends(tree: Tree, given: IntArray, truth: IntArray) -> tuple[EndOfPaths, ...]:
    """Count the answers that end at each level. One is right if it is on the path of the truth."""
    levels = np.append(tree.depths, 0)[given]
    right = (tree.paths[truth] == given[:, None]).any(axis=1) & (given >= 0)
    return tuple(
        EndOfPaths(
            level=level,
            rows=int(there.sum()),
            share=float(there.mean()),
            right=float(right[there].mean()) if level and there.any() else None,
        )
        for level in range(tree.paths.shape[1] + 1)
        for there in [levels == level]
    )
