"""The table of what works with which kind of target and of inputs, from the test that tries it."""

from __future__ import annotations

from tests.matrix.reasons import reason
from tests.matrix.samples import INPUTS, TARGETS
from tests.matrix.things import THINGS_TO_DO

_MARKS = "†‡§¶#"


def matrix_table() -> list[str]:
    """Return a row for each thing to do, with a mark for each kind of inputs, and the reasons below."""
    whys: list[str] = []
    lines = [f"|  | {' | '.join(TARGETS)} |", f"| --- |{' --- |' * len(TARGETS)}"]
    before = ""
    for thing in THINGS_TO_DO:
        cells, command = [], thing.partition(" ")[0]
        for target in TARGETS:
            found = [reason(thing, target, inputs) for inputs in INPUTS]
            whys += [why for why in dict.fromkeys(found) if why is not None and why not in whys]
            marks = ["✓" if why is None else "–" + _MARKS[whys.index(why)] for why in found]
            cells.append(" ".join(marks))
        lines.append(f"| {thing.replace(before, '…', 1) if command == before else thing} | {' | '.join(cells)} |")
        before = command
    return ["\n".join(lines), *(f"{mark} {why}" for mark, why in zip(_MARKS, whys, strict=False))]
