"""Classes with levels, such as `Food > Fruit > Apple`: the tree of their paths. With NumPy alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from glassformer.data.arrays import Array, DoubleArray, IntArray
from glassformer.targets.probabilities import THRESHOLD


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """The nodes of all levels. Each class is a node; it may stand above the last level.

    Attributes:
        nodes: the path of each node, those of the highest level first.
        paths: (nodes, levels) the numbers of the nodes on the path to each node, itself last, and then −1.
        of_class: (n_classes,) the node of each class.
    """

    separator: str
    nodes: tuple[str, ...]
    paths: IntArray
    of_class: IntArray

    @classmethod
    def of(cls, labels: Sequence[str], separator: str) -> Self:
        paths = [path_of(label, separator) for label in labels]
        found = {path[:depth] for path in paths for depth in range(1, len(path) + 1)}
        nodes = sorted(found, key=lambda node: (len(node), node))
        places = {node: place for place, node in enumerate(nodes)}
        above = np.full((len(nodes), len(nodes[-1])), -1)
        for place, node in enumerate(nodes):
            above[place, : len(node)] = [places[node[:depth]] for depth in range(1, len(node) + 1)]
        return cls(
            separator=separator,
            nodes=tuple(map(separator.join, nodes)),
            paths=above,
            of_class=np.array([places[path] for path in paths]),
        )

    @property
    def depths(self) -> IntArray:
        """The level of each node, from 1."""
        return (self.paths >= 0).sum(axis=1)

    def probabilities(self, probs: Array) -> DoubleArray:
        """Return the probability of each node, the sum of those of its classes: (texts, nodes)."""
        summed = np.zeros((len(self.nodes), len(probs)))
        for nodes in self.paths[self.of_class].T:
            there = nodes >= 0
            np.add.at(summed, nodes[there], probs.T[there])
        return np.minimum(summed.T, 1.0)

    def surest(self, probs: Array) -> tuple[IntArray, DoubleArray]:
        """Return the deepest node with a probability of at least a half, and this probability: (texts,) each.

        The nodes of such a probability lie on one path. -1 and 1.0: no level has one.
        """
        summed = self.probabilities(probs)
        depth = np.where(summed >= THRESHOLD, self.depths, 0)
        found = depth.argmax(axis=1)
        rows = np.arange(len(found))
        none = depth[rows, found] == 0
        return np.where(none, -1, found), np.where(none, 1.0, summed[rows, found])


def path_of(label: str, separator: str) -> tuple[str, ...]:
    """Return the names of the levels of a label, the highest first. Empty names are left out."""
    names = tuple(filter(None, (part.strip() for part in label.split(separator))))
    return names or (label,)
