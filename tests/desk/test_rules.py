"""Rules that people write at the desk."""

import json
import shlex
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from glassformer.desk.app import create_desk
from glassformer.desk.classes import add_classes, move_class
from glassformer.desk.project import Project
from glassformer.desk.rounds import Rounds
from glassformer.desk.rules import checked
from glassformer.errors import UsageError
from tests.desk.samples import learn, project_of, some_texts, trained_already
from tests.trained import Trained

RULES = '# what we know\n"good" -> praise\n"bad" -> blame 1.5\n/n\\d+/ -> not late'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = project_of(tmp_path, some_texts(40), given=["praise", "blame"] * 20)
    add_classes(project.store, ["late"])
    return project


def test_rules_are_checked_and_kept(project: Project) -> None:
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")

        def given(rules: str) -> str:
            answer = client.post("/desk/settings", json={"rules": rules})
            return str(answer.json()["rules" if answer.status_code == 200 else "reason"])

        assert given(f"\r\n{RULES}\n".replace("\n", "\r\n")) == RULES
        assert given("good -> praise").startswith('Rules, line 1: good -> praise is not a rule; write "a phrase" -> ')
        assert given('"good" -> prise').startswith("Rules, line 1: no label 'prise'. Did you mean 'praise'?")
        assert given('"good" -> praise\n/[/ -> blame').startswith("Rules, line 2: the pattern [ cannot be used")
        assert given("# nothing").startswith("Rules holds no rule; write one on each line")
        assert client.get("/desk/state").json()["rules"] == RULES, "what was refused changed nothing"
        assert client.post("/desk/settings", json={"wrong": 2}).json()["rules"] == RULES
        changed = client.post("/desk/settings", json={"rules": '"good" -> praise', "rules_before": "# another tab"})
        assert changed.status_code == 422
        assert "changed elsewhere meanwhile" in changed.json()["reason"]
        assert project.store.facts["rules"] == RULES
        assert given(" ") == ""
        assert project.rules() == ("", [])


def test_the_end_of_a_path_is_known_in_a_rule(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(20), given=["Food > Fruit", "Tools > Saw"] * 10)
    labelling, names = project.store.labelling, project.store.classes
    with pytest.raises(UsageError, match=r"no label 'saw'\. Did you mean 'Tools > Saw'\?"):
        checked('"good" -> saw', labelling, names)


def test_a_round_reads_the_rules_about_classes_that_it_learns(
    project: Project, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_already(monkeypatch, reviews)
    project.store.note(rules=RULES)
    file = project.folder / "rules.txt"
    why = "Rules, line 4: no label 'late'."
    assert project.rules()[1][0].startswith(why)
    desk = create_desk(project, learn)
    command = _round_of(desk.rounds)
    table, out, rules = (str(project.folder / name) for name in ("labels.csv", "models/round-0001", "rules.txt"))
    assert command == ["learn", table, out, "classes", rules]
    assert file.read_text() == RULES.replace("/n", "# /n") + "\n"
    assert project.settings() == {"task": "classes"}, "other commands know no rules"
    move_class(project.store, "blame", "complaint", "me")
    content, waiting = project.rules()
    assert [line.startswith("#") for line in content.split("\n")] == [True, False, True, True]
    assert len(waiting) == 2
    move_class(project.store, "praise", "fine", "me")
    assert project.rules()[0] == ""
    assert "rules.txt" not in _round_of(desk.rounds)


def _round_of(rounds: Rounds) -> list[str]:
    rounds.begin()
    assert rounds._thread is not None
    rounds._thread.join()
    return shlex.split(rounds.project.store.rounds()[-1]["command"])


def test_an_export_holds_the_rules_and_replaces_no_others(project: Project, tmp_path: Path) -> None:
    project.store.note(rules=RULES)
    written = project.export(tmp_path / "kept")
    assert [path.name for path in written] == ["labels.csv", "decisions.csv", "rules.txt"]
    assert written[-1].read_text() == f"{RULES}\n", "also those that wait"
    other = tmp_path / "mine"
    other.mkdir()
    (other / "rules.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"rules\.txt is there already, and no earlier export wrote it"):
        project.export(other)
    assert (other / "rules.txt").read_text() == "mine"
    project.store.note(rules="")
    assert len(project.export(other)) == 2


def test_rules_of_a_number_and_of_nothing(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(20), given=["1", "2.5"] * 10)
    project.read(text="text", label="label", task="number")
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        assert client.post("/desk/settings", json={"rules": '"good" -> +2'}).status_code == 200
        refused = client.post("/desk/settings", content=json.dumps({"rules": '"good" -> 2'}),
                              headers={"content-type": "application/json"})  # fmt: skip
        assert refused.json()["reason"] == "Rules, line 1: write +2 to add it, or 2 always to decide"
        assert project.rules() == ('"good" -> +2', [])
        project.read(text="text", without_labels=True, task="classes")
        assert project.rules() == ("", []), "another table begins without rules"
        refused = client.post("/desk/settings", json={"rules": '"good" -> praise'})
        assert "there is none yet; label some texts first" in refused.json()["reason"]
