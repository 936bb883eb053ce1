import codecs
import re
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.encodings import reading_as
from glassformer.data.inputs import Category, Inputs, Number
from glassformer.data.rows import ROWS_PER_BATCH, iterate_rows
from glassformer.desk.inputs_read import InputsRead
from glassformer.desk.people import labels_by_person
from glassformer.desk.project import Project
from glassformer.desk.schema import Decision
from glassformer.errors import UsageError
from tests.desk.samples import label, project_of, some_texts
from tests.trained import write_csv
from tests.workbooks import xlsx


def test_a_project_goes_on_where_it_was(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(4))
    label(project, [2], "praise")
    project.store.close()
    (tmp_path / "texts.csv").unlink()
    again = Project.open(tmp_path / "desk")
    assert again.store.counts() == {"praise": 1}
    assert again.table is not None
    assert again.table.is_file(), "the project has its own copy"
    label(again, [3], "praise")
    assert {file.name for file in (tmp_path / "desk").iterdir()} >= {"desk.sqlite", "desk.sqlite-wal"}
    for place in (tmp_path / "desk", *(tmp_path / "desk").glob("desk.sqlite*")):
        assert place.stat().st_mode & 0o077 == 0, "it holds texts"


def test_labels_on_a_disk_that_is_not_there_are_not_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "desk.sqlite").symlink_to(tmp_path / "unmounted" / "desk.sqlite")
    with pytest.raises(UsageError, match="is a link that leads nowhere"), Project.opened(tmp_path, None):
        pass
    assert (tmp_path / "desk.sqlite").is_symlink()


def test_columns_are_found_and_can_be_corrected(tmp_path: Path) -> None:
    rows = [
        row
        for n in range(10)
        for row in ((f"good film {n}", f"a long remark {n} " * 3, "yes"), ("", f"another {n} " * 9, "no"))
    ]
    table = write_csv(tmp_path / "t.csv", rows, ("text", "remark", "useful"))
    project = Project.open(tmp_path / "desk")
    project.take(table)
    assert (project.store.facts["text"], project.store.facts["label"]) == ("text", "useful")
    assert "10 rows have no text and are left out" in project.store.facts["found"]
    project.read(text="remark", label=None, without_labels=True)
    assert project.store.value("SELECT count(*) FROM texts") == 20
    assert project.store.counts() == {}
    assert [column["name"] for column in project.columns()] == ["text", "remark", "useful"]


@pytest.mark.parametrize(
    ("given", "task", "kept", "counts", "settings"),
    [
        (["praise", "", "blame", "praise"], "classes", ["praise", "blame", "praise"], {"praise": 2, "blame": 1}, {}),
        (
            ["b; a", "", "a", "b"],
            "several",
            ["a|b", "a", "b"],
            {"a": 2, "b": 2},
            {"multilabel": "|"},
        ),
        (["3", "", "1", "2"], "ordered", ["3", "1", "2"], {"1": 1, "2": 1, "3": 1}, {"order": ""}),
        (["3.5", "", "1,250.0", "2"], "number", ["3.5", "1250", "2"], {}, {}),
    ],
)
def test_the_kind_of_labels_is_found(
    tmp_path: Path, given: list[str], task: str, kept: list[str], counts: dict[str, int], settings: dict[str, str]
) -> None:
    project = project_of(tmp_path, some_texts(40), given=[given[number % 4] for number in range(40)])
    labelled = project.store.labelled()["label"].to_list()
    assert labelled == kept * 10
    assert project.store.counts() == {name: 10 * count for name, count in counts.items()}
    assert project.settings() == {"task": task} | {name: value or "1,2,3" for name, value in settings.items()}
    assert project.store.left() == 10


@pytest.mark.parametrize(
    "given",
    [
        ["read|write; exec", "read|write; list", "exec; list", "exec", "list", "read|write; exec; list"],
        ['["read|write", "exec"]', '["exec"]', '["list", "exec"]'],
    ],
)
def test_a_class_is_not_split_where_the_desk_joins_classes(given: list[str], tmp_path: Path) -> None:
    rows = [(text, given[number % len(given)]) for number, text in enumerate(some_texts(60))]
    project = Project.open(tmp_path / "desk")
    project.take(write_csv(tmp_path / "t.csv", rows, ("text", "rights")))
    assert re.search(r"'rights' has the class 'read\|write'.* such as 'read/write'$", project.store.facts["found"][0])
    assert project.store.value("SELECT count(*) FROM texts") == 0
    rows = [(text, cell.replace("|", "/")) for text, cell in rows]
    project.take(write_csv(tmp_path / "t.csv", rows, ("text", "rights")))
    assert {*project.store.counts()} == {"exec", "list", "read/write"}


