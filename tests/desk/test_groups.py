"""Groups of texts with more errors than the others."""

from pathlib import Path

import polars as pl
from fastapi.testclient import TestClient

from glassformer.desk.app import create_desk
from glassformer.desk.project import Project
from glassformer.desk.shapes import Viewer
from glassformer.desk.shown import weak_groups
from tests.desk.samples import learn, project_of
from tests.trained import write_csv

ROWS = 120
REFUNDS = range(0, ROWS, 4)  # the model is wrong on these
ME = Viewer(who="me", blind=False)


def refunds(folder: Path, *, shop: str | None = None, word: str = "refund") -> Project:
    texts = [f"{word if row in REFUNDS else 'order'} {'late' if row % 2 else 'here'}" for row in range(ROWS)]
    columns = ("text", "label", *(["shop"] if shop else []))
    rows = [(text, "blame", *([shop if row in REFUNDS else "south"] if shop else [])) for row, text in enumerate(texts)]
    project = Project.open(folder / "desk")
    project.take(write_csv(folder / "texts.csv", rows, columns))
    project.read(text="text", label="label", columns=["shop"] if shop else [])
    answers = [(row + 1, "praise" if row in REFUNDS else "blame", 0.9) for row in range(ROWS)]
    project.store.keep_unseen(pl.DataFrame(answers, ["id", "answered", "probability"], orient="row"), number=1)
    return project


def test_the_word_of_most_errors_is_named_and_finds_its_texts(tmp_path: Path) -> None:
    desk = create_desk(refunds(tmp_path), learn)
    with TestClient(desk.app, base_url="http://127.0.0.1") as client:
        client.get(f"/{desk.app.query}")
        found = client.get("/desk/groups").json()["groups"]
    assert found[0] == {
        "name": "keyword: refund", "texts": 30, "wrong": 1.0, "wrong_of_rest": 0.0, "words": '"refund"'
    }  # fmt: skip
    assert [each["name"] for each in found] == ["keyword: refund", "keyword: here"]


def test_the_value_of_a_column_is_named_too(tmp_path: Path) -> None:
    found = {each["name"]: each["words"] for each in weak_groups(refunds(tmp_path, shop="north").store, ME)}
    assert found["shop: north"] == '"north"'


def test_who_labels_blind_is_told_of_none(tmp_path: Path) -> None:
    assert weak_groups(refunds(tmp_path).store, Viewer(who="ben", blind=True)) == []


def test_there_are_none_without_answers(tmp_path: Path) -> None:
    assert weak_groups(project_of(tmp_path, ["a text"] * 60).store, ME) == []


def test_a_search_that_does_not_find_them_is_not_offered(tmp_path: Path) -> None:
    project = refunds(tmp_path, shop='5" pipe')
    assert {each["name"]: each["words"] for each in weak_groups(project.store, ME)}['shop: 5" pipe'] is None


def test_words_are_found_in_any_case_in_every_alphabet(tmp_path: Path) -> None:
    project = refunds(tmp_path, word="Über")
    assert {each["name"]: each["words"] for each in weak_groups(project.store, ME)}["keyword: über"] == '"über"'
