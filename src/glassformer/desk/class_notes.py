"""What a person should know about the classes before a model learns them."""

from __future__ import annotations

from glassformer.data.spellings import spellings
from glassformer.data.wording import counted, listed
from glassformer.desk.labelling import FEWEST_TEXTS
from glassformer.desk.store import SETTLED, Store
from glassformer.errors import quoted

_SHOWN = 5


def class_notes(store: Store) -> list[str]:
    """Return sentences about classes that are not learned yet, and about those that may be the same one."""
    counts = store.counts(SETTLED)
    notes = []
    if rare := [name for name, texts in counts.items() if texts < FEWEST_TEXTS]:
        names = listed(list(map(quoted, rare)), _SHOWN)
        have = f"class {names} has one row" if len(rare) == 1 else f"the classes {names} have one row each"
        notes.append(f"{counted(len(rare), 'label waits', 'labels wait')}: {have}; a class needs {FEWEST_TEXTS:,}")
    if same := spellings(counts.elements(), store.labelling.levels):
        shown = listed(list(map(str, same)), _SHOWN, between="; ")
        join = "if they mean the same, the step Mend joins them"
        notes.append(f"some classes differ only by case or white space: {shown}; {join}")
    return notes
