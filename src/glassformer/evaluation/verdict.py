"""The verdict says whether the model is more accurate than the baseline, and where it is worse."""

from collections.abc import Mapping, Sequence

from glassformer.data.wording import counted, share_in_percent
from glassformer.errors import brief
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import Contestant, Metrics, RankMeasures
from glassformer.evaluation.weak_spots import Slice, Slices

SIGNIFICANCE = 0.05
TRANSFORMER, TWO_READERS = "the transformer", "the model"  # what the duel calls a model, by its readers
ALIKE = "these rows give no reason to prefer either"


def verdict(
    model: Contestant[Metrics], baseline: Contestant[Metrics], difference: Estimate, p: float, *, alike: bool = False
) -> str:
    """Say which of two classifiers is more accurate on the same rows, or that the rows do not show it.

    A classifier is more accurate only if the interval of the difference excludes zero and McNemar's p is below .05.

    Args:
        alike: whether both are linear models of words and n-grams, so that none is simpler.
    """
    rows, name = model.metrics.rows, baseline.name

    def until(which: str) -> str:
        if alike:
            return f"{ALIKE}{_smaller(model, baseline)}."
        return f"choose the simpler one, {name}, until {which} test rows show a difference."

    if difference.low == difference.high == 0:
        same = same_rows_right(model.metrics.accuracy.value, rows)
        return f"{capital(model.name)} and {name} {same}; {until('other')}"
    numbers = numbers_of(difference, p)
    ours, theirs = share(model.metrics.accuracy.value), share(baseline.metrics.accuracy.value)
    clear = is_clear(difference, p)
    f1 = {each.name: each.metrics.macro_f1.value for each in (model, baseline)}
    if clear and difference.value > 0:
        won = f"{capital(model.name)} is more accurate here: {ours} against {theirs} for {name} ({numbers})."
        return won + macro_f1_against(f1, more_accurate=model.name)
    if clear:
        against = macro_f1_against(f1, more_accurate=name)
        unless = " unless you need what only a transformer gives you" if model.name == TRANSFORMER else ""
        advice = "." if against else f"; prefer it{unless}."
        numbers = numbers_of(difference.turned, p)
        lost = f"{capital(name)} is more accurate here: {theirs} against {ours} for {model.name} ({numbers}){advice}"
        return lost + against
    return (
        f"No clear winner on {counted(rows, 'row')}: {ours} for {model.name} against {theirs} for {name} ({numbers}); "
        f"{until('more')}{why_not_clear(difference, p)}"
    )


def _smaller(*both: Contestant[Metrics]) -> str:
    """Say which of two classifiers is smaller, or nothing if that is not known."""
    sizes = {each.name: each.size_bytes for each in both if each.size_bytes is not None}
    return f", and {min(sizes, key=lambda name: sizes[name])} is smaller" if len({*sizes.values()}) == 2 else ""


def is_clear(difference: Estimate, p: float | None = None) -> bool:
    """Return whether a difference is beyond noise: its interval excludes zero, and p, if there is one, is below .05."""
    return (p is None or p < SIGNIFICANCE) and (difference.low > 0 or difference.high < 0)


def why_not_clear(difference: Estimate, p: float | None) -> str:
    """Return a sentence, after a space, if one alone of the interval and p calls a difference clear."""
    if p is None or (p < SIGNIFICANCE) == is_clear(difference):
        return ""
    if p < SIGNIFICANCE:
        return (
            f" p is below {share(SIGNIFICANCE)}, but a clear difference also needs an interval that excludes 0. The "
            "interval draws the rows anew, and p counts those that one of the two alone gets right."
        )
    return (
        f" The interval excludes 0, but a clear difference also needs p below {share(SIGNIFICANCE)}. The exact test "
        "behind p is stricter where few rows are right by one of the two alone."
    )


def numbers_of(difference: Estimate, p: float | None = None) -> str:
    """Format a difference with its interval and p. An interval from 0 to 0 would claim too much."""
    if difference.low == difference.high == 0:
        return "the same answers" if p is None else "right on the same rows"
    span = f"95% interval {signed(difference.low)} to {signed(difference.high)}"
    return f"difference {signed(difference.value)}, {span}" + ("" if p is None else f", {p_value(p)}")


def same_rows_right(accuracy: float, rows: int) -> str:
    """Describe two classifiers that are right on the same rows. An interval from 0 to 0 would claim too much."""
    return f"are right on the same rows, {round(accuracy * rows):,} of {rows:,}"


def macro_f1_against(macro_f1: Mapping[str, float], *, more_accurate: str) -> str:
    """Return a sentence, after a space, if macro F1 is higher for the less accurate of two classifiers."""
    (other, less), (best, value) = sorted(macro_f1.items(), key=lambda each: each[1])
    if best == more_accurate or share(less) == share(value):
        return ""
    return (
        f" Macro F1, which weighs all classes equally, is higher for {best}: {share(value)} against {share(less)} for "
        f"{other}."
    )


def slice_name(found: Slice) -> str:
    """Name a slice on one line: "length in words: 1 to 4", "keyword: refund", "shop: north"."""
    what = {"length": "length in words", "keyword": "keyword", "column": found.column or ""}[found.kind]
    return f"{brief(what)}: {brief(found.value)}"


def where_worse(slices: Slices | None) -> str | None:
    """Return a sentence about the slice that is most significantly worse than the rest, or None if no slice is."""
    if slices is None or not slices.significantly_worse:
        return None
    first, others = slices.listed[0], slices.significantly_worse - 1
    more = f"; {counted(others, 'other slice is', 'other slices are')} worse too" if others else ""
    return (
        f"Worse than elsewhere: {slice_name(first)}, {share(first.accuracy.value)} of {counted(first.rows, 'text')} "
        f"right against {share(first.accuracy_of_rest)} of the others ({p_value(first.corrected_p)}, corrected for "
        f"{counted(slices.looked_at, 'slice')}){more}."
    )


def how_far_off(ranks: Sequence[RankMeasures]) -> str:
    """Say how far off the answers of the model are, the last of `ranks`, and those of the baseline that is nearest."""
    model, others = ranks[-1], [each for each in ranks[:-1] if " alone" not in each.name]
    near = share_in_percent(sum(model.off_by[:2]) / sum(model.off_by))
    said = f"On average the answer is {share(model.mae.value)} classes off; {near} are at most one class off"
    nearest = min(others, key=lambda each: each.mae.value, default=None)
    return f"{said}. {nearest.name}: {share(nearest.mae.value)}." if nearest else f"{said}."


def share(value: float) -> str:
    """Format a share like .907; 1 is 1.000, and R² may be below zero: −.012."""
    rounded = round(value, 3) + 0.0  # no −0.0
    return ("−" if rounded < 0 else "") + f"{abs(rounded):.3f}".removeprefix("0")


def interval(estimate: Estimate) -> str:
    """Write the interval of a figure."""
    return f"{share(estimate.low)} to {share(estimate.high)}"


def signed(value: float) -> str:
    """Format a difference like +.012 or −.012."""
    return ("−" if value < 0 else "+") + share(abs(value))


def p_value(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {share(p)}"


def capital(name: str) -> str:
    """Return a name as the first word of a sentence."""
    return name[:1].upper() + name[1:]
