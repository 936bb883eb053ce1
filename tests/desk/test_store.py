import sqlite3
from pathlib import Path

import pytest

from glassformer.desk.people import disagreements
from glassformer.desk.store import Store
from glassformer.errors import UsageError
from tests.desk.samples import label, project_of, some_texts


def test_a_decision_is_kept_and_can_be_undone(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(6))
    label(project, [1, 3], "praise")
    label(project, [2], "blame", note="rude")
    label(project, [1], "blame", who="ann")
    assert project.store.counts() == {"praise": 1, "blame": 2}
    assert project.store.undo("ann") == [1]
    assert project.store.counts() == {"praise": 2, "blame": 1}, "the label of before is there again"
    assert project.store.undo("me") == [2], "the last of this person"
    assert project.store.classes == ["praise"], "nobody else named this class"
    assert project.store.undo("me") == [1, 3], "what was decided together is undone together"
    assert project.store.undo("me") == []
    assert project.store.classes == []
    kept = project.store.rows("SELECT undone FROM decisions")
    assert len(kept) == 4
    assert all(row["undone"] for row in kept), "nothing is deleted"


def test_what_another_connection_sees_is_on_the_disk(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(4))
    label(project, [4], "praise")
    other = sqlite3.connect(tmp_path / "desk" / "desk.sqlite")
    assert other.execute("SELECT text, label, who FROM decisions").fetchall() == [(4, "praise", "me")]
    other.close()


def test_a_class_is_renamed_and_joined(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(6))
    for text, name in ((1, "praise"), (2, "blame"), (3, "Praise"), (4, "other")):
        label(project, [text], name)
    assert project.store.move_class("blame", "complaint", "me") == 1
    assert project.store.classes == ["praise", "complaint", "Praise", "other"], "in the place of the old name"
    assert project.store.move_class("Praise", "praise", "me") == 1
    assert project.store.counts() == {"praise": 2, "complaint": 1, "other": 1}
    project.store.undo("me")
    assert project.store.classes == ["praise", "complaint", "other", "Praise"], "a class comes back with its texts"
    project.store.move_class("Praise", "praise", "me")
    history = project.store.rows("SELECT label FROM decisions WHERE text = 3 AND undone IS NULL ORDER BY id")
    assert [row["label"] for row in history] == ["Praise", "praise"]
    for _ in range(2):
        project.store.undo("me")
    assert project.store.classes == ["praise", "other", "Praise", "blame"], "the new name is gone"


def test_a_class_that_was_added_by_hand_stays(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(3))
    store = project.store
    store.add_classes(["praise", "blame"])
    label(project, [1], "praise")
    store.undo("me")
    assert store.classes == ["praise", "blame"]
    label(project, [1], "other")
    store.move_class("other", "blame", "me")
    store.undo("me")
    assert store.classes == ["praise", "blame", "other"], "the class that another was joined into stays"
    store.undo("me")
    store.move_class("praise", "Praise", "me")
    label(project, [1], "Praise")
    store.undo("me")
    assert store.classes == ["Praise", "blame"], "a new name of it stays too"


@pytest.mark.parametrize("renamed", ["praise", "blame"])
def test_another_name_of_a_class_settles_no_dispute(tmp_path: Path, renamed: str) -> None:
    project = project_of(tmp_path, some_texts(3))
    store = project.store
    for who, name in (("ann", "praise"), ("ben", "blame")):
        label(project, [1, 2], name, who=who)
    label(project, [2], "praise", who="ben", way="settle")
    (dispute,) = disagreements(store)
    store.move_class(renamed, "other", "cleo")
    names = {each["who"]: each["label"] for each in disagreements(store)[0]["labels"]}
    assert names == {"ann": "praise", "ben": "blame", "ann" if renamed == "praise" else "ben": "other"}
    assert store.undo("ann") == [1, 2], "what somebody else renamed is not hers to undo"
    assert sorted(store.undo("cleo")) == ([1, 2] if renamed == "praise" else [1])
    label(project, [1, 2], "praise", who="ann")
    label(project, [2], "praise", who="ben", way="settle")
    assert disagreements(store) == [dispute]
    store.move_class("praise", "blame", "cleo")
    assert disagreements(store) == [], "joined classes are one"
    assert store.labelled()["label"].to_list() == ["blame", "blame"]


def test_repeats_are_rows_with_the_same_text_and_values(tmp_path: Path) -> None:
    project = project_of(tmp_path, ["a film", "a book", "a film", "a film", "a film "])
    assert project.store.repeats([3]) == [1, 4]
    assert project.store.repeats([1, 3, 2]) == [4]


def test_labels_of_the_table_are_no_decisions_of_a_person(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(4), given=["praise", "", "praise", "blame"])
    assert project.store.counts() == {"praise": 2, "blame": 1}
    assert not project.has_decisions
    assert project.store.undo("table") == []
    assert project.store.left() == 1


def test_a_full_disk_keeps_all_or_nothing(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(2_000))
    label(project, [1], "praise")
    pages = project.store.value("PRAGMA page_count")
    project.store.rows(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        label(project, list(range(2, 2_000)), "blame")
    assert project.store.counts() == {"praise": 1}
    project.store.rows(f"PRAGMA max_page_count = {4 * pages}")
    label(project, [2], "blame")
    assert project.store.counts() == {"praise": 1, "blame": 1}


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("no database, but a text that is long enough to be taken for one" * 20)
    with pytest.raises(UsageError, match="cannot be read as the labels of a desk"):
        Store(tmp_path / "other")
    newer = sqlite3.connect(tmp_path / "newer")
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(UsageError, match="newer version"):
        Store(tmp_path / "newer")
