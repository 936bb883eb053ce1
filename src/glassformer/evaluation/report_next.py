"""The section of the report that says what to do next."""

from collections.abc import Sequence
from html import escape

from glassformer.evaluation.weak_spots import NextStep


def next_section(steps: Sequence[NextStep]) -> str:
    """List the steps, each with a link to the section that says more and with a command."""
    if not steps:
        return ""
    return f"<ul>{''.join(map(_step, steps))}</ul>"


def _step(step: NextStep) -> str:
    more = f' <a href="#{step.section}">Details</a>' if step.section else ""
    command = f"<br><code>{escape(step.command)}</code>" if step.command else ""
    return f"<li>{escape(step.text)}{more}{command}</li>"
