"""Classes with levels at the desk."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from fastapi.testclient import TestClient

from glassformer.desk.app import create_desk
from glassformer.desk.classes import move_class
from glassformer.desk.labelling import labelling_of
from glassformer.desk.project import Project
from glassformer.errors import UsageError
from glassformer.targets.labels.evaluation_levels import hierarchical
from glassformer.targets.labels.levels import Tree
from tests.desk.samples import label, learn, project_of, some_texts
from tests.trained import write_csv

PATHS = ["Food > Fruit > Apple", "Food > Fruit > Pear", "Tools > Power", "Tools > Hand > Saw"]
FOUND = "labels have levels, with ' > ' in between: each is a path, measured at each level"
LEVELS = labelling_of({"task": "classes", "levels": " > "})


def test_labels_with_levels_are_found_and_learned_as_the_command_does(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(40), given=PATHS * 10)
    assert project.store.classes == sorted(PATHS)
    assert FOUND in project.store.facts["found"]
    assert project.settings() == {"task": "classes", "levels": " > "}
    project.read(text="text", label="label", task="classes")
    assert project.settings() == {"task": "classes"}
    assert FOUND not in project.store.facts["found"]
    project.read(text="text", label="label", task="classes", levels=" > Fruit > ")
    assert project.store.classes[:2] == ["Food > Fruit > Apple", "Food > Fruit > Pear"]
    (tmp_path / "another").mkdir()
    assert "levels" not in str(project_of(tmp_path / "another", ["a film"]).store.facts["found"])


def test_levels_in_several_columns_are_joined(tmp_path: Path) -> None:
    rows = [(f"text number {number}", "Food", "Fruit" if number % 2 else "", "Pear", "red") for number in range(20)]
    rows.append(("not labelled", "", "Fruit", "", ""))
    project = Project.open(tmp_path / "desk")
    project.take(write_csv(tmp_path / "t.csv", rows, ("text", "aisle", "kind", "sort", "colour")))
    project.read(text="text", label="aisle", lower=["kind", "sort"], columns=["colour"])
    assert project.store.classes == ["Food", "Food > Fruit > Pear"]
    assert project.store.left() == 1
    assert project.settings() == {
        "task": "classes", "levels": " > ", "text": ["text"], "columns": "colour", "label": "label"
    }  # fmt: skip
    project.read(text="text", label="aisle", lower=["kind"], levels="::")
    assert project.store.classes == ["Food", "Food::Fruit"]
    with pytest.raises(UsageError, match="and `label=` none; name there the column of the highest"):
        project.read(text="text", without_labels=True, lower=["kind"])
    with pytest.raises(UsageError, match="'kind' cannot be both `columns=` and `label=`"):
        project.read(text="text", label="aisle", lower=["kind"], columns=["kind"])
    with pytest.raises(UsageError, match="joined by 'oo' these are other levels"):
        project.read(text="text", label="aisle", lower=["kind"], levels="oo")


def test_levels_in_several_columns_are_given_back_in_them(tmp_path: Path) -> None:
    rows = [("a pear", "Food", "Fruit", "red"), ("bread", "Food", "", "brown"), ("a saw", "", "", "grey")]
    project = Project.open(tmp_path / "desk")
    project.take(write_csv(tmp_path / "t.csv", rows, ("text", "aisle", "kind", "colour")))
    project.read(text="text", label="aisle", lower=["kind"])
    label(project, [3], "Tools > Hand > Saw")
    assert pl.read_csv(project.write_labels()).rows() == [
        ("a pear", "Food", "Fruit", "red"), ("bread", "Food", "", "brown"), ("a saw", "Tools", "Hand > Saw", "grey")
    ]  # fmt: skip


def test_nothing_is_said_of_levels_before_a_label_has_some(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(40))
    project.read(text="text", without_labels=True, task="classes", levels=" > ")
    for number, name in enumerate(("Food", "Food", "Tools", "Tools"), 1):
        label(project, [number], name)
    assert project.settings() == {"task": "classes"}, "train refuses levels that no label has"
    label(project, [5, 6], LEVELS.cell(" Food > Fruit "))
    assert project.settings() == {"task": "classes", "levels": " > "}


def test_a_path_is_kept_without_empty_levels() -> None:
    assert LEVELS.cell("  Food  >  > Fruit ") == "Food > Fruit"
    assert LEVELS.from_table(pl.Series(["Food >  Fruit", None, ""])).to_list() == ["Food > Fruit", None, None]
    with pytest.raises(UsageError, match="the last level of 'Food >' has no name; type one, or end the path before it"):
        LEVELS.cell("Food > ")


def test_figures_are_those_of_the_report() -> None:
    pairs = [("Food > Fruit > Apple", "Food > Fruit > Pear")] * 3 + [("Food > Bread", "Food > Fruit > Apple")] * 2
    pairs += [("Tools", "Tools > Hand")] + [("Food > Bread", "Food > Bread")] * 4
    names = sorted({name for pair in pairs for name in pair})
    tree = Tree.of(names, " > ")
    truth, given = ([tree.of_class[names.index(pair[side])] for pair in pairs] for side in (0, 1))
    f1 = hierarchical(tree, pl.Series(given).to_numpy(), pl.Series(truth).to_numpy()).f1.value
    assert LEVELS.by_level(Counter(pairs)) == f"level 1 100%, level 2 78%, level 3 0%; hierarchical F1 {f1:.0%}"
    assert f1 == pytest.approx(2 * 17 / (3 * 6 + 2 * 5 + 3 + 4 * 4))
    found = LEVELS.figure(pairs)
    assert found.said.startswith("right on 4 of 10 texts (likely 17% to 69%), by level: level 1 100%, level 2 78%")
    assert found.estimate.value == 0.4
    assert LEVELS.by_level({}) is None
    assert labelling_of({"task": "classes"}).by_level(Counter(pairs)) is None


def test_an_error_is_the_worse_the_higher_it_is() -> None:
    assert LEVELS.distance("a > b > c", "a > b > c") == 0
    assert LEVELS.distance("a > b > c", "a > b > d") == pytest.approx(1 / 3)
    assert LEVELS.distance("a > b", "a") == pytest.approx(1 / 3)
    assert LEVELS.distance("a > b", "c > b") == 1, "the same name below another level"
    assert LEVELS.loss("a > b", "a > c") == 1, "what it costs does not depend on the level, as for the command"


def test_texts_are_found_by_their_upper_levels(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(8), given=[*PATHS, "Food", "Foodstuff", "", ""])
    project.read(text="text", label="label", task="classes", levels=" > ")
    answers = [(1, "Food > Fruit > Pear", 0.9), (2, "Tools > Power", 0.6), (3, "Tools > Hand > Saw", 0.95)]
    project.store.keep_unseen(pl.DataFrame(answers, ["id", "answered", "probability"], orient="row"), number=1)
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")

        def listed(**asked: str) -> list[int]:
            return [text["id"] for text in client.get("/desk/texts", params=asked).json()["texts"]]

        assert listed(label="Food > ") == [1, 2, 5]
        assert listed(label="Food") == [5]
        assert listed(label="Food > Fruit > ", answered="Tools > ") == [2]
        assert listed(state="wrong") == [2, 3, 1], "the farthest off first"
        found = client.get("/desk/unseen").json()
        assert found["by_level"] == "level 1 67%, level 2 33%, level 3 0%; hierarchical F1 38%"
        state = client.get("/desk/state").json()
        assert (state["task"], state["levels"], state["lower"]) == ("classes", " > ", [])


def test_a_path_gets_another_name_alone(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(8), given=[*PATHS, "Food", "Food", "", ""])
    project.read(text="text", label="label", task="classes", levels=" > ")
    assert move_class(project.store, "Food", "Food > Bread", "me") == 2
    assert project.store.counts() == {**dict.fromkeys(PATHS, 1), "Food > Bread": 2}


def test_a_level_gets_another_name_with_all_classes_below(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(8), given=[*PATHS, "Food", "Food > Bread", "", ""])
    project.read(text="text", label="label", task="classes", levels=" > ")
    store, before = project.store, project.store.classes
    assert move_class(store, "Food > ", "Meals", "me") == 4
    meals = ["Meals", "Meals > Bread", "Meals > Fruit > Apple", "Meals > Fruit > Pear"]
    assert store.classes == [*meals, *before[4:]]
    assert move_class(store, "Meals > Fruit > ", "Tools", "me") == 2
    assert store.counts() == dict.fromkeys([*meals[:2], "Tools > Apple", "Tools > Pear", *PATHS[2:]], 1)
    store.undo("me")
    store.undo("me")
    assert (store.classes, store.counts()) == (before, dict.fromkeys(before, 1))
    label(project, [7], "Food > Bread > Bread")
    answers = [(8, "Food", 0.9), (7, "Food > Bread", 0.6)]
    store.suggest(pl.DataFrame(answers, ["id", "label", "probability"], orient="row").with_columns(place=0), number=1)
    assert move_class(store, "Food > ", "Food > Bread", "me") == 5
    assert store.value("SELECT count(*) FROM current WHERE label = 'Food > Bread > Bread > Bread'") == 1
    assert {row["id"]: row["label"] for row in store.rows("SELECT text AS id, label FROM suggestions")} == {
        8: "Food > Bread", 7: "Food > Bread > Bread"
    }  # fmt: skip
    assert store.value("SELECT label FROM current WHERE text = 5") == "Food > Bread"
    assert store.value("SELECT label FROM current WHERE text = 6") == "Food > Bread > Bread"


def test_a_level_is_renamed_by_the_page(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(8), given=[*PATHS, *PATHS])
    project.read(text="text", label="label", task="classes", levels=" > ")
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        asked = {"name": "Food > ", "to": "Meals", "who": "me"}
        found = client.post("/desk/classes", json=asked).json()
        assert [each["name"] for each in found["classes"]][:2] == ["Meals > Fruit > Apple", "Meals > Fruit > Pear"]
        for refused in (asked, {"name": "Tools > Other", "before": "Tools > ", "who": "me"}):
            answer = client.post("/desk/classes", json=refused)
            assert (answer.status_code, answer.json()["reason"][:11]) == (422, "there is no")
