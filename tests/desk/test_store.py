import sqlite3
from pathlib import Path

import polars as pl
import pytest

from glassformer.desk.classes import add_classes, give, move_class, place_class
from glassformer.desk.measuring import by_round, measured
from glassformer.desk.people import disagreements
from glassformer.desk.project import Project
from glassformer.desk.schema import Decision, Kind
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
    assert move_class(project.store, "blame", "complaint", "me") == 1
    assert project.store.classes == ["praise", "complaint", "Praise", "other"], "in the place of the old name"
    assert move_class(project.store, "Praise", "praise", "me") == 1
    assert project.store.counts() == {"praise": 2, "complaint": 1, "other": 1}
    project.store.undo("me")
    assert project.store.classes == ["praise", "complaint", "Praise", "other"], "a class comes back to its place"
    move_class(project.store, "Praise", "praise", "me")
    history = project.store.rows("SELECT label FROM decisions WHERE text = 3 AND undone IS NULL ORDER BY id")
    assert [row["label"] for row in history] == ["Praise", "praise"]
    for _ in range(2):
        project.store.undo("me")
    assert project.store.classes == ["praise", "blame", "Praise", "other"], "the new name is gone"


def test_a_class_that_was_added_by_hand_stays(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(3))
    store = project.store
    add_classes(store, ["praise", "blame"])
    label(project, [1], "praise")
    store.undo("me")
    assert store.classes == ["praise", "blame"]
    label(project, [1], "other")
    move_class(store, "other", "blame", "me")
    store.undo("me")
    assert store.classes == ["praise", "blame", "other"], "the class that another was joined into stays"
    store.undo("me")
    move_class(store, "praise", "Praise", "me")
    label(project, [1], "Praise")
    store.undo("me")
    assert store.classes == ["Praise", "blame"], "a new name of it stays too"
    store.undo("me")
    assert store.classes == ["praise", "blame"]


@pytest.mark.parametrize("renamed", ["praise", "blame"])
def test_another_name_of_a_class_settles_no_dispute(tmp_path: Path, renamed: str) -> None:
    project = project_of(tmp_path, some_texts(3))
    store = project.store
    for who, name in (("ann", "praise"), ("ben", "blame")):
        label(project, [1, 2], name, who=who)
    label(project, [2], "praise", who="ben", way="settle")
    (dispute,) = disagreements(store)
    move_class(store, renamed, "other", "cleo")
    names = {each["who"]: each["label"] for each in disagreements(store)[0]["labels"]}
    assert names == {"ann": "praise", "ben": "blame", "ann" if renamed == "praise" else "ben": "other"}
    assert store.undo("ann") == [1, 2], "what somebody else renamed is not hers to undo"
    assert sorted(store.undo("cleo")) == [1, 2], "what was settled since has the new name too"
    label(project, [1, 2], "praise", who="ann")
    label(project, [2], "praise", who="ben", way="settle")
    assert disagreements(store) == [dispute]
    move_class(store, "praise", "blame", "cleo")
    assert disagreements(store) == [], "joined classes are one"
    assert store.labelled()["label"].to_list() == ["blame", "blame"]


def drop(project: Project, texts: list[int], who: str, kind: Kind = "drop") -> None:
    project.store.decide(Decision(texts=texts, kind=kind, who=who, way="search"))


def test_another_name_brings_back_nothing_that_was_left_out(tmp_path: Path) -> None:
    """Nor does a join or a split. What comes back when a person undoes it has the present name."""
    project = project_of(tmp_path, some_texts(6), given=["", "", "", "praise", "", ""])
    store = project.store
    label(project, [1, 2, 3], "praise")
    drop(project, [1, 4], "anna")
    drop(project, [2], "anna", "unsure")
    assert store.counts() == {"praise": 1}
    assert move_class(store, "praise", "good", "me") == 4
    assert (store.counts(), store.classes) == ({"good": 1}, ["good"])
    give(store, Decision(texts=[1, 2, 3, 4], kind="label", label="fine", who="ben", way="class"), instead="good")
    assert store.counts() == {"fine": 1}, "a split finds no more"
    assert move_class(store, "fine", "good", "me") == 4
    assert store.counts() == {"good": 1}
    store.undo("anna")
    store.undo("anna")
    assert store.counts() == {"good": 4}, "what she left out, and the label that the table brought"
    assert store.value("SELECT who FROM current WHERE text = 4") == "table"
    assert store.classes == ["good"]
    for who in ("me", "ben", "me"):
        store.undo(who)
    assert (store.counts(), store.classes) == ({"praise": 4}, ["praise"])


