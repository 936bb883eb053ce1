"""How often each rule of a model matches, how often it is right, and what the rules change."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from glassformer.data.arrays import Array, BoolArray
from glassformer.data.wording import counted
from glassformer.evaluation.record import Estimate, Record
from glassformer.readers.rules.parsing import Rule
from glassformer.readers.rules.reader import RulesReader
from glassformer.readers.rules.saying import Saying
from glassformer.targets.probabilities import one_hot

_MOST_LISTED = 20  # contradictions
_MOST_IN_A_TEXT = 20  # rules whose pairs are looked at


class MeasuredRule(Record):
    """A rule on the measured rows.

    `weight` is what it adds to the score of its label, or takes from it; None if it decides. `given`: by the file.
    It matches `rows` rows, and is right about `right` of them: they have its label, or do not have the one that it
    speaks against. `share` is None if it matches none.
    """

    rule: str
    weight: float | None
    given: bool
    rows: int
    right: int
    share: Estimate | None


class Contradiction(Record):
    """Two rules that say different things about `rows` rows. With `decided`, the first one decides about them."""

    rules: tuple[str, str]
    rows: int
    decided: bool


class MeasuredRules(Record):
    """The rules of a model.

    Some rule matches `rows` rows. The rules change the answers to `changed` rows, of which `mended` are right with them
    alone, and `spoiled` without them alone. `contradictions` are the most frequent ones.
    """

    rules: tuple[MeasuredRule, ...]
    rows: int
    changed: int
    mended: int
    spoiled: int
    contradictions: tuple[Contradiction, ...]

    @property
    def sentence(self) -> str:
        """What the rules do, in a sentence."""
        never = sum(not each.rows for each in self.rules)
        unmet = f"; {never:,} of {counted(len(self.rules), 'rule')} match none" if never else ""
        mended = f"{self.mended:,} of them became right, {self.spoiled:,} wrong"
        changed = f"change {counted(self.changed, 'answer')}: {mended}" if self.changed else "change no answer"
        return f"The rules match {counted(self.rows, 'text')} and {changed}{unmet}."


def measure_rules(
    reader: RulesReader, texts: Sequence[str], truth: Array, given: BoolArray, without: BoolArray
) -> MeasuredRules:
    """Measure rules on labelled texts.

    Args:
        truth: class numbers (texts,), or ones and zeros (texts, labels).
        given, without: (texts, labels) which labels are given with the rules, and without them.
    """
    from glassformer.evaluation.intervals import wilson  # SciPy, which the results of a measurement do not need

    matches = reader.matcher.matches(texts)
    has = one_hot(truth, len(reader.saying.outputs)).astype(bool)
    matched, right = np.zeros((2, len(reader.rules)), np.int64)
    pairs: Counter[tuple[int, int, bool]] = Counter()
    for row, rules in enumerate(matches):
        for rule in rules:
            matched[rule] += 1
            right[rule] += has[row, reader.rules[rule].label] != reader.rules[rule].negated
        silencing = reader.silencing(rules)
        for first, second in combinations(rules[:_MOST_IN_A_TEXT], 2):
            decides = silencing.get(first)
            if decides in (None, first, second) and _differ(reader.saying, reader.rules[first], reader.rules[second]):
                pair = (second, first) if decides == second else (first, second)
                pairs[*pair, decides is not None] += 1
    was, now = ((found == has).all(axis=1) for found in (without, given))
    return MeasuredRules(
        rules=tuple(
            MeasuredRule(
                rule=reader.named(number),
                weight=None if rule.always else round(float(reader.weights[number]) * (-1 if rule.negated else 1), 4),
                given=rule.weight is not None,
                rows=int(matched[number]),
                right=int(right[number]),
                share=wilson(int(right[number]), int(matched[number])) if matched[number] else None,
            )
            for number, rule in enumerate(reader.rules)
        ),
        rows=sum(map(bool, matches)),
        changed=int((given != without).any(axis=1).sum()),
        mended=int((now & ~was).sum()),
        spoiled=int((was & ~now).sum()),
        contradictions=tuple(
            Contradiction(rules=(reader.named(first), reader.named(second)), rows=rows, decided=decided)
            for (first, second, decided), rows in pairs.most_common(_MOST_LISTED)
        ),
    )


def _differ(saying: Saying, one: Rule, other: Rule) -> bool:
    """Whether two rules say different things about the same text."""
    if one.label == other.label:
        return one.negated != other.negated
    return saying.decision(one) == saying.decision(other) and not one.negated and not other.negated
