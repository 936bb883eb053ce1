"""What the model of the last round says of texts that it had not learned."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient

from glassformer.desk.app import Desk, create_desk
from glassformer.desk.project import Project
from glassformer.prediction.load_answering import load_answering
from tests.desk.samples import label, learn, project_of, some_texts, trained_already
from tests.serving.samples import of_numbers
from tests.trained import NEGATIVE, POSITIVE, Trained


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return project_of(tmp_path, some_texts(60))


@pytest.fixture
def desk(project: Project) -> Desk:
    return create_desk(project, learn)


@pytest.fixture
def client(desk: Desk) -> Iterator[TestClient]:
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        yield client


def answered(project: Project, *answers: tuple[int, str, float | None]) -> None:
    project.store.keep_unseen(pl.DataFrame(answers, ["id", "answered", "probability"], orient="row"), number=1)


def listed(client: TestClient, **asked: Any) -> list[int]:
    return [text["id"] for text in client.get("/desk/texts", params=asked).json()["texts"]]


def test_answers_to_rows_of_the_lesson_are_kept_for_its_texts(
    project: Project, desk: Desk, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_already(monkeypatch, reviews)
    for number in range(21, 61):
        label(project, [number], (POSITIVE, NEGATIVE)[number % 2])
    desk.rounds.begin()
    assert desk.rounds._thread is not None
    desk.rounds._thread.join()
    held_out = load_answering(reviews.folder, device="cpu").held_out
    numbers, (probs, _) = held_out.kept.row_numbers, held_out.kept.read(multilabel=False)
    expected = {  # the first row of the lesson is text 21
        20 + row: (NEGATIVE, POSITIVE)[int(place)]
        for row, place in zip(numbers.tolist(), probs.argmax(axis=1), strict=True)
        if row <= 40
    }
    assert len(expected) >= 3
    assert {row["text"]: row["answered"] for row in project.store.rows("SELECT * FROM unseen")} == expected


def test_each_count_leads_to_its_texts_as_long_as_labels_are_these(project: Project, client: TestClient) -> None:
    label(project, [1, 2, 3, 4], "praise")
    label(project, [5, 6], "blame")
    answered(project, (1, "praise", 0.9), (2, "blame", 0.6), (3, "blame", 0.8), (5, "praise", 0.7), (6, "blame", 0.9))
    found = client.get("/desk/unseen").json()
    assert (found["texts"], found["wrong"]) == (5, 3)
    pairs = {(pair["label"], pair["answered"]): pair["texts"] for pair in found["pairs"]}
    assert pairs == {("praise", "praise"): 1, ("praise", "blame"): 2, ("blame", "praise"): 1, ("blame", "blame"): 1}
    assert listed(client, state="labelled", label="praise", answered="blame") == [2, 3]
    assert listed(client, answered="blame") == [2, 3, 6]
    assert listed(client, state="wrong") == [3, 5, 2], "the surest first"
    shown = client.get("/desk/texts/3").json()["text"]
    assert (shown["answered"], shown["answered_probability"]) == ("blame", 0.8)
    label(project, [3], "blame", way="doubt")
    assert listed(client, state="wrong") == [5, 2]
    assert {"label": "blame", "answered": "blame", "texts": 2} in client.get("/desk/unseen").json()["pairs"]


def test_another_name_of_a_class_holds_for_answers_too(project: Project, client: TestClient) -> None:
    label(project, [1, 2], "praise")
    label(project, [3], "blame")
    answered(project, (1, "praise", 0.9), (2, "blame", 0.6))
    client.post("/desk/classes", json={"name": "praise", "to": "fine", "who": "me"})
    pairs = client.get("/desk/unseen").json()["pairs"]
    assert {(pair["label"], pair["answered"]) for pair in pairs} == {("fine", "fine"), ("fine", "blame")}
    assert listed(client, state="wrong") == [2]


def test_who_labels_blind_is_not_told_them(project: Project, client: TestClient) -> None:
    label(project, [1], "praise", who="anna")
    answered(project, (1, "blame", 0.9))
    assert listed(client, state="wrong", who="ben") == [1]
    assert listed(client, state="wrong", who="ben", blind=True) == []
    project.store.note(twice=True)
    assert listed(client, answered="blame", who="ben") == [], "the label of anna could be guessed"
    assert listed(client, answered="blame", who="anna") == [1]
    counted = [client.get("/desk/unseen", params=asked).json() for asked in ({"who": "anna"}, {"who": "ben"})]
    assert counted[0] == {
        "texts": 1, "hidden": 0, "wrong": 1, "by_level": None,
        "pairs": [{"label": "praise", "answered": "blame", "texts": 1}], "by_class": [],
    }  # fmt: skip
    assert counted[1] == {"texts": 0, "hidden": 1, "wrong": 0, "by_level": None, "pairs": [], "by_class": []}
    project.store.note(twice=False)
    assert client.get("/desk/unseen", params={"who": "anna", "blind": True}).json() == counted[1]


def test_numbers_that_are_farthest_off_come_first(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(4), given=["1", "5", "9", ""])
    project.read(text="text", label="label", task="number")
    desk = create_desk(project, learn)
    answered(project, (1, "2", None), (2, "4.5", None), (3, "1", None))
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        assert listed(client, state="wrong") == [3, 1, 2]
        found = client.get("/desk/unseen").json()
        assert found == {"texts": 3, "hidden": 0, "wrong": 3, "by_level": None, "pairs": [], "by_class": []}


def test_a_model_folder_names_the_rows_that_it_keeps_answers_to(reviews: Trained) -> None:
    held_out = load_answering(reviews.folder, device="cpu").held_out
    _, truth = held_out.kept.read(multilabel=False)
    labels = pl.read_csv(reviews.table)["label"].to_numpy()
    of_rows = labels[held_out.kept.row_numbers - 1]
    np.testing.assert_array_equal(of_rows, np.array([NEGATIVE, POSITIVE])[truth])


def test_a_threshold_marks_numbers_whose_words_are_not_known(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(4), given=["1", "5", "9", ""])
    project.read(text="text", label="label", task="number")
    project.store.write_round(1, "done", {"labels": 3})
    of_numbers(project.model(1))
    desk = create_desk(project, learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        texts = {"texts": ["superb film 3", "zqx wvu bhj", ""]}
        before = client.post("/predict", json=texts).json()["answers"]
        assert "needs_review" not in before[0]
        known = 1 - before[0]["unseen_share"]
        assert 0.1 < known < 0.9
        for threshold, expected in ((known - 0.01, [False, True, None]), (known + 0.01, [True, True, None])):
            state = client.post("/desk/settings", json={"threshold": threshold}).json()
            assert (state["marks"], state["automatic_share"]) == (True, None)
            answers = client.post("/predict", json=texts).json()["answers"]
            assert [answer["needs_review"] for answer in answers] == expected
        columns = desk.models["desk"].predictor.answer(texts["texts"], **desk.models["desk"].asked).columns()
        assert columns["needs_review"].to_list() == expected
        client.post("/desk/settings", json={"threshold": 0})
        assert "needs_review" not in client.post("/predict", json=texts).json()["answers"][0]


def test_each_class_of_several_is_counted_and_leads_to_its_texts(tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(6))
    project.read(text="text", without_labels=True, task="several")
    for number, given in enumerate(("a|b", "a|c", "b|c", "a", "b"), 1):
        label(project, [number], given)
    desk = create_desk(project, learn)
    answered(project, (1, "a|b", 0.9), (2, "c", 0.8), (3, "b", 0.7), (4, "a|b", 0.6), (5, "", 0.6))
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        found = client.get("/desk/unseen").json()
        assert found["pairs"] == []
        assert [tuple(each.values()) for each in found["by_class"]] == [("a", 2, 1, 0), ("b", 2, 1, 1), ("c", 1, 1, 0)]
        for each in found["by_class"]:
            name = each["name"]
            assert len(listed(client, state="labelled", label=name, answered=name)) == each["right"]
            assert len(listed(client, state="missed", label=name)) == each["missed"]
            assert len(listed(client, state="extra", answered=name)) == each["extra"]
        assert (listed(client, state="missed", label="b"), listed(client, state="extra", answered="b")) == ([5], [4])
        for state, field in (("missed", "Class"), ("extra", "Answered")):
            refused = client.get("/desk/texts", params={"state": state})
            assert refused.json()["reason"] == f"choose the class under {field}"
