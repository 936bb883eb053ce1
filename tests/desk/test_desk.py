import json
import shutil
import sqlite3
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi.testclient import TestClient

from glassformer.cli.serve import in_words
from glassformer.desk import project_routes
from glassformer.desk.app import Desk, create_desk
from glassformer.desk.choosing import RANDOM_EVERY
from glassformer.desk.filling import fill
from glassformer.desk.labelling import labelling_of
from glassformer.desk.learning_chart import kept
from glassformer.desk.measuring import asked_of
from glassformer.desk.project import Project
from glassformer.desk.project_routes import in_page_words
from glassformer.desk.rounds import FEWEST_LABELS, Rounds, more_in_words
from glassformer.desk.shapes import Search
from glassformer.desk.shown import found
from glassformer.desk.store import Store
from glassformer.labels.check import check_labels
from glassformer.labels.learning_curve import Gain, LearningCurve
from glassformer.serving import reloading
from tests.desk.samples import label, learn, project_of, some_texts, trained_already
from tests.trained import NEGATIVE, POSITIVE, Trained, write_csv
from tests.workbooks import xlsx


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return project_of(tmp_path, some_texts(60))


@pytest.fixture
def opened(project: Project) -> Iterator[tuple[TestClient, Desk]]:
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        assert client.get(f"/{desk.app.query}", follow_redirects=False).headers["location"] == "/desk"
        yield client, desk
    desk.rounds.stop()


@pytest.fixture
def client(opened: tuple[TestClient, Desk]) -> TestClient:
    return opened[0]


def label_two_classes(project: Project) -> None:
    label(project, list(range(1, 20)), "praise")
    label(project, list(range(20, 40)), "blame")


def do_a_round(client: TestClient, desk: Desk) -> None:
    assert client.post("/desk/rounds", json={}).status_code == 200
    assert desk.rounds._thread is not None
    desk.rounds._thread.join()


