"""Findings of `doctor` and `audit`, in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from glassformer.cli.flags import as_flags
from glassformer.cli.output import show

if TYPE_CHECKING:
    from glassformer.doctor.findings import Finding


def said_with_flags(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings whose settings are written as flags."""
    return tuple(
        each.model_copy(update={"found": as_flags(each.found), "advice": as_flags(each.advice)}) for each in findings
    )


def show_findings(findings: Sequence[Finding]) -> None:
    """Show findings by their level, each with its advice."""
    from glassformer.doctor.findings import LEVELS

    by_level = {level: [finding for finding in findings if finding.level == level] for level in LEVELS}
    for level, found in by_level.items():
        show(f"\n{level}: {len(found) or 'none'}")
        for finding in found:
            show(f"  {finding.check}: {finding.found}")
            if finding.advice:
                show(f"    → {finding.advice}")
