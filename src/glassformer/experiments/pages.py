"""What the pages of experiments share: facts about how something was measured, and figures with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

from glassformer.data.wording import counted
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import Machine

_CODED = ("fingerprint", "command")


def with_interval(estimate: Estimate, show: Callable[[float], str]) -> str:
    """Return a figure with its interval below it, as HTML."""
    return f"{show(estimate.value)}<small>{show(estimate.low)} to {show(estimate.high)}</small>"


def sentence(text: str) -> str:
    """Return a remark as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def machine_in_words(device: str, threads: int, machine: Machine) -> str:
    """Return what something was measured on."""
    return (
        f"{device}, {counted(threads, 'thread')}; {counted(machine.cores, 'core')}, {machine.architecture}, "
        f"{machine.system}, Python {machine.python}"
    )


def list_of_facts(facts: Mapping[str, str]) -> str:
    """Return facts by name as an HTML list. Those without a value are left out."""
    listed = "".join(
        f"<dt>{name}</dt><dd>{f'<code>{escape(value)}</code>' if name in _CODED else escape(value)}</dd>"
        for name, value in facts.items()
        if value
    )
    return f'<dl class="facts">{listed}</dl>'