def test_what_a_person_takes_back_has_the_present_name(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(3))
    store = project.store
    label(project, [1, 2, 3], "c", who="ann")
    label(project, [1], "d", who="ann")
    drop(project, [2], "ann")
    drop(project, [3], "ann", "unsure")
    label(project, [1, 3], "d", who="cleo", way="second")
    move_class(store, "c", "C", "ben")
    assert store.counts() == {"d": 2}
    assert disagreements(store) == [], "a label that was changed since is none of hers"
    store.undo("cleo")
    assert (store.counts(), store.left()) == ({"d": 1}, 0)
    for counts in ({"d": 1, "C": 1}, {"d": 1, "C": 2}, {"C": 3}):
        store.undo("ann")
        assert store.counts() == counts
    assert store.classes == ["C"]
    move_class(store, "C", "c", "cleo")
    assert store.counts() == {"c": 3}
    store.undo("ann")
    assert store.counts() == {}


def test_a_later_label_of_another_person_stays_the_one_that_holds(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(3))
    store = project.store
    label(project, [1], "praise", who="ann")
    label(project, [1], "blame", who="ben")
    label(project, [2], "praise", who="ann")
    drop(project, [1], "cleo")
    assert disagreements(store) == [], "it was left out"
    store.undo("cleo")
    move_class(store, "praise", "good", "cleo")
    assert store.value("SELECT label FROM current WHERE text = 1") == "blame"
    assert store.undo("ann") == [2]
    assert store.counts() == {"blame": 1}, "her label is gone, whatever its name is now"
    assert store.undo("ben") == [1]
    assert store.counts() == {"good": 1}
    assert sorted(store.undo("cleo")) == [1, 2]
    assert store.counts() == {"praise": 1}, "what she had undone is not there again"


def test_a_skip_takes_nothing_away(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(4), given=["", "", "", "blame"])
    store = project.store
    label(project, [1, 3], "praise")
    drop(project, [2], "me", "unsure")
    for who in ("anna", "me"):
        drop(project, [1, 2, 3, 4], who, "skip")
        kinds = store.rows("SELECT kind FROM current ORDER BY text")
        assert [row["kind"] for row in kinds] == ["label", "unsure", "label", "label"]
    assert store.labelled()["label"].to_list() == ["praise", "praise", "blame"]
    label(project, [1], "blame", who="anna")
    drop(project, [1], "anna", "skip")
    assert len(disagreements(store)) == 1, "her label is still hers"
    store.undo("me")
    drop(project, [3], "me", "drop")
    assert store.counts() == {"blame": 2}


def test_undo_brings_a_class_back_to_its_place_and_its_key(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(6))
    store = project.store
    for number, name in enumerate(("a", "b", "c", "d"), start=1):
        label(project, [number], name)
    move_class(store, "b", "B", "me")
    place_class(store, "B", "a")
    assert store.classes == ["B", "a", "c", "d"]
    store.undo("me")
    assert store.classes == ["b", "a", "c", "d"], "where the new name stood"
    move_class(store, "a", "d", "me")
    assert store.classes == ["b", "c", "d"]
    store.undo("me")
    assert store.classes == ["b", "a", "c", "d"]
    move_class(store, "b", "B", "me")
    label(project, [5], "B", who="ann")
    store.undo("me")
    assert store.classes == ["b", "B", "a", "c", "d"], "somebody uses the new name"


