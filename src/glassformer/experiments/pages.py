"""What the pages of experiments share: facts about how something was measured, and figures with intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from glassformer.data.wording import counted
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.report import seconds
from glassformer.evaluation.verdict import p_value, share, signed
from glassformer.pages.html import rendered


def rendered_experiment(kind: str, found: Any, **values: Any) -> str:
    """Return the page of an experiment as HTML."""
    wording = {"p_value": p_value, "seconds": seconds, "sentence": _sentence, "share": share, "signed": signed}
    return rendered(
        f"experiments/{kind}/page",
        kind=kind,
        found=found,
        with_interval=_with_interval,
        measured_with=_measured_with,
        **wording,
        **values,
    )


def _with_interval(estimate: Estimate, show: Callable[[float], str]) -> Markup:
    """Return a figure with its interval below it."""
    figure, low, high = map(show, (estimate.value, estimate.low, estimate.high))
    return Markup(f"{figure}<small>{low} to {high}</small>")


def _sentence(text: str) -> str:
    """Return a remark as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def _measured_with(found: Any) -> dict[str, str]:
    """Return by which command, with which versions and on which machine something was measured."""
    machine = found.machine
    return {
        "command": found.command,
        "versions": ", ".join(f"{name} {version}" for name, version in found.versions.items()),
        "machine": f"{found.device}, {counted(found.threads, 'thread')}; {counted(machine.cores, 'core')}, "
        f"{machine.architecture}, {machine.system}, Python {machine.python}",
    }
