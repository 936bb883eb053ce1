import json
import os
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.data.locks import LOCK_FILE
from glassformer.desk.project import Project
from tests.cli.terminal import glassformer, misused
from tests.desk.samples import label, project_of
from tests.running import Running
from tests.trained import write_csv
from tests.workbooks import write_workbook

JSON = {"content-type": "application/json"}


def test_it_answers_the_opened_address_until_it_is_stopped(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "texts.csv", [("a good film",), ("a bad film",)], ("text",))
    (tmp_path / "texts-desk").mkdir()  # an empty folder is no project yet
    command = ("-m", "glassformer", "desk", str(table), "--no-open", "--json")
    with Running(*command, log=tmp_path / "log") as desk:
        desk.wait_until(lambda: desk.out.read_text().endswith("}\n"))
        said = json.loads(desk.out.read_text())
        assert said["project"] == str(tmp_path / "texts-desk")
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(said["url"], timeout=60) as answer:
            assert b"glassformer desk" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(said["url"], timeout=60)
        in_use = ("is in use", "; close that desk, or choose another --project")
        misused(glassformer("desk", table, "--no-open"), *in_use)  # one desk for a project
        misused(glassformer("desk", table, "--export", tmp_path / "kept"), *in_use)
        decision = {"texts": [2], "kind": "label", "label": "blame", "who": "me", "way": "random"}
        post = urllib.request.Request(
            f"{said['url'].partition('?')[0]}desk/decisions", json.dumps(decision).encode(),
            JSON,
        )  # fmt: skip
        with opener.open(post, timeout=60) as answer:
            assert json.load(answer) == {"batch": 1, "texts": 1, "repeats": 0, "round": None}
        desk.process.kill()
        desk.outcome()
    kept = Project.open(tmp_path / "texts-desk")
    assert kept.store.counts() == {"blame": 1}, "what was answered is on the disk"
    kept.store.close()
    other = write_csv(tmp_path / "others.csv", [("a good film",)], ("text",))
    refused = glassformer("desk", other, "--project", tmp_path / "texts-desk", "--no-open")
    misused(refused, "texts-desk holds the labels of texts.csv, not of")
    with Running(*command, log=tmp_path / "again") as desk:
        desk.wait_until(lambda: desk.out.read_text().endswith("}\n"))
        desk.process.send_signal(signal.SIGINT)
        outcome = desk.outcome()
        assert outcome.code == 130
        assert "texts.csv has not changed" in outcome.err


def test_rows_that_came_to_the_file_reach_its_desk(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "texts.csv", [("a good film",), ("a bad film",)], ("text",))
    command = ("-m", "glassformer", "desk", table, "--no-open", "--json")

    def answered(desk: Running, body: object = None, path: str = "state") -> Any:
        desk.wait_until(lambda: desk.out.read_text().endswith("}\n"))
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(url := json.loads(desk.out.read_text())["url"], timeout=60).close()
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"{url.partition('?')[0]}desk/{path}", data, JSON)
        with opener.open(asked, timeout=60) as answer:
            found = json.load(answer)
        desk.process.send_signal(signal.SIGINT)
        assert desk.outcome().code == 130
        return found

    with Running(*command, log=tmp_path / "log") as desk:
        decision = {"texts": [2], "kind": "label", "label": "blame", "who": "me", "way": "random"}
        assert answered(desk, decision, "decisions")["texts"] == 1
    write_csv(table, [("a bad film",), ("a better film",), ("a long film",)], ("text",))
    with Running(*command, log=tmp_path / "again") as desk:
        state = answered(desk)
        said = "texts.csv has changed: 2 rows came, 1 row is gone or has another text. What people decided is kept"
        assert said in desk.outcome().err
    assert state["found"][0] == f"{tmp_path}/{said}"
    assert (state["classes"], state["left"]) == ([{"name": "blame", "texts": 1}], 2)
    table.write_text("remark\na film\n")
    folder = tmp_path / "texts-desk"
    refused = glassformer("desk", table, "--no-open")
    again = "correct it, such as a column that has another name now, or leave it out"
    misused(refused, "no column 'text'. It has:", again, f"go on with the rows of before: --project {folder}")
    outcome = glassformer("desk", "--project", folder, "--export", tmp_path / "kept")
    assert outcome.code == 0, outcome.err
    table.unlink()
    outcome = glassformer("desk", table, "--export", tmp_path / "kept")
    assert "texts.csv is no file here" in outcome.err
    assert pl.read_csv(tmp_path / "kept" / "labels.csv")["text"].to_list() == ["a bad film"]