def test_another_name_of_a_class_without_texts_is_undone(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(6))
    store = project.store
    label(project, [1], "a")
    add_classes(store, ["b", "c", "d"])
    move_class(store, "c", "C", "me")
    assert store.classes == ["a", "b", "C", "d"]
    assert (store.undo("ann"), store.classes) == ([], ["a", "b", "C", "d"]), "it is not hers to undo"
    assert (store.undo("me"), store.classes) == ([], ["a", "b", "c", "d"])
    assert store.counts() == {"a": 1}, "no label is taken away for it"
    move_class(store, "b", "d", "me")
    move_class(store, "c", "a", "me")
    assert store.classes == ["a", "d"]
    for classes in (["a", "c", "d"], ["a", "b", "c", "d"]):
        assert (store.undo("me"), store.classes) == ([], classes), "the class that it was joined to stays"
    move_class(store, "b", "B", "me")
    label(project, [2], "B", who="ann")
    label(project, [3], "d")
    assert store.undo("me") == [3]
    assert (store.undo("me"), store.classes) == ([], ["a", "b", "B", "c", "d"]), "somebody uses the new name"
    assert store.undo("ann") == [2]
    assert store.undo("me") == [1]
    assert store.undo("me") == []


def test_a_model_that_learned_before_a_new_name_is_undone_is_understood(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(3))
    store = project.store
    add_classes(store, ["b"])
    move_class(store, "b", "B", "me")
    label(project, [1, 2], "B")
    store.write_round(1, "done", {"labels": 20, "batch": store.last_batch})
    store.undo("me")
    store.undo("me")
    store.suggest(pl.DataFrame({"id": [1], "label": ["B"], "probability": 0.9, "place": 0}), number=1)
    assert store.value("SELECT label FROM suggestions") == "b"
    assert store.classes == ["b"]


def test_another_name_reaches_what_the_model_said(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(9))
    store = project.store
    label(project, [8, 9], "payment")
    label(project, [7], "Payment")
    aside = {"1": "payment", "2": "payment", "3": "Payment"}
    store.write_round(1, "done", {"labels": 20, "batch": store.last_batch, "aside": aside})
    said = ["payment", "payment", "Payment", "payment"]
    suggested = pl.DataFrame({"id": [1, 2, 3, 4], "label": said, "probability": 0.97, "place": 0})
    store.suggest(suggested, number=1)

    def now() -> tuple[list[str], str]:
        rows = store.rows("SELECT label FROM suggestions ORDER BY text")
        measure = measured(store)
        return [row["label"] for row in rows], measure["said"].split(" (")[0] if measure else ""

    label(project, [1], "payment")
    move_class(store, "payment", "money", "me")
    assert now() == (["money", "money", "Payment", "money"], "the model of round 1 was right on 1 of 1 text")
    label(project, [2], "money")
    assert now()[1] == "the model of round 1 was right on 2 of 2 texts"
    move_class(store, "Payment", "money", "me")
    label(project, [3], "money")
    assert now() == (["money"] * 4, "the model of round 1 was right on 3 of 3 texts")
    assert by_round(store, store.rounds())[1].short.startswith("right on 100%")
    store.suggest(suggested, number=1)
    assert now()[0] == ["money"] * 4, "the model was trained while the class got its name"
    store.undo("me")
    store.undo("me")
    assert now() == (["money", "money", "Payment", "money"], "the model of round 1 was right on 2 of 2 texts")
    store.write_round(2, "done", {"labels": 20, "batch": store.last_batch})
    learned = pl.DataFrame({"id": [4, 5], "label": ["money", "Payment"], "probability": 0.97, "place": 0})
    store.suggest(learned, number=2)
    store.undo("me")
    store.undo("me")
    assert now() == (["payment", "Payment"], "the model of round 1 was right on 1 of 1 text")
    move_class(store, "payment", "money", "me")
    label(project, [4], "payment", who="ann")  # a new class of the old name
    assert store.counts() == {"money": 3, "Payment": 1, "payment": 1}
    assert measured(store) == {
        "said": "the models of rounds 1 to 2 were right on 1 of 2 texts (likely 9% to 91%)",
        "of": 2,
    }


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