def test_rows_of_several_inputs(tmp_path: Path) -> None:
    rows = [(f"is it red {n}?", ("yes", "")[n % 2], ("Berlin", "Paris")[n % 2], str(n)) for n in range(20)]
    rows.append(("", "only an answer", "", ""))
    project = Project.open(tmp_path / "desk")
    rows += [rows[0], (*rows[1][:2], "Bonn", "1")]
    project.take(
        write_csv(tmp_path / "t.csv", [*rows, ("", "", "Rome", "9")], ("question", "answer", "label", "price"))
    )
    project.read(text="question", without_labels=True, other_texts=["answer"], columns=["label", "price"])
    assert "1 row has no text and is left out" in project.store.facts["found"]
    assert project.store.repeats([1, 2]) == [22], "with the same values in all columns"
    label(project, [1, 2, 21], "a")
    given = pl.read_csv(project.write_labels())
    assert given.columns == ["question", "answer", "label", "price", "label_"], "as in the table of the person"
    assert given.rows()[2] == ("", "only an answer", "", "", "a")
    project.write_lesson()
    lesson = pl.read_csv(project.folder / "labels.csv")
    assert lesson.columns == ["question", "answer", "label", "price", "label_", "way", "id"]
    assert lesson.rows()[2] == ("", "only an answer", "", "", "a", "random", 21)
    read = InputsRead.of(project.store.facts)
    assert project.settings() == {
        "task": "classes", "text": ["question", "answer"], "columns": "label,price", "label": "label_"
    }  # fmt: skip
    assert read.words(project.store.labelled())[:2] == ["is it red 0?\nyes\nBerlin\n0", "is it red 1?\nParis\n1"]
    shop = Category(name="label", values=("Berlin", "Paris"))
    inputs = Inputs(texts=("question", "answer"), columns=(shop, Number(name="price", edges=(5,))))
    row = {"question": "is it red 0?", "answer": "yes", "label": "Berlin", "price": 0}
    assert read.asked(project.store.labelled(), inputs)[0] == inputs.compose(row)


def test_a_project_of_before_is_opened(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(4))
    label(project, [2], "praise")
    project.store.put_classes(["good"])  # so it was renamed while a skip hid the label
    skip = project.store.decide(Decision(texts=[2], kind="skip", who="ann", way="second"))
    project.store.rows("UPDATE texts SET decision = (SELECT id FROM decisions WHERE batch = ?) WHERE id = 2", skip)
    assert project.store.counts() == {}, "a skip took labels away"
    project.store.rows("DROP INDEX repeats")
    for table in ("renames", "unseen"):
        project.store.rows(f"DROP TABLE {table}")
    for view in ("disputed", "opinions"):
        project.store.rows(f"DROP VIEW temp.{view}")
        project.store.rows(f"DROP VIEW {view}")
        project.store.rows(f"CREATE VIEW {view} AS SELECT text FROM decisions")
    columns = ("texts DROP COLUMN beside", "texts DROP COLUMN same", "texts DROP COLUMN row")
    for column in (*columns, "decisions DROP COLUMN giver", "decisions DROP COLUMN stands"):
        project.store.rows(f"ALTER TABLE {column}")
    project.store.rows("PRAGMA user_version = 1")
    project.store.close()
    again = Project.open(tmp_path / "desk")
    assert again.store.counts() == {"praise": 1}
    assert again.store.classes == ["good", "praise"]
    assert again.store.value("SELECT count(beside) FROM texts") == 0
    assert again.store.repeats([1]) == []
    assert again.store.labelled()["row"].to_list() == [2]
    assert labels_by_person(again.store) == {}
    again.store.undo("me")
    assert again.store.classes == ["good"], "it may have been added by hand"


def test_a_folder_is_a_table_too(tmp_path: Path) -> None:
    classes = tmp_path / "classes"
    for name in ("praise", "blame"):
        (classes / name).mkdir(parents=True)
        for number in range(3):
            (classes / name / f"{number}.txt").write_text(f"{name} number {number}")
    (classes / ".hidden").write_text("")
    project = Project.open(tmp_path / "desk")
    project.take(classes)
    assert project.store.counts() == {"praise": 3, "blame": 3}
    assert project.table == tmp_path / "desk" / "tables" / "classes"
    assert sorted(path.name for path in project.table.iterdir()) == ["blame", "praise"]
    shards = tmp_path / "shards"
    shards.mkdir()
    for number in range(2):
        write_csv(shards / f"{number}.csv", [(f"good film {number}", "yes")], ("text", "useful"))
    project.take(shards)
    assert project.store.counts() == {"yes": 2}
    project.read(without_labels=True)
    assert project.store.value("SELECT count(*) FROM texts") == 2
    with pytest.raises(UsageError, match="is a folder that holds the folder"):
        project.take(tmp_path)
    assert project.store.facts["table"] == "shards", "nothing is changed"


def test_a_table_that_is_not_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(UsageError, match="is empty"):
        Project.open(tmp_path / "desk").take(tmp_path / "empty.csv")
    with pytest.raises(UsageError, match="no column 'other'"):
        project_of(tmp_path, some_texts(4)).read(text="other")


