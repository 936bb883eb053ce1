"""The verdict: one sentence that says whether the model is better than the baseline."""

from glassformer.data.table import counted
from glassformer.evaluation.result import Estimate

SIGNIFICANCE = 0.05


def verdict(
    *, model: str, baseline: str, accuracy: float, baseline_accuracy: float, difference: Estimate, p: float, rows: int
) -> str:
    """Say which of two classifiers is better on the same rows, or that the rows do not show it.

    A classifier is better only if the interval of the difference excludes zero and McNemar's p is below .05.
    """
    if difference.low == difference.high == 0:
        return (
            f"{_capital(model)} and {baseline} {same_rows_right(accuracy, rows)}; "
            "choose the simpler one until other test rows show a difference."
        )
    span = f"95% interval {signed(difference.low)} to {signed(difference.high)}"
    numbers = f"difference {signed(difference.value)}, {span}, {p_value(p)}"
    ours, theirs = share(accuracy), share(baseline_accuracy)
    clear = p < SIGNIFICANCE and (difference.low > 0 or difference.high < 0)
    if clear and difference.value > 0:
        return f"{_capital(model)} is better here: {ours} against {theirs} for {baseline} ({numbers})."
    if clear:
        return (
            f"{_capital(baseline)} is better here: {theirs} against {ours} for {model} ({numbers}); "
            "prefer it unless you need what only a transformer gives you."
        )
    return (
        f"No clear winner on {counted(rows, 'row')}: {ours} for {model} against {theirs} for {baseline} ({numbers}); "
        "choose the simpler one until more test rows show a difference."
    )


def same_rows_right(accuracy: float, rows: int) -> str:
    """Describe two classifiers that are right on the same rows. An interval from 0 to 0 would claim too much."""
    return f"are right on the same rows, {round(accuracy * rows):,} of {rows:,}"


def share(value: float) -> str:
    """Format a share like .907; 1 is 1.000."""
    return f"{value:.3f}".removeprefix("0")


def signed(value: float) -> str:
    """Format a difference like +.012 or −.012."""
    return ("−" if value < 0 else "+") + share(abs(value))


def p_value(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {share(p)}"


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
