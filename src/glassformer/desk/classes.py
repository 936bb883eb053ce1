"""The classes of a project: added, put in order, renamed, joined and split; and notes on them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from glassformer.data.spellings import spellings
from glassformer.data.wording import counted, listed
from glassformer.desk.labelling import FEWEST_TEXTS
from glassformer.desk.schema import GIVEN, LABELS, STANDING, Decision
from glassformer.desk.store import SETTLED, Store
from glassformer.errors import UsageError, quoted

_KEPT = ("settle", "doubt", "class", "table")  # ways of labels that are no person's own


def add_classes(store: Store, names: Sequence[str]) -> None:
    """Add classes that no text has yet. They stay if a label of theirs is undone."""
    with store.change():
        store.put_classes(list(dict.fromkeys([*store.classes, *names])))
        store.note(added=list(dict.fromkeys([*store.added, *names])))


def place_class(store: Store, name: str, before: str) -> None:
    """Put a class, which may be new, before another one. A new one is gone again if its only label is undone.

    Raises:
        UsageError: there is no such other class.
    """
    with store.change():
        names = [each for each in store.classes if each != name]
        if before not in names:
            raise UsageError(f"there is no other class {quoted(before)}")
        names.insert(names.index(before), name)
        store.put_classes(names)


def move_class(store: Store, name: str, to: str, who: str) -> int:
    """Give all texts of a class another one, which may be new, and forget the class. Return how many moved.

    Args:
        name: with levels, all classes below one of them may be moved (see `Labelling.is_among`).
    """
    with store.change():
        labelling, names = store.labelling, store.classes
        moves = {each: labelling.renamed(each, name, to) for each in names if labelling.is_among(each, name)}
        moves = {each: became for each, became in moves.items() if became != each}
        rows = [row for row in store.rows(STANDING, None, name) if {*labelling.classes_of(row["label"])} & {*moves}]
        used = {each for row in rows for each in labelling.classes_of(row["label"])}
        moved = _moved(store, rows, name, Decision(texts=[], kind="label", label=to, who=who, way="class"))
        batch = store.decide(*moved)
        # The longest first: `Food` may become `Food > Bread`, and that one `Food > Bread > Bread`.
        for each in sorted(moves, key=len, reverse=True):
            new = {"who": None if each in used else who, "is_new": moves[each] not in names}
            store.keep_rename(each, moves[each], batch=batch, place=names.index(each), **new)
        add_classes(store, [new for each in moves if each not in used for new in labelling.classes_of(moves[each])])
        stay, others = {*names} - {*moves}, list[str]()
        for each in names:
            others += [each] if each in stay else [new for new in labelling.classes_of(moves[each]) if new not in stay]
        store.put_classes(list(dict.fromkeys(others)))
        store.name_suggestions()
    return len({text for each in moved for text in each.texts})


def give(store: Store, decision: Decision, *, instead: str | None = None) -> int:
    """Give texts a label beside those that they have, or in the place of a class (see `Labelling.moved`).

    In the place of a class, texts without it stay as they are.

    Returns:
        The number of the batch.
    """
    assert decision.label is not None
    meant = json.dumps([*decision.texts])
    if instead is not None:
        return store.decide(*_moved(store, store.rows(STANDING, meant, instead), instead, decision))
    before = {row["text"]: row["label"] for row in store.rows(f"{LABELS} AND d.text IN {GIVEN}", meant)}
    having: dict[str, list[int]] = {}
    for text in sorted({*decision.texts}):
        having.setdefault(store.labelling.moved(before.get(text), decision.label, None), []).append(text)
    return store.decide(*(replace(decision, texts=texts, label=label) for label, texts in having.items()))


def _moved(store: Store, rows: Sequence[sqlite3.Row], name: str, decision: Decision) -> list[Decision]:
    """Return labels of a class (see `STANDING`) with another one in its place.

    Each takes the place of the label that it was, and is of the same person. So what people disagree about stays open,
    what was settled stays settled, and what somebody left out since stays out.
    """
    assert decision.label is not None
    moved = []
    for row in rows:
        became = store.labelling.renamed(row["label"], name, decision.label)
        label = store.labelling.moved(row["label"], became, name)
        way = row["way"] if row["way"] in _KEPT else "renamed"
        of_person = {"note": row["note"], "who": row["who"], "way": way, "giver": decision.who}
        moved.append(
            replace(decision, texts=[row["text"]], label=label, stands=row["stands"] or row["id"], **of_person)
        )
    return moved


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