def test_training_ends_with_a_desk_that_is_killed(tmp_path: Path) -> None:
    rows = [(f"{('good', 'bad')[number % 2]} film {number}", ("praise", "blame")[number % 2]) for number in range(300)]
    table, model = write_csv(tmp_path / "texts.csv", rows, ("text", "label")), tmp_path / "texts-desk/models/round-0001"
    command = ("-m", "glassformer", "desk", table, "--no-open", "--json", "--set", "training.epochs=1000")
    with Running(*command, log=tmp_path / "log") as desk:
        desk.wait_until(lambda: desk.out.read_text().endswith("}\n"))
        url = json.loads(desk.out.read_text())["url"]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(url, timeout=60).close()
        opener.open(urllib.request.Request(f"{url.partition('?')[0]}desk/rounds", b"{}", JSON), timeout=60).close()
        desk.wait_until(lambda: (model / LOCK_FILE).is_file() and (model / LOCK_FILE).read_text().endswith("}"))
        trains = json.loads((model / LOCK_FILE).read_text())["pid"]
        desk.process.kill()
        desk.outcome()
    until = time.monotonic() + 60
    while (model / LOCK_FILE).exists():  # the process removes it at its end
        if time.monotonic() > until:
            os.kill(trains, signal.SIGKILL)
            raise AssertionError("it trains on")
        time.sleep(0.05)
    assert not (model / "config.json").exists()


def test_labels_and_decisions_are_written_for_version_control(tmp_path: Path) -> None:
    project = project_of(tmp_path, ["a good film", "a bad film", "so-so"], given=["praise", "", ""])
    label(project, [2], "praise")
    project.store.undo("me")
    label(project, [2], "blame", note="sure")
    project.store.close()
    to, desk = tmp_path / "kept", ("desk", "--project", tmp_path / "desk", "--export", tmp_path / "kept")
    assert glassformer(*desk).out == f"{to / 'labels.csv'}\n{to / 'decisions.csv'}\n"
    labels = pl.read_csv(to / "labels.csv")
    assert labels.select("text", "label").rows() == [("a good film", "praise"), ("a bad film", "blame")]
    decisions = pl.read_csv(to / "decisions.csv")
    assert decisions.select("row", "text", "label", "who", "note").rows() == [
        (1, "a good film", "praise", "table", ""),
        (2, "a bad film", "praise", "me", ""),
        (2, "a bad film", "blame", "me", "sure"),
    ]
    assert decisions["stands"].to_list() == [None] * 3
    assert [undone is None for undone in decisions["undone"]] == [True, False, True]
    before = (to / "decisions.csv").read_bytes()
    assert json.loads(glassformer(*desk, "--json").out)["files"] == [str(to / "labels.csv"), str(to / "decisions.csv")]
    assert (to / "decisions.csv").read_bytes() == before
    misused(glassformer("desk", "--project", tmp_path / "none", "--export", to), "none holds no labels yet")
    assert not (tmp_path / "none" / "desk.sqlite").exists()
    misused(glassformer(*desk[:-1], to / "labels.csv"), "cannot be written to")
    for flag in (("--port", 8000), ("--set", "training.epochs=1"), ("--no-open",)):
        misused(glassformer(*desk, *flag), f"{flag[0]} is for the page, and --export opens none; leave it out")
    (tmp_path / "labels.csv").write_text("text\nof somebody\n")
    misused(glassformer(*desk[:-1], tmp_path), "labels.csv is there already, and no earlier export wrote it")
    assert (tmp_path / "labels.csv").read_text() == "text\nof somebody\n"
    assert not (tmp_path / "decisions.csv").exists()


def test_sheets_are_told_apart(tmp_path: Path) -> None:
    rows = [["text"], ["a good film"], ["a bad film"]]
    book = write_workbook(tmp_path / "book.xlsx", {"Sheet 1": rows, "Sheet 2": rows})
    begun = Project.open(tmp_path / "book-desk")
    begun.take(Path(f"{book}#Sheet 1"))
    begun.store.close()
    refused = glassformer("desk", f"{book}#Sheet 2", "--no-open")
    misused(refused, f"book-desk holds the labels of book.xlsx#Sheet 1, not of {book}#Sheet 2")
    book.unlink()
    misused(glassformer("desk", f"{book}#Sheet 2", "--project", begun.folder, "--no-open"), "holds the labels of")


def test_a_desk_is_that_of_one_file(tmp_path: Path) -> None:
    rows = [["text"], ["a good film"], ["a bad film"]]
    for name in ("levels.xlsx", "faq.xlsx"):
        write_workbook(tmp_path / name, {"Daten": rows, "Rest": rows})
    outcome = glassformer("desk", f"{tmp_path}/levels.xlsx#Daten", "--export", tmp_path / "out")
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "levels-Daten-desk").is_dir(), "faq.xlsx has such a sheet too"
    begun = Project.open(tmp_path / "faq-desk")
    begun.take(write_csv(tmp_path / "faq.csv", [("a film",), ("a book",)], ("text",)))
    begun.store.close()
    refused = glassformer("desk", f"{tmp_path}/faq.xlsx#Rest", "--project", begun.folder, "--no-open")
    misused(refused, "faq-desk holds the labels of faq.csv, not of")


def test_misuse_is_said(tmp_path: Path) -> None:
    misused(glassformer("desk", tmp_path / "missing.csv", "--no-open"), "No such file")
    assert not (tmp_path / "missing-desk").exists(), "nothing is left behind"
    assert glassformer("desk", "--help").code == 0