def decided(client: TestClient, texts: list[int], **more: Any) -> dict[str, Any]:
    body = {"texts": texts, "kind": "label", "label": "praise", "who": "me", "way": "random"} | more
    answer = client.post("/desk/decisions", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def refused(client: TestClient, path: str, **body: Any) -> str:
    answer = client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    return str(answer.json()["reason"])


def round_of(client: TestClient, desk: Desk) -> dict[str, Any]:
    """Train, and return what is kept of the round."""
    assert client.post("/desk/rounds", json={}).status_code == 200
    assert desk.rounds._thread is not None
    desk.rounds._thread.join()
    found: dict[str, Any] = desk.rounds.project.store.rounds()[-1]
    return found


def test_without_the_address_nothing_is_answered(project: Project) -> None:
    new: list[str] = []
    desk = create_desk(project, learn, on_used=new.append)
    address = f"/{desk.app.query}"
    with TestClient(desk.app, base_url="http://127.0.0.1") as stranger:
        for path in (
            "/desk",
            "/desk/state",
            "/desk/labelled",
            "/page/page.css",
            "/model",
            "/openapi.json",
            "/health",
        ):
            assert stranger.get(path).status_code == 403, path
        assert stranger.post("/desk/undo", json={"who": "me"}).status_code == 403
        assert stranger.get("/?ticket=guessed").status_code == 403
    with TestClient(desk.app, base_url="http://127.0.0.1") as mine:
        found = mine.get(address, follow_redirects=False)
        cookie = found.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert mine.get("/desk/state").status_code == 200
        assert mine.get("/desk/state", headers={"origin": "http://elsewhere.example"}).status_code == 403
    with TestClient(desk.app, base_url="http://127.0.0.1") as later:
        assert "opened already" in later.get(address).text, "the address works once"
        assert later.get(f"/{new[0]}").status_code == 200, "the terminal shows a new one"


def test_texts_come_one_after_the_other_and_none_twice(client: TestClient) -> None:
    seen: list[int] = []
    for _ in range(60):
        text = client.get("/desk/next", params={"who": "me"}).json()["text"]
        assert text["way"] == "any", "there is no model yet that a text could measure"
        seen.append(text["id"])
        decided(client, [text["id"]], kind="skip", label=None)
    assert sorted(seen) == list(range(1, 61))
    assert seen != sorted(seen), "in a random order"
    assert client.get("/desk/next", params={"who": "me"}).json() == {"text": None}
    assert client.post("/desk/undo", json={"who": "me"}).json()["text"]["id"] == seen[-1]
    assert client.get("/desk/next", params={"who": "me"}).json()["text"]["id"] == seen[-1]


def test_what_others_do_in_my_name_does_not_change_when_a_text_measures_the_model(
    client: TestClient, project: Project
) -> None:
    project.store.suggest(_suggestions(range(1, 61)), number=1)
    ways = []
    for number in range(8):
        text = client.get("/desk/next", params={"who": "ann"}).json()["text"]
        ways.append(text["way"])
        decided(client, [text["id"]], label=f"c{number}", who="ann")
        client.post("/desk/classes", json={"name": f"c{number}", "to": f"C{number}", "who": "ben"})
    assert ways == ["random", "unsure", "unsure", "unsure"] * 2


def test_what_somebody_skipped_comes_last_for_the_others(client: TestClient, project: Project) -> None:
    def asked(who: str) -> int | None:
        text = client.get("/desk/next", params={"who": who}).json()["text"]
        return text and int(text["id"])

    label(project, range(1, 59), "praise")
    decided(client, [59], kind="skip", label=None, who="anna")
    assert (asked("anna"), asked("ben")) == (60, 60)
    decided(client, [60], kind="drop", label=None, who="ben")
    assert (asked("anna"), asked("ben")) == (None, 59)
    decided(client, [59], kind="skip", label=None, who="ben")
    assert asked("ben") is None


def test_a_round_begins_by_itself_and_its_model_chooses(
    opened: tuple[TestClient, Desk], project: Project, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, desk = opened
    trained_already(monkeypatch, reviews)
    begun = [
        decided(client, [number], label=(POSITIVE, NEGATIVE)[number % 2])["round"]
        for number in range(1, FEWEST_LABELS + 1)
    ]
    assert begun == [None] * (FEWEST_LABELS - 1) + [1]
    assert desk.rounds._thread is not None
    desk.rounds._thread.join()
    (found,) = client.get("/desk/state").json()["rounds"]
    assert (found["state"], found["labels"]) == ("done", FEWEST_LABELS)
    assert found["command"] == f"learn {project.folder}/labels.csv {project.folder}/models/round-0001 classes"
    assert found["more"] == "From 60 labels on, this says what more of them would bring"
    ways = []
    for _ in range(2 * RANDOM_EVERY):
        text = client.get("/desk/next", params={"who": "me"}).json()["text"]
        ways.append(text["way"])
        assert text["suggested"] in (POSITIVE, NEGATIVE)
        decided(client, [text["id"]], label=text["suggested"], way=text["way"])
    assert ways.count("random") == 2
    aside = project.store.rows(
        "SELECT draw, way FROM decisions d JOIN texts t ON t.id = d.text WHERE d.way <> 'random'"
    )
    assert min(row["draw"] for row in aside if row["way"] == "unsure") >= 1 / RANDOM_EVERY, (
        "the rest measures the model"
    )
    measured = client.get("/desk/state").json()["measured"]
    assert measured["said"].startswith("the model of round 1 was right on 2 of 2 texts"), (
        "texts that the model chose do not count"
    )
    assert client.post("/explain", json={"text": "good film"}).json()["words"], "the page of the model answers too"
    assert "<html" in client.get("/desk/report/1").text
    assert client.get("/desk/report/2").status_code == 404
    desk.rounds.stop()
    project.store.close()
    again = create_desk(Project.open(project.folder), learn)
    assert list(again.models) == ["desk"], "the model answers after a restart"


def test_a_shown_suggestion_does_not_measure_the_model(client: TestClient, project: Project) -> None:
    project.store.write_round(1, "done", {"labels": 20})
    project.store.suggest(_suggestions(range(1, 61)), number=1)
    decided(client, [1], label="praise")
    decided(client, [2], label="blame")
    decided(client, [3], label="praise", shown=True)
    decided(client, [4], label="praise", way="unsure")
    decided(client, [2], label="praise")  # a change of mind is no second answer of the model
    measured = client.get("/desk/state").json()["measured"]
    assert measured == {"said": "the model of round 1 was right on 1 of 2 texts (likely 9% to 91%)", "of": 2}
    project.store.write_round(2, "done", {"labels": 30})
    project.store.suggest(_suggestions(range(5, 61)), number=2)
    again = client.get("/desk/state").json()["measured"]
    assert again == measured, "the new model has not been measured"
    decided(client, [5], label="praise")
    said = client.get("/desk/state").json()["measured"]["said"]
    assert said.startswith("the models of rounds 1 to 2 were right on 2 of 3 texts")


def test_a_model_is_measured_by_random_texts_that_are_labelled_later_too(client: TestClient, project: Project) -> None:
    project.store.write_round(1, "done", {"labels": 20, "aside": {"1": "praise", "2": "praise", "3": "blame"}})
    project.store.suggest(_suggestions(range(1, 61)), number=1)
    decided(client, [1], label="praise")
    project.store.write_round(2, "done", {"labels": 30, "aside": {"2": "praise", "3": "praise"}})
    project.store.suggest(_suggestions(range(2, 61)), number=2)
    decided(client, [2], label="praise")
    decided(client, [3], label="blame")
    decided(client, [4], label="praise", way="unsure")
    state = client.get("/desk/state").json()
    assert [each["measured"] for each in state["rounds"]] == [
        "right on 100% (44% to 100%; 3)", "right on 50% (9% to 91%; 2)"
    ]  # fmt: skip
    assert not {"aside", "curve"} & {name for each in state["rounds"] for name in each}, "they are not for the page"
    said = "accuracy on random texts: after 20 labels 1 (likely 0.44 to 1), after 30 labels 0.5 (likely 0.095 to 0.91)."
    assert said in state["chart"]


def test_what_more_labels_would_bring_is_drawn_and_said(
    opened: tuple[TestClient, Desk], project: Project, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, desk = opened
    assert client.get("/desk/state").json()["chart"] is None
    trained_already(monkeypatch, reviews)
    label(project, range(1, 60, 2), "praise")
    label(project, range(2, 61, 2), "blame")  # each is bad
    round_of(client, desk)
    state = client.get("/desk/state").json()
    assert "accuracy on labels held out: now 1." in state["chart"], "nothing is left that could be foretold"
    assert "random" not in state["chart"], "none was labelled after the round"
    gains = Gain(more=100, value=0.01, low=0, high=0.02), Gain(more=500, value=0.02, low=0.01, high=0.04)
    curve = LearningCurve(rows=(6, 48), errors=(0.3, 0.2), gains=gains)
    assert [each["more"] for each in kept(curve, 499)["foretold"]] == [100], "no more than there are texts"
    assert kept(replace(curve, gains=(replace(gains[0], low=0.02),)), 500)["foretold"] == []
    assert kept(curve, 500)["foretold"][1] == {
        "more": 500,
        "value": pytest.approx(0.82),
        "low": pytest.approx(0.81),
        "high": pytest.approx(0.84),
    }
    assert not curve.is_enough
    of_numbers = kept(replace(curve, baseline_error=0.5), 500)
    assert (of_numbers["figures"], of_numbers["foretold"][1]["value"]) == ([0.3, 0.2], pytest.approx(0.18))


def test_no_more_labels_are_foretold_than_texts_are_left() -> None:
    check = check_labels(some_texts(60), ["praise", "blame"] * 30)
    gains = Gain(more=100, value=0.03, low=0, high=0.06), Gain(more=500, value=0.04, low=0.01, high=0.08)
    curve = LearningCurve(rows=(6, 48), errors=(0.3, 0.2), gains=gains)
    said = {left: more_in_words(replace(check, curve=curve), left) for left in (99, 292, 500)}
    hundred = "100 more labels would add about 3.0 percentage points of accuracy (likely 0.0 to 6.0)"
    assert said[99] == "Fewer than 100 texts are left, so what they would bring is not foretold"
    assert said[292] == hundred
    assert said[500].startswith(f"{hundred}, and 500 more labels would add about 4.0 ")
    enough = replace(curve, gains=tuple(Gain(more=gain.more, value=0, low=0, high=0.006) for gain in gains))
    assert more_in_words(replace(check, curve=enough), 99).startswith(
        "You can stop: fewer than 100 texts are left, and even"
    )
    mended = tuple(Gain(more=gain.more, value=0.005, low=0.005, high=0.005) for gain in gains)
    assert more_in_words(replace(check, curve=replace(curve, errors=(0.3, 0.005), gains=mended)), 292) == (
        "You can stop: more labels would add at most 0.5 percentage points of accuracy"
    )


def test_sentences_of_the_page_name_its_fields(client: TestClient) -> None:
    chosen = {"text": "text", "label": "text", "task": "classes"}
    assert (
        refused(client, "/desk/columns", **chosen)
        == "Column 'text' cannot be both “Texts” and “Labels”; leave one out."
    )
    twice = {"text": "text", "label": None, "task": "classes", "columns": ["text"]}
    assert "cannot be both “Texts” and “All columns”" in refused(client, "/desk/columns", **twice)
    assert in_page_words("Name it: `text=`, or `task='number'`, not `query=`.") == (
        "Name it: “Texts”, or “Each text gets” (a number), not `query=`."
    )


def test_what_was_found_names_settings_as_the_command_does(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(20))
    project.store.note(found=["It may also be cp850: if so, give `encoding='cp850'`", "by its name: `text=`"])
    desk = create_desk(project, learn, in_words=in_words)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        found = client.get("/desk/state").json()["found"]
    assert found == ["It may also be cp850: if so, give --encoding cp850", "by its name: “Texts”"]


def test_how_far_suggestions_sway(client: TestClient, project: Project) -> None:
    project.store.write_round(1, "done", {"labels": 20})
    project.store.suggest(_suggestions(range(1, 61)), number=1)
    assert client.get("/desk/state").json()["swayed"] is None
    for number in range(1, 5):
        decided(client, [number], way="unsure", shown=True)
        decided(client, [number + 10], way="unsure", label=("praise", "blame")[number % 2])
    swayed = client.get("/desk/state").json()["swayed"]
    assert swayed["hidden"].startswith("right on 2 of 4 texts")
    assert swayed["shown"].startswith("right on 4 of 4 texts")


def test_why_a_round_failed_is_said(
    opened: tuple[TestClient, Desk], reviews: Trained, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, desk = opened
    assert refused(client, "/desk/rounds") == "a model needs at least two classes with 2 texts each"
    label(project, [1, 2, 3], "praise")
    label(project, [4, 5, 6], "blame")
    assert refused(client, "/desk/rounds") == "10 more labels, and the first model is trained"
    label(project, list(range(7, 30)), "blame")
    trained_already(monkeypatch, reviews, "error: the disk is full")
    assert client.post("/desk/rounds", json={}).status_code == 200
    assert desk.rounds._thread is not None
    desk.rounds._thread.join()
    (found,) = client.get("/desk/state").json()["rounds"]
    assert (found["state"], found["reason"]) == ("failed", "error: the disk is full")
    assert not project.model(1).exists()
    assert not desk.models


def test_a_round_waits_for_space_on_the_disk(
    opened: tuple[TestClient, Desk], reviews: Trained, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, desk = opened
    trained_already(monkeypatch, reviews)
    monkeypatch.setattr("glassformer.desk.rounds._WAITING", 0)
    write, full = Store.write_round, [True, True]

    def failing(store: Store, number: int, state: str, record: Any) -> None:
        if full and state == full_at:
            full.pop()
            raise sqlite3.OperationalError("database or disk is full")
        write(store, number, state, record)

    monkeypatch.setattr(Store, "write_round", failing)
    full_at = "running"
    label(project, list(range(1, 13)), "praise")
    label(project, list(range(13, 25)), "blame")
    assert decided(client, [25])["round"] is None, "the label is kept"
    assert client.post("/desk/rounds", json={}).status_code == 507
    assert project.store.rounds() == []
    full_at = "done"
    full.append(True)
    assert decided(client, [26])["round"] == 1
    assert desk.rounds._thread is not None
    desk.rounds._thread.join()
    assert not full
    assert [found["state"] for found in project.store.rounds()] == ["done"]


def test_a_round_that_was_cut_off_is_said_to_be_stopped(project: Project) -> None:
    project.store.write_round(1, "running", {"labels": 20})
    project.model(1).mkdir()
    desk = create_desk(project, learn)
    assert not project.model(1).exists(), "half a model is no use"
    assert desk.rounds.project.store.rounds() == [
        {"number": 1, "state": "stopped", "labels": 20, "reason": "the desk was closed"}
    ]


def test_texts_are_searched_and_labelled_together(client: TestClient) -> None:
    found = client.get("/desk/texts", params={"words": "good NUMBER"}).json()
    assert (found["total"], len(found["texts"])) == (30, 30)
    assert client.get("/desk/texts", params={"words": "100%"}).json()["total"] == 0, "a sign of SQL is a sign"
    decided(client, [text["id"] for text in found["texts"]], way="search")
    assert client.get("/desk/texts", params={"label": "praise"}).json()["total"] == 30
    assert client.get("/desk/texts", params={"state": "open", "page": 0}).json()["total"] == 30
    assert client.get("/desk/texts", params={"page": 1}).json()["texts"][0]["id"] == 51
    alike, labelled = client.get("/desk/alike/2").json()["texts"], client.get("/desk/alike/1").json()["labelled"]
    assert alike
    assert all(text["text"].startswith("bad") for text in alike), "those without a label"
    assert len(labelled) == 5
    assert 1 not in [text["id"] for text in labelled]
    assert all((text["text"][:4], text["label"]) == ("good", "praise") for text in labelled), "those that were learned"
    assert client.post("/desk/undo", json={"who": "me"}).json()["texts"] == 30


def test_a_class_is_split_by_a_phrase(client: TestClient, project: Project) -> None:
    label(project, list(range(1, 61, 2)), "praise")
    search = {"words": '"film number 1"', "state": "labelled", "label": "praise"}
    body = {"kind": "label", "label": "one to", "who": "me", "way": "class", "found": search}
    assert client.get("/desk/texts", params=search).json()["total"] == 5, "10 to 18"
    assert client.get("/desk/texts", params=search | {"words": "1 film"}).json()["total"] == 5, "words in any order"
    assert client.get("/desk/texts", params=search | {"words": '"number film"'}).json()["total"] == 0
    assert client.post("/desk/decisions", json=body).json()["texts"] == 5
    assert project.store.counts() == {"praise": 25, "one to": 5}
    assert project.store.value("SELECT count(*) FROM decisions WHERE label = 'praise'") == 30, "the history stays"
    assert "no text any more" in refused(client, "/desk/decisions", **body)
    assert "or about all that are `found`" in refused(client, "/desk/decisions", **body, texts=[1])
    assert client.post("/desk/undo", json={"who": "me"}).json()["texts"] == 5
    assert project.store.counts()["praise"] == 30


def test_several_classes_are_joined_and_split(client: TestClient, project: Project) -> None:
    client.post("/desk/columns", json={"text": "text", "label": None, "task": "several"})
    assert client.get("/desk/state").json()["panel"] == "classes"
    decided(client, [1, 3], label="praise|price")
    decided(client, [2], label="blame")
    decided(client, [4], label="")  # none of the classes
    state = client.get("/desk/state").json()
    assert state["classes"] == [
        {"name": name, "texts": texts} for name, texts in (("praise", 2), ("price", 2), ("blame", 1))
    ]
    assert (state["labelled"], state["left"]) == (4, 56)
    assert client.get("/desk/texts", params={"label": "price"}).json()["total"] == 2
    decided(client, [1, 2], label="long", beside=True, way="search")
    decided(client, [3], label="cheap", beside=True, instead="price", way="class")
    assert project.store.labelled()["label"].to_list() == ["long|praise|price", "blame|long", "cheap|praise", ""]
    client.post("/desk/classes", json={"name": "cheap", "to": "price", "who": "me"})
    assert project.store.counts() == {"praise": 2, "price": 2, "long": 2, "blame": 1}
    assert project.lesson()["label"].to_list() == ["long|praise|price", "long", "praise|price", ""]
    client.post("/desk/undo", json={"who": "me"})
    assert project.store.counts()["cheap"] == 1


def test_one_of_several_classes_is_not_split_by_its_name(client: TestClient, project: Project) -> None:
    client.post("/desk/columns", json={"text": "text", "label": None, "task": "several"})
    decided(client, [1, 2], label="price|delivery")
    said = "a class cannot hold |, which stands between classes; type another name, such as 'cost/value'"
    assert refused(client, "/desk/classes", name="price", to="cost|value", who="me") == said
    assert refused(client, "/desk/classes", name="cost|value", who="me") == said
    assert "is empty; type a name" in refused(client, "/desk/classes", name="price", to=" ", who="me")
    assert project.store.counts() == {"price": 2, "delivery": 2}
    assert decided(client, [3], label="price|delivery")["texts"] == 1, "these are two classes"
    assert labelling_of({"task": "classes"}).name("cost|value") == "cost|value", "nothing stands between classes there"


def test_numbers_are_given(client: TestClient, project: Project) -> None:
    client.post("/desk/columns", json={"text": "text", "label": None, "task": "number"})
    decided(client, [1], label="3,5")
    assert "is not a number" in refused(
        client, "/desk/decisions", texts=[2], kind="label", label="many", who="me", way="any"
    )
    assert refused(client, "/desk/rounds") == "a model needs at least two different numbers"
    project.store.write_round(1, "done", {"labels": 20})
    project.store.suggest(_suggestions(range(2, 61)).with_columns(label=pl.lit("2.5"), probability=None), number=1)
    decided(client, [2], label="3")
    state = client.get("/desk/state").json()
    assert state["measured"]["said"] == "the model of round 1 was off by 0.5 on 1 text, which is too few to tell"
    assert (state["automatic"], state["classes"], state["class_notes"]) == ([], [], [])


def test_ordered_classes_change_places(client: TestClient, project: Project) -> None:
    client.post("/desk/columns", json={"text": "text", "label": None, "task": "ordered"})
    for texts, name in (([1, 2], "good, or fine"), ([3, 4], "bad"), ([5], "rare")):
        decided(client, texts, label=name)
    assert client.get("/desk/state").json()["ordered"] is True
    client.post("/desk/classes", json={"name": "bad", "before": "good, or fine", "who": "me"})
    assert project.store.classes == ["bad", "good, or fine", "rare"]
    client.post("/desk/classes", json={"name": " so so ", "before": "good, or fine", "who": "me"})
    decided(client, [6], label="so so")
    assert project.store.classes == ["bad", "so so", "good, or fine", "rare"]
    client.post("/desk/undo", json={"who": "me"})
    assert project.store.classes == ["bad", "good, or fine", "rare"]
    for before in ("bad", "worse"):
        said = refused(client, "/desk/classes", name=" bad", before=before, who="me")
        assert said == f"there is no other class '{before}'"
    both = refused(client, "/desk/classes", name="bad", before="rare", to="rare", who="me")
    assert both == "`before` puts a class in its place, and `to` gives its texts another one; leave one out"
    assert project.store.classes == ["bad", "good, or fine", "rare"]
    assert project.settings() == {"task": "ordered", "order": 'bad,"good, or fine"'}


def test_doubtful_labels_are_listed_until_they_are_decided(client: TestClient, project: Project) -> None:
    label(project, [1], "blame")
    label(project, [2], "praise")
    doubts = [
        {"id": 1, "label": "blame", "suggested": "praise", "why": "doubtful label"},
        {"id": 2, "label": "praise", "suggested": "blame", "why": "doubtful label"},
    ]
    project.store.note(doubts=doubts)
    found = client.get("/desk/doubts").json()["doubts"]
    assert [doubt["text"]["text"] for doubt in found] == ["good film number 0", "bad film number 1"]
    decided(client, [1], way="doubt", label="praise")
    decided(client, [2], way="doubt", label="praise")  # it was right
    assert client.get("/desk/doubts").json()["doubts"] == []


def test_doubts_have_the_present_names_of_the_classes(client: TestClient, project: Project) -> None:
    label(project, [1, 2], "payment")
    label(project, [3], "return")
    batch = {"batch": project.store.last_batch}
    of_label = {"id": 1, "label": "payment", "suggested": "return", "why": "doubtful label"} | batch
    contradicted = {"other": 2, "other_label": "payment", "why": "nearly the same text, other label"}
    project.store.note(doubts=[of_label, {"id": 3, "label": "return", "suggested": "payment"} | contradicted | batch])
    client.post("/desk/classes", json={"name": "payment", "to": "money", "who": "me"})
    first, second = client.get("/desk/doubts").json()["doubts"]
    assert (first["label"], first["suggested"]) == ("money", "return")
    assert (second["label"], second["suggested"], second["other_label"]) == ("return", "money", "money")
    client.post("/desk/undo", json={"who": "me"})
    assert client.get("/desk/doubts").json()["doubts"][0]["label"] == "payment"


def test_a_contradiction_is_shown_with_the_other_text_until_one_is_mended(
    tmp_path: Path, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_already(monkeypatch, reviews)
    late = "the parcel with the blue lamp came three days late and it was broken"
    project = project_of(tmp_path, [*some_texts(20), late, f"{late} too"])
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        label(project, [*range(1, 21, 2), 21], "praise")
        label(project, [*range(2, 21, 2), 22], "blame")
        do_a_round(client, desk)
        why = "nearly the same text, other label"
        one, other = (each for each in client.get("/desk/doubts").json()["doubts"] if each["why"] == why)
        assert (one["id"], one["other"]["id"], one["other"]["label"]) == (21, 22, "blame")
        assert (other["id"], other["other"]["text"], other["other"]["label"]) == (22, late, "praise")
        decided(client, [21], way="doubt", label="praise")  # kept: the other may be wrong
        left = [each["id"] for each in client.get("/desk/doubts").json()["doubts"] if each["why"] == why]
        assert left == [22]
        decided(client, [21], way="doubt", label="blame")
        assert not any(each["why"] == why for each in client.get("/desk/doubts").json()["doubts"])


def test_classes_that_wait_and_spellings_of_one_are_told(client: TestClient, project: Project) -> None:
    def told() -> Any:
        return client.get("/desk/state").json()["class_notes"]

    label(project, [1, 2, 3], "Lieferung")
    label(project, [4, 5], "Storno")
    assert told() == []
    label(project, [6], "Rechnung")
    assert told() == ["1 label waits: class 'Rechnung' has one row; a class needs 2"]
    label(project, [7], "lieferung")
    waiting, same = told()
    assert waiting == "2 labels wait: the classes 'Rechnung', 'lieferung' have one row each; a class needs 2"
    assert same == (
        "some classes differ only by case or white space: 'Lieferung' (3) = 'lieferung' (1); "
        "if they mean the same, the step Mend joins them"
    )
    client.post("/desk/classes", json={"name": "lieferung", "to": "Lieferung", "who": "me"})
    label(project, [8], "Rechnung")
    assert told() == []
    label(project, [8], "Storno", who="ann")  # people differ, so the model does not learn the text yet
    assert told() == ["1 label waits: class 'Rechnung' has one row; a class needs 2"]


def test_a_class_of_several_waits_too(client: TestClient) -> None:
    client.post("/desk/columns", json={"text": "text", "label": None, "task": "several"})
    decided(client, [1], label="a|b")
    decided(client, [2], label="a")
    (waiting,) = client.get("/desk/state").json()["class_notes"]
    assert waiting.startswith("1 label waits: class 'b'")


def test_a_class_with_one_text_does_not_end_the_check(
    opened: tuple[TestClient, Desk], reviews: Trained, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, desk = opened
    trained_already(monkeypatch, reviews)
    label(project, [*range(1, 41, 2), 42], "praise")
    label(project, range(2, 41, 2), "blame")
    label(project, [44], "rare")
    label(project, range(45, 60, 2), "praise")
    label(project, range(46, 60, 2), "blame")
    found = round_of(client, desk)
    assert "unchecked" not in found
    assert "more" in found
    assert client.get("/desk/doubts").json()["doubts"][0]["id"] == 42


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["the same"] * 20, "have the same text, so none can be held out"),
        ([chr(ord("一") + number) * 5 for number in range(60)], "one answer for all; label more texts"),
    ],
)
def test_a_check_that_fails_says_why(
    tmp_path: Path, reviews: Trained, monkeypatch: pytest.MonkeyPatch, texts: list[str], why: str
) -> None:
    trained_already(monkeypatch, reviews)
    project = project_of(tmp_path, texts, given=["praise", "blame"] * (len(texts) // 2))
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        found = round_of(client, desk)
        assert found["state"] == "done"
        assert found["unchecked"].endswith(why)
        assert found["more"] == f"What more labels would bring cannot be told: {found['unchecked']}"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"texts": [61]}, "one of these texts is not in the project; load the page again"),
        ({"label": None}, "a decision of the kind `label` has a label, and no other has one"),
        ({"kind": "skip"}, "a decision of the kind `label` has a label, and no other has one"),
        ({"label": "  "}, "the label is empty; type a name, or skip the text"),
        ({"texts": []}, "`texts`: List should have at least 1 item after validation, not 0"),
        ({"label": "\ud800"}, "`label`: Input should be a valid string, unable to parse raw data as a unicode string"),
    ],
)
def test_bad_decisions_are_refused(client: TestClient, body: dict[str, Any], reason: str) -> None:
    whole = {"texts": [1], "kind": "label", "label": "praise", "who": "me", "way": "random"} | body
    assert refused(client, "/desk/decisions", **whole).startswith(reason)
    assert client.get("/desk/state").json()["labelled"] == 0


@pytest.mark.parametrize("name", ["../escape.csv", "a/b.csv", ".hidden.csv", "", "t.exe"])
def test_a_dropped_table_stays_in_the_project(client: TestClient, project: Project, name: str) -> None:
    answer = client.post("/desk/table", params={"name": name}, content=b"text\nx\n")
    assert answer.status_code == 422
    assert sorted(path.name for path in project.folder.parent.iterdir()) == ["desk", "texts.csv"]
    assert [path.name for path in (project.folder / "tables").iterdir()] == ["texts.csv"]


def test_a_table_is_dropped_and_its_columns_are_chosen(client: TestClient) -> None:
    answer = client.post(
        "/desk/table", params={"name": "more.csv"}, content=b"text,kind\na film,x\na book,y\na play,x\n"
    )
    assert answer.json()["table"] == "more.csv"
    assert answer.json()["texts"] == 3
    columns = [column["name"] for column in client.get("/desk/columns").json()]
    assert columns == ["text", "kind"]
    chosen = client.post("/desk/columns", json={"text": "text", "label": "kind", "task": "classes"}).json()
    assert chosen["classes"] == [{"name": "x", "texts": 2}, {"name": "y", "texts": 1}]
    assert client.get("/desk/labelled").text == "\ufefftext,kind\na film,x\na book,y\na play,x\n"


def _suggestions(ids: range) -> pl.DataFrame:
    return pl.DataFrame({"id": list(ids), "label": "praise", "probability": 0.75, "place": list(range(len(ids)))})


def test_two_people_label_each_text(client: TestClient, project: Project) -> None:
    assert client.post("/desk/settings", json={"twice": True}).json()["twice"] is True
    first = client.get("/desk/next", params={"who": "ann"}).json()["text"]
    decided(client, [first["id"]], label="praise", who="ann")
    again = client.get("/desk/next", params={"who": "ann"}).json()["text"]
    assert again["id"] != first["id"], "nobody labels a text twice"
    second = client.get("/desk/next", params={"who": "ben"}).json()["text"]
    assert (second["id"], second["way"]) == (first["id"], "second")
    decided(client, [first["id"]], label="blame", who="ben", way="second", note="ironic")
    decided(client, [again["id"]], label="praise", who="ann")
    decided(client, [again["id"]], label="praise", who="ben", way="second")
    third = client.get("/desk/next", params={"who": "cleo"}).json()["text"]
    assert third["way"] == "any", "two are enough"
    agreement = client.get("/desk/state").json()["agreement"]
    (pair,) = agreement["pairs"]
    assert (pair["people"], pair["texts"], pair["same"]) == (["ann", "ben"], 2, 1)
    assert project.store.labelled()["id"].to_list() == [again["id"]], "a text with two labels waits"
    (different,) = client.get("/desk/disagreements").json()["disagreements"]
    assert different["labels"] == [
        {"who": "ann", "label": "praise", "note": ""}, {"who": "ben", "label": "blame", "note": "ironic"}
    ]  # fmt: skip
    decided(client, [first["id"]], label="blame", who="cleo", way="settle")
    assert client.get("/desk/disagreements").json()["disagreements"] == []
    assert project.store.labelled().height == 2
    assert client.get("/desk/state").json()["agreement"] == agreement, "settling is no third opinion"


def test_names_and_hidden_suggestions_outlast_the_desk(client: TestClient, project: Project) -> None:
    def known() -> tuple[list[str], list[str]]:
        state = client.get("/desk/state").json()
        return state["people"], state["blind"]

    assert known() == ([], [])
    client.post("/desk/people", json={"who": "ann", "blind": True})
    assert known() == (["ann"], ["ann"]), "a name that was typed is known before its first label"
    client.post("/desk/people", json={"who": "anna", "blind": True})
    assert known()[0] == ["anna"], "the last one: names are typed wrong"
    decided(client, [1], who="anna")
    client.post("/desk/people", json={"who": "ben", "blind": False})
    client.post("/desk/people", json={"who": "ann", "blind": False})
    client.post("/desk/classes", json={"name": "praise", "to": "good", "who": "cleo"})
    assert known() == (["ann", "anna"], ["anna"])
    project.store.close()
    again = create_desk(Project.open(project.folder), learn)
    with TestClient(again.app, base_url="http://127.0.0.1") as later:
        later.get(f"/{again.app.query}")
        assert later.get("/desk/state").json()["people"] == ["ann", "anna"]


def test_another_persons_label_is_not_told_until_both_have_decided(client: TestClient) -> None:
    def told(who: str, *, blind: bool = False) -> tuple[Any, ...]:
        text = client.get("/desk/texts/1", params={"who": who, "blind": blind}).json()["text"]
        return text["kind"], text["label"], text["note"]

    hers, nothing = ("label", "praise", "ironic"), (None, None, None)
    decided(client, [1], label="praise", who="ann", note="ironic")
    assert (told("ben"), told("ben", blind=True), told("ann", blind=True)) == (hers, nothing, hers)
    client.post("/desk/settings", json={"twice": True})
    assert (told("ben"), told("ann")) == (nothing, hers)
    assert client.get("/desk/next", params={"who": "ben"}).json()["text"]["label"] is None
    decided(client, [1], label="blame", who="ben", way="second")
    his = ("label", "blame", "")
    assert (told("ann"), told("ben"), told("cleo"), told("cleo", blind=True)) == (his, his, his, nothing)
    undone = client.post("/desk/undo", json={"who": "ben", "blind": False}).json()["text"]
    assert (undone["kind"], undone["label"], undone["note"]) == nothing, "it is open to him again"
    client.post("/desk/settings", json={"twice": False})
    decided(client, [2], label="praise", who="ben")
    client.post("/desk/undo", json={"who": "ben"})
    decided(client, [2], label="praise", who="ann")
    assert client.get("/desk/texts/2", params={"who": "ben", "blind": True}).json()["text"]["label"] is None


def test_a_search_tells_another_persons_label_no_sooner(client: TestClient, project: Project) -> None:
    """Not by a list, a filter, a count, a text that is alike, a repeat, or what many are labelled as."""

    def found(who: str, *, blind: bool = False, **more: str) -> dict[int, tuple[Any, ...]]:
        answer = client.get("/desk/texts", params={"who": who, "blind": blind, **more}).json()
        told = {text["id"]: tuple(text[name] for name in ("kind", "label", "note", "way")) for text in answer["texts"]}
        assert min(answer["total"], 50) == len(told)
        return {number: each for number, each in told.items() if any(each) or more}

    def alike(who: str) -> list[int]:
        answer = client.get("/desk/alike/5", params={"who": who, "blind": True}).json()
        return [text["id"] for text in answer["labelled"]]

    hers, his = ("label", "praise", "ironic", "random"), ("label", "blame", "", "second")
    decided(client, [1, 3], label="praise", who="ann", note="ironic")
    decided(client, [2], kind="unsure", label=None, who="ann")
    assert found("ben") == {1: hers, 2: ("unsure", None, "", "random"), 3: hers}
    assert found("ben", blind=True) == {}
    assert found("ann", blind=True) == found("ben")
    assert (alike("ben"), sorted(alike("ann"))) == ([], [1, 3])
    client.post("/desk/settings", json={"twice": True})
    assert found("ben") == found("ben", state="labelled") == found("ben", label="praise") == {}
    assert {1, 2, 3} < {*found("ben", state="open", words="number")}
    decided(client, [1], label="blame", who="ben", way="second")
    assert found("ben", state="labelled") == {1: his}
    assert found("ann", state="labelled") == {1: his, 3: hers}
    assert found("cleo", state="labelled") == {1: his}, "both have decided"
    assert found("cleo", blind=True, state="labelled") == {}
    meant = {"state": "open", "words": '"number 2"', "who": "ben", "blind": False}
    body = {"found": meant, "kind": "label", "label": "blame", "who": "ben", "way": "search"}
    assert client.post("/desk/decisions", json=body).json()["texts"] == 11, "he labels what he was shown, text 3 too"
    assert client.get("/desk/state").json()["agreement"]["texts"] == 2
    project.store.suggest(_suggestions(range(31, 41)), number=1)
    assert len(found("ben", label="praise")) == 10
    assert found("ben", blind=True, label="praise") == {}, "nor what the model suggests, if that is hidden"


@pytest.mark.parametrize("blind", [True, False])
def test_an_own_mark_stays_where_the_label_of_another_person_is_hidden(client: TestClient, *, blind: bool) -> None:
    def told(who: str, state: str = "all") -> tuple[Any, ...]:
        asked: dict[str, str | bool] = {"who": who, "blind": blind, "state": state}
        answer = client.get("/desk/texts", params=asked).json()["texts"]
        return next(((text["kind"], text["label"], text["note"]) for text in answer if text["id"] == 1), ())

    client.post("/desk/settings", json={"twice": not blind})
    decided(client, [1], kind="unsure", label=None, who="ann", note="irony?")
    decided(client, [1], label="praise", who="ben", note="sure")
    assert told("ann") == told("ann", "unsure") == ("unsure", None, "irony?")
    assert (told("ann", "open"), told("ann", "labelled")) == ((), ())
    assert told("ben") == ("label", "praise", "sure")
    assert told("cleo") == told("cleo", "open") == (None, None, None)
    client.post("/desk/undo", json={"who": "ann", "blind": blind})
    assert told("ann") == (None, None, None)


def test_what_a_threshold_brings(client: TestClient, project: Project) -> None:
    assert client.get("/desk/state").json()["automatic"] == []
    project.store.write_round(1, "done", {"labels": 20})
    project.store.suggest(_suggestions(range(1, 61)), number=1)  # all at .75
    decided(client, [1, 2, 3])
    decided(client, [4], label="blame")
    state = client.get("/desk/state").json()
    assert state["sureness"] == "probability"
    (line,) = state["automatic"]  # no answer is surer
    assert line["said"].startswith("right on 3 of 4 texts")
    assert (line["reached"], line["of"], line["lost"]) == (4, 4, 1)
    assert (line["least"], line["most"]) == (pytest.approx(4 * 0.0456, abs=0.001), pytest.approx(4 * 0.6994, abs=0.001))


def test_a_threshold_that_was_chosen_is_kept_and_used(
    project: Project, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_already(monkeypatch, reviews)
    desk = create_desk(project, learn)
    label(project, range(1, 40, 2), POSITIVE)
    label(project, range(2, 41, 2), NEGATIVE)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        assert client.post("/desk/settings", json={"threshold": 0.9, "wrong": 3}).json()["automatic_share"] is None
        round_of(client, desk)
        rule = desk.models["desk"].predictor.thresholds.rule
        (share,) = {client.get("/desk/state").json()["automatic_share"]}
        assert rule(share).below >= 0.9 > rule(min(1, round(share + 0.01, 2))).below or share == 1
        texts = ["a good film", "film", "so-so", "bad"]
        answers = client.post("/predict", json={"texts": texts}).json()["answers"]
        assert [each["needs_review"] for each in answers] == [
            each["confidence"] < rule(share).below for each in answers
        ]
        assert len({each["needs_review"] for each in answers}) == 2
        told = client.post("/table", params={"name": "t.csv"}, content=b"text\na good film\nfilm\n").text
        assert "needs_review" in told
        taken = client.post("/table", params={"name": "t.csv"}, content=b"text,needs_review\na good film,1\n")
        assert "needs_review" in taken.json()["reason"], "so a column of the answers is called"
        state = client.post("/desk/settings", json={"threshold": 1}).json()
        assert (state["automatic_share"], state["marks"]) == (None, True), "no held-out row is so sure"
        assert desk.models["desk"].asked == {"review_below": 1}
        state = client.post("/desk/settings", json={"threshold": 0}).json()
        assert (state["automatic_share"], state["marks"]) == (None, False)
        assert "needs_review" not in client.post("/predict", json={"text": "film"}).json()["answers"][0]
        for wrong in ({"threshold": 1.1}, {"human": -1}, {"wrong": "much"}):
            assert refused(client, "/desk/settings", **wrong)
        client.post("/desk/settings", json={"threshold": 0.9})
    monkeypatch.setattr(reloading, "_LOOK_AGAIN", 0.05)
    again = create_desk(Project.open(project.folder), learn)
    with TestClient(again.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{again.app.query}")
        assert client.get("/desk/state").json()["review"] == {"threshold": 0.9, "wrong": 3, "human": None}
        for number in (1, 2):
            if number > 1:
                round_of(client, again)
            model = again.models["desk"]
            assert model.folder == project.model(number)
            assert model.asked == {"review_below": rule(share).below}
            time.sleep(0.5)
            assert again.models["desk"] is model, "nothing has changed"


def test_a_choice_is_kept_if_a_round_ends_meanwhile(
    project: Project, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(reviews.folder, project.model(1))
    project.store.write_round(1, "done", {"labels": 20})
    desk = create_desk(project, learn)
    ends = threading.Thread(target=desk.rounds.on_model, args=(desk.models["desk"].predictor, project.model(2)))

    def slowly(*about: Any) -> dict[str, float]:
        if threading.current_thread() is not ends and ends.ident is None:
            ends.start()
            ends.join(timeout=0.5)
        return asked_of(*about)

    monkeypatch.setattr(project_routes, "asked_of", slowly)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        client.post("/desk/settings", json={"threshold": 0.9})
        ends.join()
    assert desk.models["desk"].folder == project.model(2)
    assert desk.models["desk"].asked == asked_of({"threshold": 0.9}, desk.models["desk"].predictor) != {}


def test_what_a_threshold_brings_for_numbers(client: TestClient, project: Project) -> None:
    client.post("/desk/columns", json={"text": "text", "label": None, "task": "number"})
    project.store.write_round(1, "done", {"labels": 20})
    known = pl.Series([0.5] * 4 + [0.95] * 56)
    project.store.suggest(_suggestions(range(1, 61)).with_columns(label=pl.lit("2"), probability=known), number=1)
    for number, given in ((1, "6"), (5, "2.5"), (6, "2")):
        decided(client, [number], label=given)
    state = client.get("/desk/state").json()
    assert (state["sureness"], state["mistake"]) == ("share of known words and word pairs", "Being off by 1 costs")
    lines = [(line["threshold"], line["reached"], line["lost"]) for line in state["automatic"]]
    assert lines == [(0, 3, 4.5), (0.55, 2, 0.5)]
    assert state["automatic"][1]["said"].startswith("off by 0.25 on average on 2 texts")


def test_repeats_of_a_text_are_labelled_with_it(tmp_path: Path) -> None:
    project = project_of(tmp_path, ["good", "bad", "good", "bad", "good"])
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        project.store.suggest(_suggestions(range(1, 6)), number=1)
        assert client.get("/desk/texts/1").json()["text"]["repeats"] == 2
        assert decided(client, [1])["repeats"] == 2
        state = client.get("/desk/state").json()
        assert (state["labelled"], state["measured"]["of"]) == (3, 1), "the same text measures the model once"
        decided(client, [5], label="blame", who="ann", way="second")
        assert client.get("/desk/state").json()["agreement"]["texts"] == 1
        (dispute,) = client.get("/desk/disagreements").json()["disagreements"]
        assert len(dispute["labels"]) == 2
        decided(client, [dispute["id"]], way="settle", who="ann")
        assert project.store.labelled()["label"].to_list() == ["praise"] * 3
        for who in ("ann", "ann", "me"):
            client.post("/desk/undo", json={"who": who})
        assert client.get("/desk/state").json()["left"] == 5


def test_labels_of_repeats_are_told_and_undo_brings_them_back(tmp_path: Path) -> None:
    given = ["", "Lieferung", "", "Rechnung", "Lieferung"]
    project = project_of(tmp_path, ["late", "late", "other", "late", "late"], given=given)
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        before = [(2, "Lieferung"), (4, "Rechnung"), (5, "Lieferung")]
        told = [{"label": "Lieferung", "who": "table", "rows": 2}, {"label": "Rechnung", "who": "table", "rows": 1}]
        assert client.get("/desk/texts/1").json()["text"]["labels_of_repeats"] == told
        assert client.get("/desk/texts/3").json()["text"]["labels_of_repeats"] == []
        others = client.get("/desk/repeats", params={"texts": [1, 3, 4]}).json()
        assert others == {"repeats": 2, "labels_of_repeats": [{"label": "Lieferung", "who": "table", "rows": 2}]}
        decided(client, [1], kind="skip", label=None)
        assert project.store.labelled().select("id", "label").rows() == before, "not now is no answer"
        decided(client, [1], label="Storno")
        assert project.store.counts() == {"Storno": 4}
        undone = client.post("/desk/undo", json={"who": "me"}).json()
        assert undone["texts"] == 4
        assert project.store.labelled().select("id", "label").rows() == before


def test_labels_of_repeats_are_told_to_who_may_know_them(tmp_path: Path) -> None:
    project = project_of(tmp_path, ["late", "late", "other"])
    label(project, [2], "Storno", who="ann")
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")

        def told(who: str, *, blind: bool) -> list[dict[str, Any]]:
            asked: dict[str, Any] = {"who": who, "blind": blind}
            of_text = client.get("/desk/texts/1", params=asked).json()["text"]["labels_of_repeats"]
            answer = client.get("/desk/repeats", params={"texts": [1], **asked}).json()
            assert answer == {"repeats": 1, "labels_of_repeats": of_text}
            return list(of_text)

        hers = [{"label": "Storno", "who": "ann", "rows": 1}]
        assert (told("ben", blind=False), told("ben", blind=True), told("ann", blind=True)) == (hers, [], hers)
        decided(client, [1], kind="skip", label=None, who="ben")
        assert project.store.counts() == {"Storno": 1}, "not now takes no label, though it is not told"


def test_a_sheet_of_a_workbook_is_taken(client: TestClient) -> None:
    notes = [["when", "what"], ["May", "a lot"], ["June", "nothing"]]
    content = xlsx({"Notes": notes, "Answers": [["text"], ["a film"], ["a book"]]})
    send = {"name": "book.xlsx"}
    refusal = client.post("/desk/table", params=send, content=content)
    assert refusal.status_code == 422
    reason = "book.xlsx has 2 sheets that are not empty; name one of them:"
    parts = {"Notes": "3 rows, 2 columns", "Answers": "3 rows, 1 column"}
    assert refusal.json() == {"reason": reason, "parts": parts}
    taken = client.post("/desk/table", params=send | {"part": "Answers"}, content=content).json()
    assert (taken["table"], taken["texts"]) == ("book.xlsx#Answers", 2)


def test_a_file_in_an_archive_and_then_a_sheet_of_it_is_taken(client: TestClient) -> None:
    sheets = xlsx({"Notes": [["when"], ["May"]], "Answers": [["text"], ["a film"], ["a book"]]})
    content, send = BytesIO(), {"name": "mixed.zip"}
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("more.csv", "text\na play\n")
        archive.writestr("in/book.xlsx", sheets)

    def asked(**more: str) -> dict[str, Any]:
        found: dict[str, Any] = client.post("/desk/table", params=send | more, content=content.getvalue()).json()
        return found

    assert asked()["parts"] == {"in/book.xlsx": "", "more.csv": ""}
    assert asked()["reason"].startswith("mixed.zip holds tables of several formats, such as 'in/book.xlsx' and ")
    sizes = {"in/book.xlsx#Notes": "2 rows, 1 column", "in/book.xlsx#Answers": "3 rows, 1 column"}
    assert asked(part="in/book.xlsx")["parts"] == sizes
    taken = asked(part="in/book.xlsx#Answers")
    assert (taken["table"], taken["texts"]) == ("mixed.zip#in/book.xlsx#Answers", 2)
    assert [column["name"] for column in client.get("/desk/columns").json()] == ["text"]


def test_of_tables_with_different_columns_one_is_taken(client: TestClient) -> None:
    """The third of them shows it. Until one is chosen, what was open stays so."""
    content, send = BytesIO(), {"name": "films.zip"}
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a.csv", "text,label\na play,good\n")
        archive.writestr("b.csv", "text,label\na book,good\n")
        archive.writestr("legend.csv", "label,meaning\ngood,I like it\n")
    refusal = client.post("/desk/table", params=send, content=content.getvalue())
    assert refusal.status_code == 422
    assert refusal.json()["parts"] == {"a.csv": "", "b.csv": "", "legend.csv": ""}
    assert refusal.json()["reason"].startswith("films.zip#legend.csv has a column 'meaning', unlike films.zip#a.csv.")
    assert client.get("/desk/state").json()["table"] == "texts.csv"
    taken = client.post("/desk/table", params=send | {"part": "b.csv"}, content=content.getvalue()).json()
    assert (taken["table"], taken["texts"]) == ("films.zip#b.csv", 1)


def test_a_table_of_a_database_is_taken(client: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        for number in range(30):
            connection.execute(
                f"CREATE TABLE t{number:02} AS SELECT 'a film of ' || value AS text FROM json_each('[1, 2]')"
            )
    connection.close()
    content, send = path.read_bytes(), {"name": "shop.sqlite"}
    refusal = client.post("/desk/table", params=send, content=content).json()
    assert refusal["reason"].startswith("shop.sqlite holds 30 tables.")
    assert (refusal["parts"]["t00"], [*refusal["parts"]][-1]) == ("2 rows", "t29")
    taken = client.post("/desk/table", params=send | {"part": "t29"}, content=content).json()
    assert (taken["table"], taken["texts"], taken["text"]) == ("shop-t29.parquet", 2, "text")
    assert [column["name"] for column in client.get("/desk/columns").json()] == ["text"]


def test_old_models_leave_their_reports(
    opened: tuple[TestClient, Desk], reviews: Trained, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, desk = opened
    label_two_classes(project)
    trained_already(monkeypatch, reviews)
    for _ in range(4):
        do_a_round(client, desk)
    assert [path.name for path in project.model(1).iterdir()] == ["report.html"]
    assert all((project.model(number) / "config.json").is_file() for number in (2, 3, 4))
    assert client.get("/desk/report/1").status_code == 200


def test_disputed_labels_begin_no_round(client: TestClient, project: Project) -> None:
    label(project, list(range(1, 13)), "praise")
    label(project, list(range(13, 25)), "blame")
    project.store.write_round(1, "done", {"labels": 24})
    label(project, list(range(25, 41)), "praise")
    label(project, list(range(25, 41)), "blame", who="ann")
    assert [decided(client, [number])["round"] for number in range(41, 51)] == [*[None] * 9, 2]


def test_classes_of_one_text_begin_no_round(client: TestClient, project: Project) -> None:
    label(project, list(range(1, 13)), "praise")
    label(project, list(range(13, 25)), "blame")
    project.store.write_round(1, "done", {"labels": 24})
    for number in range(25, 41):
        assert decided(client, [number], label=f"class of {number}")["round"] is None
    assert [decided(client, [number])["round"] for number in range(41, 51)] == [*[None] * 9, 2]


def test_columns_that_are_read_while_a_text_is_labelled_take_no_label_away(
    client: TestClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def later(store: Store, *given: Any) -> None:
        label(project, [1], "praise")  # as another tab does while the table is read
        fill(store, *given)

    monkeypatch.setattr("glassformer.desk.project.fill", later)
    answer = client.post("/desk/columns", json={"text": "text", "task": "classes"})
    assert "labels have been given already" in answer.json()["reason"]
    assert project.store.counts() == {"praise": 1}


def test_columns_stay_while_a_model_learns_them_and_others_take_it_away(
    tmp_path: Path, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = project_of(tmp_path, some_texts(40), given=["praise", "blame"] * 20)
    other = {"text": "label", "label": "text", "task": "classes"}
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        client.post("/desk/people", json={"who": "ann", "blind": True})
        client.post("/desk/settings", json={"rules": '"good" -> praise'})
        project.store.write_round(1, "running", {"labels": 40})
        refused = "a model is being trained from these columns; wait for it, or stop it at the step Train"
        assert client.post("/desk/columns", json=other).json()["reason"] == refused
        assert client.post("/desk/table?name=new.csv", content=b"text\na\n").json()["reason"] == refused
        assert [path.name for path in (project.folder / "tables").iterdir()] == ["texts.csv"]
        project.store.write_round(1, "stopped", {"labels": 40})
        trained_already(monkeypatch, reviews)
        do_a_round(client, desk)
        assert set(desk.models) == {"desk"}
        found = client.post("/desk/columns", json=other | {"text": "text", "label": "label"}).json()
        assert (found["rounds"], found["rules"], found["blind"]) == ([], '"good" -> praise', ["ann"])
        assert not desk.models
        assert not list((project.folder / "models").iterdir())
        client.post("/desk/table?name=new.csv", content=b"text\na film\n")
        assert [path.name for path in (project.folder / "tables").iterdir()] == ["new.csv"], "the other texts are gone"


def test_a_round_that_ends_oddly_ends(client: TestClient, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(*_: Any) -> str:
        raise AttributeError("odd")

    monkeypatch.setattr(Rounds, "_trained", odd)
    label(project, list(range(1, 13)), "praise")
    label(project, list(range(13, 25)), "blame")
    client.post("/desk/rounds", json={})
    while (found := client.get("/desk/state").json())["running"]:
        time.sleep(0.01)
    assert (found["rounds"][0]["state"], found["rounds"][0]["reason"]) == ("failed", "AttributeError: odd")


def test_a_search_looks_into_values_and_not_at_how_they_are_kept(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "desk")
    rows = [("Über ein Buch", 'b" c'), ("über einen Film", "red"), ("ÜBER", "")]
    project.take(write_csv(tmp_path / "t.csv", rows, ("text", "subject")))
    project.read(text="text", without_labels=True, columns=["subject"])

    def ids(words: str) -> list[int]:
        return [text["id"] for text in found(project.store, Search(words=words))]

    assert ids("über") == ids("ÜBER") == [1, 2, 3]
    assert ids('b" c') == [1]
    assert ids("subject") == ids(":") == []
    assert ids("50%") == []


def test_a_round_leaves_a_model_that_somebody_else_trained(
    opened: tuple[TestClient, Desk], reviews: Trained, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, desk = opened
    label_two_classes(project)
    command = client.get("/desk/state").json()["command"]
    assert "models/round-0001" in command
    project.model(1).mkdir()  # somebody typed the command
    trained_already(monkeypatch, reviews)
    assert "models/round-0002" in client.get("/desk/state").json()["command"]
    do_a_round(client, desk)
    assert {path.name for path in (project.folder / "models").iterdir()} == {"round-0001", "round-0002"}


def test_the_model_knows_the_column_of_the_texts(tmp_path: Path) -> None:
    project = Project.open(tmp_path / "desk")
    rows = [(f"a long answer of many words {number}", f"question {number}", "ab"[number % 2]) for number in range(20)]
    project.take(write_csv(tmp_path / "t.csv", rows, ("Antwort", "Frage", "Thema")))
    project.read(text="Frage", label="Thema")
    project.write_lesson()
    assert pl.read_csv(project.folder / "labels.csv").columns == ["Frage", "label", "way", "id"]
    assert project.settings() == {"task": "classes", "text": ["Frage"], "label": "label"}


def test_a_round_runs_no_module_that_lies_where_the_desk_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = project_of(tmp_path, some_texts(40), given=["praise", "blame"] * 20)
    (tmp_path / "hostile.py").write_text("import pathlib; pathlib.Path('ran').touch()")
    monkeypatch.chdir(tmp_path)
    desk = create_desk(project, lambda *_: ["hostile"])
    desk.rounds.begin()
    assert desk.rounds._thread is not None
    desk.rounds._thread.join()
    assert "No module named hostile" in project.store.rounds()[0]["reason"]
    assert not (tmp_path / "ran").exists()
