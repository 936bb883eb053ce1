"""The sections of the reports that say what each input of a row gives."""

from collections.abc import Sequence
from html import escape

from glassformer.data.wording import counted
from glassformer.evaluation.number_result import NumberInputShare
from glassformer.evaluation.verdict import share, signed
from glassformer.evaluation.weak_spots import InputShare
from glassformer.pages.html import table


def inputs_section(inputs: Sequence[InputShare]) -> str:
    """Show the accuracy without each input. Return nothing if a row is one text."""
    if not inputs:
        return ""
    rows = counted(inputs[0].rows, "row", "rows")
    return (
        f"<p>The values of one input were permuted between {rows}; all other inputs stayed the same. The loss of "
        "accuracy is what the model gets from this input. An input may give little because another says the same.</p>"
        + table(
            f"Accuracy with all inputs: {share(inputs[0].accuracy)}. Intervals: 95%, paired bootstrap.",
            ("input", "accuracy without it", "what it gives", "95% interval"),
            [_line(each) for each in inputs],
        )
    )


def number_inputs_section(inputs: Sequence[NumberInputShare]) -> str:
    """Show the R² without each input. Return nothing if a row is one text."""
    if not inputs:
        return ""
    lines = [
        (
            f"{escape(each.name)}<small>{each.kind}</small>",
            [_r2(each.r2_without), signed(each.gain.value), f"{signed(each.gain.low)} to {signed(each.gain.high)}"],
        )
        for each in inputs
    ]
    return (
        f"<p>The values of one input were permuted between {counted(inputs[0].rows, 'row')}; all other inputs stayed "
        "the same. The loss of R² is what the model gets from this input. An input may give little because another "
        "says the same.</p>"
        + table(
            f"R² with all inputs: {_r2(inputs[0].r2)}. Intervals: 95%, paired bootstrap.",
            ("input", "R² without it", "what it gives", "95% interval"),
            lines,
        )
    )


def _r2(value: float) -> str:
    return ("−" if value < 0 else "") + share(abs(value))


def _line(found: InputShare) -> tuple[str, list[str]]:
    gain = found.gain
    return (
        f"{escape(found.name)}<small>{found.kind}</small>",
        [share(found.accuracy_without), signed(gain.value), f"{signed(gain.low)} to {signed(gain.high)}"],
    )
