"""The table of a project has changed since the desk read it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.data.rows import batches_of
from glassformer.desk.choosing import next_text
from glassformer.desk.classes import give, move_class
from glassformer.desk.people import disagreements
from glassformer.desk.project import Project
from glassformer.desk.reading_again import read_again
from glassformer.desk.schema import Decision
from glassformer.errors import UsageError
from tests.desk.samples import label, project_of, some_texts
from tests.trained import write_csv
from tests.workbooks import write_workbook

KEPT = "What people decided is kept"


def write(project: Project, rows: Sequence[tuple[str, ...]], header: tuple[str, ...] = ("text", "label")) -> str | None:
    """Write other rows into the table of a project, and read it again."""
    return read_again(project, write_csv(project.folder.parent / "texts.csv", rows, header), "texts.csv")


def labels_of(project: Project) -> dict[int, str]:
    return dict(project.store.labelled().select("id", "label").iter_rows())


def left(project: Project) -> list[int]:
    return sorted(project.store.unlabelled()["id"])


def test_rows_that_came_are_there_to_label(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(4))
    label(project, [2], "praise")
    draws = project.store.rows("SELECT draw FROM texts ORDER BY id")
    rows = [(text,) for text in some_texts(6)]
    assert write(project, rows, ("text",)) == "texts.csv has changed: 2 rows came"
    assert (labels_of(project), left(project)) == ({2: "praise"}, [1, 3, 4, 5, 6])
    assert project.store.facts["found"][0].startswith("texts.csv has changed: 2 rows came")
    assert project.store.facts["found"][-3].startswith("6 texts; ")
    assert project.store.rows("SELECT draw FROM texts ORDER BY id LIMIT 4") == draws, "their order stays"
    assert len({row["draw"] for row in project.store.rows("SELECT draw FROM texts")}) == 6
    assert write(project, rows, ("text",)) is None
    assert write(project, [*rows[:5], ("",)], ("text",)) == (
        f"texts.csv has changed: 1 row is gone or has another text. {KEPT}"
    )  # fmt: skip


def test_rows_that_are_gone_keep_what_people_decided(tmp_path: Path) -> None:
    texts = some_texts(6)
    project = project_of(tmp_path, texts, given=["", "", "", "", "blame", "blame"])
    label(project, [1], "praise", note="sure")
    project.store.decide(Decision(texts=[2], kind="unsure", who="me", way="any"))
    project.store.decide(Decision(texts=[3], kind="skip", who="me", way="any"))
    now = [("new one", ""), (texts[5], "blame"), ("another one", "praise")]
    assert write(project, now) == (
        f"texts.csv has changed: 2 rows came, 5 rows are gone or have another text. {KEPT}"
    )  # fmt: skip
    assert labels_of(project) == {1: "praise", 6: "blame", 8: "praise"}
    assert left(project) == [7]
    kinds = {row["text"]: row["kind"] for row in project.store.rows("SELECT text, kind FROM current")}
    assert kinds == {1: "label", 2: "unsure", 3: "drop", 4: "drop", 5: "drop", 6: "label", 8: "label"}
    upcoming = next_text(project.store, "ann")
    assert upcoming is not None
    assert upcoming["id"] == 7
    assert pl.read_csv(project.write_labels()).rows() == [
        (texts[0], "praise"), (texts[5], "blame"), ("another one", "praise")
    ]  # fmt: skip
    assert project.store.undo("me") != []
    before = [(text, "blame" if number > 3 else "") for number, text in enumerate(texts)]
    assert write(project, before) == f"texts.csv has changed: 5 rows came, 2 rows are gone or have another text. {KEPT}"
    assert labels_of(project) == {1: "praise", 5: "blame", 6: "blame"}
    assert left(project) == [3, 4], "they are back, and nobody has decided about them"
    assert project.store.value("SELECT note FROM current WHERE text = 1") == "sure"


def test_a_row_that_is_gone_is_not_offered_if_its_label_is_undone(tmp_path: Path) -> None:
    texts = some_texts(4)
    project = project_of(tmp_path, texts, given=["", "blame", "", ""])
    label(project, [1, 2], "praise")
    write(project, [(text, "") for text in texts[2:]])
    assert labels_of(project) == {1: "praise", 2: "praise"}
    assert project.store.undo("me") == [1, 2]
    assert (labels_of(project), left(project)) == ({}, [3, 4]), "neither is in the table"
    write(project, list(zip(texts, ["", "blame", "", ""], strict=True)))
    assert (labels_of(project), left(project)) == ({2: "blame"}, [1, 3, 4]), "they are back"


def test_every_decision_is_still_exported(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(3))
    label(project, [1], "praise")
    label(project, [2], "blame")
    project.store.undo("me")
    project.export(tmp_path / "before")
    before = pl.read_csv(tmp_path / "before" / "decisions.csv", infer_schema_length=None)
    write(project, [("a new text",), ("another",), (some_texts(2)[1],)], ("text",))
    project.export(tmp_path / "after")
    after = pl.read_csv(tmp_path / "after" / "decisions.csv", infer_schema_length=None)
    names = ["text", "kind", "label", "who", "undone"]
    assert after.select(names).rows()[:2] == before.select(names).rows()
    assert (before["row"].to_list(), after["row"].to_list()) == ([1, 2], [None, 3, None]), "as the table is now"
    gone = (some_texts(3)[2], "drop", "table")
    assert after.select("text", "kind", "who").rows()[2:] == [gone], "it says what is gone"


def test_another_label_in_the_table_counts_where_no_person_has_decided(tmp_path: Path) -> None:
    texts = some_texts(6)
    project = project_of(tmp_path, texts, given=["good", "good", "bad", "", "good", ""])
    label(project, [2], "so-so")
    label(project, [6], "so-so")
    give(project.store, Decision(texts=[5], kind="label", label="fine", who="me", way="class"), instead="good")
    said = write(project, list(zip(texts, ["bad", "bad", "", "new", "bad", "bad"], strict=True)))
    assert said == f"texts.csv has changed: 3 rows have another label. {KEPT}"
    assert labels_of(project) == {1: "bad", 2: "so-so", 4: "new", 5: "fine", 6: "so-so"}
    assert left(project) == [3], "its label was taken out of the table"
    assert project.store.classes[-1] == "new"
    assert project.store.undo("me") == [5]
    assert project.store.undo("me") == [6]
    assert labels_of(project)[5] == "good", "as it was when it was split"


def test_classes_keep_their_new_names(tmp_path: Path) -> None:
    texts = some_texts(5)
    project = project_of(tmp_path, texts[:4], given=["good", "bad", "bad", ""])
    for name, to in (("good", "fine"), ("fine", "praise"), ("bad", "blame")):
        move_class(project.store, name, to, "me")
    table = list(zip(texts, ["good", "good", "bad", "bad", "good"], strict=True))
    assert write(project, table) == f"texts.csv has changed: 1 row came, 2 rows have another label. {KEPT}"
    assert labels_of(project) == {1: "praise", 2: "praise", 3: "blame", 4: "blame", 5: "praise"}
    assert project.store.classes == ["blame", "praise"]
    assert write(project, [*table, ("a last one", "")]) == "texts.csv has changed: 1 row came"
    for _ in range(3):
        project.store.undo("me")
    assert labels_of(project) == {1: "good", 2: "good", 3: "bad", 4: "bad", 5: "good"}
    label(project, [5], "a", who="ann")
    assert write(project, [*table, ("a last one", ""), ("another", "fine")]) == "texts.csv has changed: 1 row came"
    assert labels_of(project)[7] == "fine", "that name was undone"
    assert write(project, table[1:]) == f"texts.csv has changed: 3 rows are gone or have another text. {KEPT}"


def test_a_row_with_the_text_of_a_labelled_one_is_labelled_with_it(tmp_path: Path) -> None:
    project = project_of(tmp_path, ["a film", "a book", "a film"])
    store = project.store
    label(project, [1], "good", who="ann")
    label(project, [1], "bad", who="ben", way="second")
    label(project, [1], "drop it", who="cleo")
    store.undo("cleo")
    write(project, [("a film",), ("a book",), ("a film",), ("a film",), ("a book",)], ("text",))
    assert labels_of(project) == {}, "both disagree"
    (dispute,) = disagreements(store)
    assert [(each["who"], each["label"]) for each in dispute["labels"]] == [("ann", "good"), ("ben", "bad")]
    assert store.value("SELECT count(*) FROM disputed") == 2
    assert store.undo("ben") == [1, 4]
    assert labels_of(project) == {1: "good", 4: "good"}
    assert [row["way"] for row in store.rows("SELECT way FROM current ORDER BY text")] == ["random", "repeat"]
    move_class(store, "good", "praise", "cleo")
    write(project, [("a film",)] * 5, ("text",))
    assert labels_of(project) == dict.fromkeys([1, 4, 6, 7], "praise")
    assert store.undo("ann") == [1, 4, 6, 7]
    assert labels_of(project) == {}, "whatever its name is now"


def test_a_repeat_that_was_taken_out_gets_no_label(tmp_path: Path) -> None:
    project = project_of(tmp_path, ["a film", "a film", "a book", "a book"])
    label(project, [3, 4], "good")
    write(project, [("a film",), ("a book",)], ("text",))
    assert project.store.repeats([1]) == []
    assert project.store.repeats([3]) == [4], "else it had another label than its text"


def test_rows_are_found_at_their_new_place(tmp_path: Path) -> None:
    rows = [("a film", "", "red"), ("a book", "", "blue"), ("a song", "", "grey")]
    project = Project.open(tmp_path / "desk")
    project.take(write_csv(tmp_path / "texts.csv", rows, ("text", "label", "colour")))
    project.read(text="text", without_labels=True, columns=["colour"])
    label(project, [1, 3], "good")
    now = [("a play", "green", "1"), ("a song", "grey", "2"), ("a book", "", "3"), ("a film", "pink", "4")]
    assert write(project, now, ("text", "colour", "number")) == (
        f"texts.csv has changed: 3 rows came, 2 rows are gone or have another text. {KEPT}"
    )  # fmt: skip
    label(project, [next(number for number in left(project) if number > 3)], "fine")
    assert pl.read_csv(project.write_labels(), infer_schema=False).rows() == [
        ("a film", "red", None, "good"), ("a song", "grey", "2", "good"), ("a film", "pink", "4", "fine")
    ], "of a row that is gone, what the desk read of it"  # fmt: skip
    assert project.store.facts["columns"] == ["colour"]


def test_a_table_that_cannot_be_read_any_more_changes_nothing(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(4), given=["praise", "", "", "blame"])
    label(project, [2], "praise")
    assert project.table is not None
    before = (project.table.read_bytes(), [tuple(row) for row in project.store.rows("SELECT * FROM texts")])
    for rows, header, why in (
        ([("a film", "good")], ("remark", "label"), "no column 'text'"),
        ([("a film", "good")], ("text", "sentiment"), "no column 'label'"),
        ([("", "good")], ("text", "label"), "holds no text"),
    ):
        with pytest.raises(UsageError, match=why):
            write(project, rows, header)
    (tmp_path / "texts.csv").write_text("")
    with pytest.raises(UsageError, match="is empty"):
        read_again(project, tmp_path / "texts.csv", "texts.csv")
    assert before == (project.table.read_bytes(), [tuple(row) for row in project.store.rows("SELECT * FROM texts")])
    assert list((tmp_path / "desk" / "tables").iterdir()) == [project.table], "nothing is left behind"


def test_a_table_that_changes_after_it_was_copied_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(tmp_path, some_texts(2))
    label(project, [1], "praise")
    shifted = [(text,) for text in ["a first one", *some_texts(3)]]

    def later(*given: Any, **more: Any) -> Iterator[pl.DataFrame]:
        write_csv(tmp_path / "texts.csv", shifted, ("text",))
        return batches_of(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr("glassformer.desk.reading_again.batches_of", later)
        with pytest.raises(UsageError, match="changed while it was read"):
            write(project, [(text,) for text in some_texts(3)], ("text",))
    assert pl.read_csv(project.write_labels())["text"].to_list() == some_texts(1)
    assert write(project, shifted, ("text",)) == "texts.csv has changed: 2 rows came"
    assert pl.read_csv(project.write_labels())["text"].to_list() == some_texts(1)


def test_folders_and_sheets_grow_too(tmp_path: Path) -> None:
    classes = tmp_path / "classes"
    for name in ("praise", "blame"):
        (classes / name).mkdir(parents=True)
        (classes / name / "1.txt").write_text(f"{name} number 1")
    project = Project.open(tmp_path / "desk")
    project.take(classes)
    (classes / ".hidden").write_text("")
    assert read_again(project, classes, "classes") is None
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "1.txt").write_text("doubt number 1")
    (classes / "doubt").symlink_to(tmp_path / "linked")
    assert read_again(project, classes, "classes") == "classes has changed: 1 row came"
    assert read_again(project, classes, "classes") is None, "a link is copied as what it names"
    (classes / "blame" / "2.txt").write_text("blame number 2")
    assert read_again(project, classes, "classes") == "classes has changed: 1 row came"
    assert project.store.counts() == {"praise": 1, "blame": 2, "doubt": 1}
    assert read_again(project, classes, "classes") is None
    rows = [["text"], ["a good film"], ["a bad film"]]
    book = write_workbook(tmp_path / "book.xlsx", {"One": rows, "Two": [["words"], ["x"]]})
    sheets = Project.open(tmp_path / "sheets")
    sheets.take(Path(f"{book}#One"))
    label(sheets, [2], "blame")
    write_workbook(book, {"One": [*rows, ["so-so"]], "Two": [["words"], ["x"]]})
    assert read_again(sheets, book, "book.xlsx") == "book.xlsx has changed: 1 row came"
    assert (labels_of(sheets), left(sheets)) == ({2: "blame"}, [1, 3])
    assert sheets.store.facts["table"] == "book.xlsx#One"


def test_a_broken_link_among_the_files_of_a_table_is_named(tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    write_csv(shards / "1.csv", [("a film",)], ("text",))
    project = Project.open(tmp_path / "desk")
    project.take(shards)
    (shards / "2.csv").symlink_to("nowhere.csv")
    with pytest.raises(UsageError, match=r"holds '2.csv', a broken link"):
        read_again(project, shards, "shards")


def test_a_table_whose_columns_are_not_chosen_is_taken_anew(tmp_path: Path) -> None:
    rows = [(f"one remark {n}", f"other words {n}") for n in range(20)]
    project = Project.open(tmp_path / "desk")
    project.take(write_csv(tmp_path / "texts.csv", rows, ("first", "second")))
    assert write(project, rows, ("text", "second")) == "texts.csv has changed, and is read anew"
    assert project.store.facts["text"] == "text"
    assert json.loads(json.dumps(project.columns()))[0]["name"] == "text"