def test_labels_of_one_table_are_not_put_on_another(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(4))
    label(project, [2], "praise")
    with pytest.raises(UsageError, match=r"holds labels of texts\.csv; name another folder"):
        project.take(write_csv(tmp_path / "u.csv", [("x",)], ("text",)))
    with pytest.raises(UsageError, match="the columns stay"):
        project.read(text="text")
    assert project.store.counts() == {"praise": 1}


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"holds 'thesis\.txt' and no project of a desk"):
        Project.open(tmp_path)
    with pytest.raises(UsageError, match="is a file"):
        Project.open(tmp_path / "thesis.txt")


def test_the_labels_of_a_workbook_are_downloaded_as_one(tmp_path: Path) -> None:
    rows = [["Nr", "text", "label"], ["007", "=HYPERLINK(1)", "a"], ["008", "schön", ""]]
    (tmp_path / "t.xlsx").write_bytes(xlsx({"Answers": rows, "Notes": [["by me"]]}))
    project = Project.open(tmp_path / "desk")
    project.take(Path(f"{tmp_path / 't.xlsx'}#Answers"))
    written = project.write_labels()
    assert written.suffix == ".xlsx"
    (found,) = iterate_rows(written, rows_per_batch=9)
    assert found.rows() == [("007", "=HYPERLINK(1)", "a")]


def test_a_class_with_one_text_is_not_learned_yet(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(5), given=["praise", "blame", "praise", "blame", "other"])
    assert project.write_lesson()["label"].to_list() == ["praise", "blame", "praise", "blame"]
    assert project.write_labels().read_text().splitlines()[-1] == "good film number 4,other"


def test_the_labels_that_are_downloaded_are_separated_as_the_table_is(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text;label;n\ngood, really;a;3,5\nbad;b;4,5\n", encoding="utf-8")
    project = Project.open(tmp_path / "desk")
    project.take(tmp_path / "t.csv")
    assert project.write_labels().read_text(encoding="utf-8-sig").splitlines() == [
        "text;label;n", "good, really;a;3,5", "bad;b;4,5"
    ]  # fmt: skip


def test_the_labels_of_a_table_in_a_named_encoding_are_downloaded(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("text,label\nschön,a\n".encode("cp037"))
    project = Project.open(tmp_path / "desk")
    with reading_as("cp037"):
        project.take(tmp_path / "t.csv")
    assert project.write_labels().read_text(encoding="utf-8-sig").splitlines() == ["text,label", "schön,a"]


def test_the_labels_that_are_downloaded_are_for_a_spreadsheet(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [("=HYPERLINK(1)", "a"), ("schön", "b")])
    project = Project.open(tmp_path / "desk")
    project.take(table)
    assert project.write_labels().read_bytes().startswith(codecs.BOM_UTF8)
    assert project.write_labels().read_text(encoding="utf-8-sig").splitlines()[1:] == [
        "'=HYPERLINK(1),a", "schön,b"
    ]  # fmt: skip


def test_a_person_chooses_columns_that_are_not_clear(tmp_path: Path) -> None:
    rows = [(f"one remark {n}", f"other words {n}") for n in range(20)]
    with Project.opened(tmp_path / "desk", write_csv(tmp_path / "t.csv", rows, ("first", "second"))) as project:
        assert project.store.facts["found"] == [
            "it is not clear which columns hold the texts and the labels: choose them here"
        ]
        assert project.store.value("SELECT count(*) FROM texts") == 0
        project.read(text="second", without_labels=True)
        assert project.store.value("SELECT count(*) FROM texts") == 20


def test_the_encoding_is_said_and_a_named_one_is_kept(tmp_path: Path) -> None:
    rows = "".join(f"дом номер {n},{'да' if n % 2 else 'нет'}\n" for n in range(20))
    (tmp_path / "t.csv").write_bytes(f"text,label\n{rows}".encode("cp1251"))
    with Project.opened(tmp_path / "desk", tmp_path / "t.csv") as project:
        assert project.store.facts["found"][0].startswith("read as Windows-1251: ")
    (tmp_path / "t.csv").write_bytes(f"text,label\n{rows}".encode("cp855"))
    with reading_as("cp855"), Project.opened(tmp_path / "named", tmp_path / "t.csv") as project:
        assert project.store.classes == ["да", "нет"]
    with Project.opened(tmp_path / "named", None) as project:
        assert "дом номер 0" in project.columns()[0]["shown"]
        project.read(text="text", without_labels=True)
        assert project.store.value("SELECT text FROM texts") == "дом номер 0"


def test_a_table_that_is_damaged_far_below_its_beginning_is_said_so(tmp_path: Path) -> None:
    rows = "".join(f"film number {n},{'good' if n % 2 else 'bad'}\n" for n in range(ROWS_PER_BATCH + 5))
    (tmp_path / "t.csv").write_text(f"text,label\n{rows}odd,row,here\n")
    with Project.opened(tmp_path / "desk", tmp_path / "t.csv") as project:
        (said,) = project.store.facts["found"]
        assert "has 3 fields where the header has 2" in said


def test_a_project_without_a_table_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "desk").mkdir()
    with pytest.raises(UsageError, match="is empty"), Project.opened(tmp_path / "desk", tmp_path / "empty.csv"):
        pass
    assert list((tmp_path / "desk").iterdir()) == []
