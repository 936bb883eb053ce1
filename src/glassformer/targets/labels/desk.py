"""Labels at the desk: one class for each text, with levels or an order, or several classes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import polars as pl

from glassformer.data.several_labels import split_labels
from glassformer.data.table import tidy_values
from glassformer.data.wording import counted, in_option, share_in_percent
from glassformer.desk.labelling import FEWEST_TEXTS, Difference, Figure, Labelling, Said
from glassformer.errors import UsageError, quoted
from glassformer.evaluation.intervals import wilson
from glassformer.labels.findings import NONE
from glassformer.readers.rules.saying import LabelSaying
from glassformer.targets.labels.answers import LabelAnswers
from glassformer.targets.labels.held_out import KeptAnswers
from glassformer.targets.labels.levels import Tree, path_of
from glassformer.targets.labels.target import labels_of
from glassformer.targets.target import Target

_BETWEEN = "|"  # several classes in a cell


class OneClass(Labelling):
    """One class for each text."""

    task: ClassVar = "classes"
    panel: ClassVar = "class"

    def from_table(self, values: pl.Series) -> pl.Series:
        return tidy_values(values)

    def cell(self, given: str) -> str:
        name = given.strip()
        if not name:
            raise UsageError("the label is empty; type a name, or skip the text")
        return name

    def classes_of(self, cell: str) -> Sequence[str]:
        return [cell]

    def lesson(self, labelled: pl.DataFrame) -> pl.DataFrame:
        return labelled.filter(pl.len().over("label") >= FEWEST_TEXTS)

    def missing(self, lesson: pl.DataFrame) -> str | None:
        return (
            None
            if lesson["label"].n_unique() > 1
            else f"a model needs at least two classes with {FEWEST_TEXTS:,} texts each"
        )

    def saying(self, classes: Sequence[str]) -> LabelSaying:
        if not classes:
            raise UsageError("a rule speaks of a class, and there is none yet; label some texts first")
        return LabelSaying(labels=tuple(classes), several=self.task == "several")

    def said(self, answers: LabelAnswers) -> Said:
        ordered = np.sort(answers.probs, axis=1)
        cells = [str(label) for label in answers.named]
        return Said(cells, answers.confidences.tolist(), 1 + ordered[:, -2:][:, 0] - ordered[:, -1])

    def said_unseen(self, kept: KeptAnswers, target: Target) -> Said:
        labels = labels_of(target)
        probs, _ = kept.read(multilabel=labels.multilabel)
        return self.said(labels.answers_of(probs, readers={}, empty=np.zeros(kept.rows, bool)))

    def to_check(self, cell: str) -> Any:
        return cell

    def figure(self, pairs: Sequence[tuple[str, str]]) -> Figure:
        right, rows = sum(label == suggested for label, suggested in pairs), len(pairs)
        share = wilson(right, rows)
        between = f"{share_in_percent(share.low, 0)} to {share_in_percent(share.high, 0)}"
        said = f"right on {right:,} of {counted(rows, 'text')} (likely {between})"
        return Figure(said, f"right on {share_in_percent(share.value, 0)} ({between}; {rows:,})", share)


class PathOfLevels(OneClass):
    """One class for each text, which is a path through levels. A wrong one may be right at some levels."""

    levels: str

    def __init__(self, levels: str) -> None:
        self.levels = levels

    def from_table(self, values: pl.Series) -> pl.Series:
        cells = [cell and self._tidied(cell) for cell in super().from_table(values)]
        return pl.Series(values.name, cells, pl.String)

    def cell(self, given: str) -> str:
        name = super().cell(given)
        if name.endswith(self.levels.rstrip() or self.levels):
            raise UsageError(f"the last level of {quoted(name)} has no name; type one, or end the path before it")
        return self._tidied(name)

    def _tidied(self, cell: str) -> str:
        return self.levels.join(path_of(cell, self.levels))

    def is_among(self, cell: str, name: str) -> bool:
        return cell == name or (name.endswith(self.levels) and (cell + self.levels).startswith(name))

    def renamed(self, cell: str, name: str, to: str) -> str:
        return self._tidied(to + self.levels + (cell + self.levels)[len(name) :])

    def settings(self, classes: Sequence[str]) -> Mapping[str, Any]:
        found = any(self.levels in name for name in classes)  # else it is not known yet that there are levels
        return {**super().settings(classes), **({"levels": self.levels} if found else {})}

    def distance(self, label: str, suggested: str) -> float:
        """Return the share of the nodes of both paths that one of them lacks: 1 − F1 of the pair."""
        return _unlike(self._nodes(label), self._nodes(suggested))

    def _nodes(self, cell: str) -> set[tuple[str, ...]]:
        path = tuple(path_of(cell, self.levels))
        return {path[:depth] for depth in range(1, len(path) + 1)}

    def by_level(self, counts: Mapping[tuple[str, str], int]) -> str | None:
        if not counts:
            return None
        from glassformer.targets.labels.evaluation_levels import hierarchical  # it imports scikit-learn

        cells = sorted({cell for pair in counts for cell in pair})
        tree, places = Tree.of(cells, self.levels), {cell: place for place, cell in enumerate(cells)}
        pairs = np.repeat([[places[cell] for cell in pair] for pair in counts], [*counts.values()], axis=0)
        truth, given = tree.of_class[pairs.T]
        is_there = tree.paths[truth] >= 0
        right = (is_there & (tree.paths[truth] == tree.paths[given])).sum(axis=0)
        shares = enumerate(zip(right, is_there.sum(axis=0), strict=True), 1)
        found = [f"level {level} {share_in_percent(share / texts, 0)}" for level, (share, texts) in shares if texts]
        return f"{', '.join(found)}; hierarchical F1 {hierarchical(tree, given, truth, resamples=1).f1.value:.0%}"

    def figure(self, pairs: Sequence[tuple[str, str]]) -> Figure:
        found, by_level = super().figure(pairs), self.by_level(Counter(pairs))
        return Figure(f"{found.said}, by level: {by_level}", found.short, found.estimate)

    def difference(self, totals: Counter[str], classes: Sequence[str]) -> Difference:  # noqa: ARG002
        nodes = {cell: self._nodes(cell) for cell in totals}  # a measure of agreement compares all of them
        return lambda one, other: _unlike(nodes[one], nodes[other])


def _unlike(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> float:
    return 1 - 2 * len(one & other) / (len(one) + len(other))


class OrderedClass(OneClass):
    """One class for each text. Each class is more than the one before it."""

    task: ClassVar = "ordered"
    ordered: ClassVar = True

    def settings(self, classes: Sequence[str]) -> Mapping[str, Any]:
        return {"task": self.task, "order": ",".join(map(in_option, classes))}

    def difference(self, totals: Counter[str], classes: Sequence[str]) -> Difference:
        """Return the square of how many labels lie between two (the ordinal metric of Krippendorff 2011)."""
        until = dict(zip(classes, accumulate(totals[name] for name in classes), strict=True))
        middle = {name: until[name] - totals[name] / 2 for name in classes}
        return lambda one, other: (middle[one] - middle[other]) ** 2


class SeveralClasses(OneClass):
    """Several classes for each text, or none. Each is a yes or no of its own."""

    task: ClassVar = "several"
    panel: ClassVar = "classes"

    def __init__(self, separator: str | None) -> None:
        self.separator = separator or _BETWEEN

    def from_table(self, values: pl.Series) -> pl.Series:
        lists = split_labels(values, self.separator)
        if odd := next((name for names in lists for name in names if _BETWEEN in name), None):
            raise UsageError(
                f"The column {quoted(values.name)} has the class {quoted(odd)}, and the desk separates classes by "
                f"{_BETWEEN}; write it otherwise in the table, such as {quoted(odd.replace(_BETWEEN, '/'))}"
            )
        return pl.Series(values.name, [_BETWEEN.join(sorted(names)) or None for names in lists], pl.String)

    def cell(self, given: str) -> str:
        return _BETWEEN.join(sorted({name.strip() for name in given.split(_BETWEEN)} - {""}))

    def name(self, given: str) -> str:
        if _BETWEEN in given:
            raise UsageError(
                f"a class cannot hold {_BETWEEN}, which stands between classes; type another name, such as "
                f"{quoted(given.replace(_BETWEEN, '/'))}"
            )
        return super().cell(given)

    def classes_of(self, cell: str) -> Sequence[str]:
        return cell.split(_BETWEEN) if cell else []

    def moved(self, before: str | None, to: str, instead: str | None) -> str:
        return self.cell(_BETWEEN.join([*(name for name in self.classes_of(before or "") if name != instead), to]))

    def lesson(self, labelled: pl.DataFrame) -> pl.DataFrame:
        counts = Counter(name for cell in labelled["label"] for name in self.classes_of(cell))
        learned = [
            _BETWEEN.join(name for name in self.classes_of(cell) if counts[name] >= FEWEST_TEXTS)
            for cell in labelled["label"]
        ]
        return labelled.with_columns(label=pl.Series(learned, dtype=pl.String))

    def missing(self, lesson: pl.DataFrame) -> str | None:
        found = lesson["label"].n_unique() > 1
        return None if found else f"a model needs a class with {FEWEST_TEXTS:,} texts, and texts without it"

    def settings(self, classes: Sequence[str]) -> Mapping[str, Any]:  # noqa: ARG002
        return {"task": self.task, "multilabel": _BETWEEN}

    def said(self, answers: LabelAnswers) -> Said:
        confidences = answers.confidences
        cells = [_BETWEEN.join(sorted(map(str, names))) for names in answers.named]
        return Said(cells, confidences.tolist(), 1 - confidences)

    def to_check(self, cell: str) -> Any:
        return list(self.classes_of(cell))

    def checked(self, suggested: str) -> str:
        return "" if suggested == NONE else self.cell(suggested)

    def difference(self, totals: Counter[str], classes: Sequence[str]) -> Difference:  # noqa: ARG002
        """Return the share of the classes of both labels that one of them lacks (Jaccard's distance)."""

        def distance(one: str, other: str) -> float:
            first, second = set(self.classes_of(one)), set(self.classes_of(other))
            return len(first ^ second) / len(first | second) if first | second else 0.0

        return distance


def _labelling(task: str | None, separator: str | None, levels: str | None) -> Labelling:
    if task == "several":
        return SeveralClasses(separator)
    if levels is not None:
        return PathOfLevels(levels)
    return OrderedClass() if task == "ordered" else OneClass()


PART = _labelling
