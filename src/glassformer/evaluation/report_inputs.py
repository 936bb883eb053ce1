"""The section of the report that says what each input of a row gives."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from glassformer.data.wording import counted
from glassformer.evaluation.verdict import share, signed
from glassformer.evaluation.weak_spots import InputShare
from glassformer.pages.html import table


def inputs_section(inputs: Sequence[InputShare], figure: str, of: Callable[[Any], tuple[float, float]]) -> str:
    """Show the leading figure without each input. Return nothing if a row is one text.

    Args:
        figure: its name.
        of: returns the figure with all inputs, and without this one.
    """
    if not inputs:
        return ""
    return (
        f"<p>The values of one input were permuted between {counted(inputs[0].rows, 'row')}; all other inputs stayed "
        f"the same. The loss of {figure} is what the model gets from this input. An input may give little because "
        "another says the same.</p>"
        + table(
            f"{figure[:1].upper()}{figure[1:]} with all inputs: {share(of(inputs[0])[0])}. Intervals: 95%, paired "
            "bootstrap.",
            ("input", f"{figure} without it", "what it gives", "95% interval"),
            [
                (
                    f"{escape(each.name)}<small>{each.kind}</small>",
                    [
                        share(of(each)[1]),
                        signed(each.gain.value),
                        f"{signed(each.gain.low)} to {signed(each.gain.high)}",
                    ],
                )
                for each in inputs
            ],
        )
    )
