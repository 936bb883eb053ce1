"""How often each rule of a model of a number matches, and how far off answers are with the rules and without them."""

from collections.abc import Sequence

import numpy as np

from glassformer.data.arrays import Numbers
from glassformer.data.wording import counted, short
from glassformer.evaluation.record import Record
from glassformer.readers.rules.reader import RulesReader


class MeasuredRule(Record):
    """A rule on the `rows` measured rows that it matches.

    `mae` is the mean absolute error of their answers, `mae_without` that without all rules. Both are None if there are
    no such rows.
    """

    rule: str
    rows: int
    mae: float | None
    mae_without: float | None


class MeasuredRules(Record):
    """The rules of a model, and the same about the rows that some rule matches."""

    rules: tuple[MeasuredRule, ...]
    rows: int
    mae: float | None
    mae_without: float | None

    @property
    def sentence(self) -> str:
        """What the rules do, in a sentence."""
        never = sum(not each.rows for each in self.rules)
        unmet = f"; {never:,} of {counted(len(self.rules), 'rule')} match none" if never else ""
        if self.mae is None or self.mae_without is None:
            return f"The rules match no text{unmet}."
        errors = f"Their mean absolute error is {short(self.mae)}, and {short(self.mae_without)} without the rules"
        return f"The rules match {counted(self.rows, 'text')}. {errors}{unmet}."


def measure_number_rules(
    reader: RulesReader, texts: Sequence[str], off: Numbers, off_without: Numbers
) -> MeasuredRules:
    """Measure rules on texts.

    Args:
        off, off_without: (texts,) how far off the answers are, with and without the rules.
    """
    matches = reader.matcher.matches(texts)
    rows: list[list[int]] = [[] for _ in reader.rules]
    for row, matched in enumerate(matches):
        for rule in matched:
            rows[rule].append(row)

    def errors(of: Sequence[int]) -> dict[str, float | None]:
        found = [float(each[list(of)].mean()) if of else None for each in (off, off_without)]
        return {"mae": found[0], "mae_without": found[1]}

    some = np.flatnonzero([bool(each) for each in matches]).tolist()
    return MeasuredRules(
        rules=tuple(
            MeasuredRule(rule=reader.named(number), rows=len(each), **errors(each)) for number, each in enumerate(rows)
        ),
        rows=len(some),
        **errors(some),
    )
