"""The page of the desk, its cookies and its project folder are forged or tampered with.

Each ends in a sentence.
"""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from glassformer.desk.app import create_desk
from glassformer.desk.project import Project
from glassformer.desk.schema import VERSION
from glassformer.serving.listening import Address
from tests.attacks.answer import answered, nothing_lost
from tests.cli.terminal import glassformer
from tests.desk.samples import label, learn, project_of, some_texts
from tests.trained import write_csv

HUGE = 10**30
DECISION: dict[str, Any] = {"texts": [1], "kind": "skip", "who": "me", "way": "search"}
HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return project_of(tmp_path_factory.mktemp("project"), some_texts(12))


@pytest.fixture(scope="module")
def client(project: Project) -> Iterator[TestClient]:
    """One page for all attacks: it must go on after each of them."""
    desk = create_desk(project, learn, hosts=["localhost", "127.0.0.1"])
    with TestClient(desk.app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        client.get(f"/{desk.app.query}")
        yield client
    desk.rounds.stop()


def decision(**changes: Any) -> tuple[str, str, Any]:
    return "POST", "/desk/decisions", DECISION | changes


def changed(**changes: Any) -> tuple[str, str, Any]:
    return "POST", "/desk/classes", {"name": "praise", "who": "me"} | changes


def columns(**changes: Any) -> tuple[str, str, Any]:
    return "POST", "/desk/columns", {"text": "text", "task": "classes"} | changes


REFUSED: dict[str, tuple[tuple[str, str, Any], int]] = {
    "text-of-a-huge-number": (("GET", f"/desk/texts/{HUGE}", None), 422),
    "text-of-5000-digits": (("GET", f"/desk/texts/{'9' * 5_000}", None), 422),
    "text-negative": (("GET", "/desk/texts/-1", None), 404),
    "text-of-sql": (("GET", "/desk/texts/1%20OR%201=1", None), 422),
    "alike-of-a-huge-number": (("GET", f"/desk/alike/{HUGE}", None), 422),
    "next-leaving-a-huge-number": (("GET", f"/desk/next?who=me&leaving={HUGE}", None), 422),
    "next-of-nobody": (("GET", "/desk/next", None), 422),
    "next-of-a-long-name": (("GET", f"/desk/next?who={'a' * 5_000}", None), 422),
    "next-of-a-nul": (("GET", "/desk/next?who=%00", None), 200),
    "search-far-away": (("GET", f"/desk/texts?page={HUGE}", None), 422),
    "search-beyond-the-last-page": (("GET", "/desk/texts?page=1000000000", None), 200),
    "search-negative": (("GET", "/desk/texts?page=-1", None), 422),
    "search-of-sql": (("GET", "/desk/texts?words=%27%20OR%201=1%20--", None), 200),
    "search-of-patterns": (("GET", "/desk/texts?words=%25_%5C%25", None), 200),
    "search-of-many-words": (("GET", "/desk/texts?words=" + "a%20" * 100, None), 200),
    "search-of-a-state-of-none": (("GET", "/desk/texts?state=owned", None), 422),
    "search-for-a-label-of-none": (("GET", "/desk/texts?label=%00", None), 200),
    "report-of-a-huge-number": (("GET", f"/desk/report/{HUGE}", None), 404),
    "report-negative": (("GET", "/desk/report/-1", None), 404),
    "report-up": (("GET", "/desk/report/..%2f..%2f..%2fetc%2fpasswd", None), 404),
    "decision-about-a-huge-number": (decision(texts=[HUGE]), 422),
    "decision-about-nothing": (decision(texts=[]), 422),
    "decision-about-10001": (decision(texts=list(range(10_001))), 422),
    "decision-about-a-fraction": (decision(texts=[1.5]), 422),
    "decision-about-true": (decision(texts=[True]), 422),
    "decision-about-sql": (decision(texts=["1) OR (1=1"]), 422),
    "decision-without-a-label": (decision(kind="label"), 422),
    "decision-of-half-a-pair": (decision(kind="label", label="\ud800"), 422),
    "decision-by-half-a-pair": (decision(who="\udfff"), 422),
    "decision-noted-by-half-a-pair": (decision(note="\ud800"), 422),
    "decision-of-a-blank-label": (decision(kind="label", label=" \t"), 422),
    "decision-of-a-long-label": (decision(kind="label", label="a" * 5_000), 422),
    "decision-of-a-long-note": (decision(note="a" * 5_000), 422),
    "decision-with-more-keys": (decision(giver="owner"), 422),
    "decision-of-the-table": (decision(way="table"), 422),
    "class-of-none": (changed(name="nosuch", to="other"), 422),
    "class-blank": (changed(name=" "), 422),
    "class-to-blank": (changed(to=" "), 422),
    "class-of-half-a-pair": (changed(name="\ud800"), 422),
    "class-to-half-a-pair": (changed(to="\ud800"), 422),
    "columns-of-none": (columns(text="nosuch"), 422),
    "columns-text-for-label": (columns(label="text"), 422),
    "columns-of-half-a-pair": (columns(text="\ud800"), 422),
    "columns-of-an-odd-task": (columns(task="owned"), 422),
    "settings-odd": (("POST", "/desk/settings", {"twice": "yes"}), 422),
    "people-of-half-a-pair": (("POST", "/desk/people", {"who": "\ud800"}), 422),
    "people-of-a-long-name": (("POST", "/desk/people", {"who": "a" * 5_000}), 422),
    "people-odd": (("POST", "/desk/people", {"who": "me", "blind": "yes"}), 422),
    "undo-nothing": (("POST", "/desk/undo", {"who": HOSTILE}), 200),
    "undo-of-half-a-pair": (("POST", "/desk/undo", {"who": "\ud800"}), 422),
    "round-of-nothing": (("POST", "/desk/rounds", None), 422),
    "table-up": (("POST", "/desk/table?name=..%2F..%2Fowned.csv", "text\ngood\n"), 422),
    "table-absolute": (("POST", "/desk/table?name=%2Ftmp%2Fowned.csv", "text\ngood\n"), 422),
    "table-hidden": (("POST", "/desk/table?name=.owned.csv", "text\ngood\n"), 422),
    "table-backslash": (("POST", "/desk/table?name=..%5Cowned.csv", "text\ngood\n"), 422),
    "table-nul": (("POST", "/desk/table?name=a%00.csv", "text\ngood\n"), 422),
    "table-a-program": (("POST", "/desk/table?name=a.py", "import os\n"), 422),
    "table-of-a-long-name": (("POST", f"/desk/table?name={'é' * 200}.csv", "text\ngood\n"), 422),
    "table-part-up": (("POST", "/desk/table?name=a.zip&part=..%2F..%2Fetc%2Fpasswd", "PK"), 422),
    "table-empty": (("POST", "/desk/table?name=a.csv", ""), 422),
    "table-over-the-labels": (("POST", "/desk/table?name=desk.sqlite", "SQLite format 3\0"), 422),
    "path-of-the-labels": (("GET", "/desk/desk.sqlite", None), 404),
    "page-up": (("GET", "/desk/page/..%2f..%2fapp.py", None), 404),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_odd_request_of_the_page_changes_nothing(name: str, client: TestClient, project: Project) -> None:
    (method, path, body), status = REFUSED[name]
    before = client.get("/desk/state").json()
    with nothing_lost(project.folder / "tables"):
        content = body if isinstance(body, str | None) else json.dumps(body)
        answer = client.request(method, path, content=content, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text[:500]
    assert status == 200 or (isinstance(answer.json()["reason"], str) and len(answer.text) < 3_000)
    assert client.get("/desk/state").json() == before
    assert not list(project.folder.glob(".sent-*"))


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"cookie": ""}, id="no-cookie"),
        pytest.param({"cookie": "desk=; desk-0=1; ;;=\xff".encode("latin-1")}, id="odd-cookie"),
        pytest.param({"cookie": "a" * 5_000}, id="long-cookie"),
        pytest.param({"host": "evil.example"}, id="another-host"),
        pytest.param({"origin": "http://evil.example"}, id="another-origin"),
        pytest.param({"origin": "null"}, id="null-origin"),
        pytest.param({"origin": "http://127.0.0.1:1"}, id="another-port"),
    ],
)
def test_another_website_or_user_is_refused(headers: dict[str, Any], client: TestClient) -> None:
    for method, path in (("GET", "/desk/state"), ("POST", "/desk/undo"), ("GET", "/desk/labels.csv")):
        assert client.request(method, path, headers=headers).status_code in (400, 403)


def test_a_hostile_name_and_note_come_back_as_text(client: TestClient) -> None:
    assert client.request(*decision(note=HOSTILE, who=HOSTILE)[:2], json=decision(note=HOSTILE, who=HOSTILE)[2]).json()
    assert client.get("/desk/texts/1").json()["text"]["note"] == HOSTILE
    assert client.post("/desk/undo", json={"who": HOSTILE}).json()["texts"] == 1


def written(content: bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(content)


def edited(*statements: str) -> Callable[[Path], object]:
    def edit(file: Path) -> None:
        with sqlite3.connect(file) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    return edit


def instead(make: Callable[[Path], object]) -> Callable[[Path], object]:
    """Another thing of the same name."""

    def replace(file: Path) -> None:
        file.unlink()
        make(file)

    return replace


TAMPERED: dict[str, Callable[[Path], object]] = {
    "no-database": written(b"text,label\n"),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:5_000]),
    "zeros-behind-the-header": lambda file: file.write_bytes(file.read_bytes()[:100] + b"\0" * 60_000),
    "another-database": instead(edited("CREATE TABLE x (y)", "PRAGMA user_version = 1")),
    "of-a-newer-version": edited("PRAGMA user_version = 1000"),
    "of-a-negative-version": edited("PRAGMA user_version = -1"),
    "no-facts": edited("DROP TABLE facts"),
    "facts-no-json": edited("UPDATE facts SET value = '{'"),
    "facts-null": edited("UPDATE facts SET value = 'null'"),
    "facts-of-odd-types": edited("UPDATE facts SET value = '[1]'"),
    "table-up": edited("UPDATE facts SET value = '\"../../../../etc/passwd\"' WHERE name = 'table'"),
    "table-gone": edited("UPDATE facts SET value = '\"gone.csv\"' WHERE name = 'table'"),
    "task-of-none": edited("INSERT OR REPLACE INTO facts (name, value) VALUES ('task', '\"owned\"')"),
    "a-folder": instead(Path.mkdir),
    "a-link-to-itself": instead(lambda file: file.symlink_to(file.name)),
    "an-endless-device": instead(lambda file: file.symlink_to("/dev/zero")),
}


def _closed(_: object, address: Address, **__: object) -> None:
    """Stands for a server that is stopped at once."""
    address.listener.close()


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_project_is_opened_or_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = project_of(tmp_path, some_texts(4))
    opened.store.close()
    TAMPERED[name](opened.folder / "desk.sqlite")
    monkeypatch.setattr("glassformer.serving.listening.answer_requests", _closed)
    outcome = glassformer("desk", "--project", opened.folder, "--no-open")
    if outcome.code:
        answered(outcome, str(opened.folder))
    assert "Traceback" not in outcome.err


RECORD = """'{"labels": 2, "batch": 1, "command": "", "began": 1.0}'"""
ODD_CELLS: dict[str, str] = {
    "text-of-bytes": "UPDATE texts SET text = x'ff' WHERE id = 1",
    "number-of-a-text": "UPDATE decisions SET batch = 'x'",
    "beside-a-number": "UPDATE texts SET beside = '7' WHERE id = 2",
    "beside-of-numbers": """UPDATE texts SET beside = '{"shop": 1}' WHERE id = 2""",
    "beside-cut": """UPDATE texts SET beside = '{"shop": ' WHERE id = 2""",
    "round-empty": "INSERT INTO rounds VALUES (1, 'done', '')",
    "round-a-list": "INSERT INTO rounds VALUES (1, 'done', '[1]')",
    "round-without-labels": "INSERT INTO rounds VALUES (1, 'done', '{}')",
    "round-of-odd-labels": f"INSERT INTO rounds VALUES (1, 'done', replace({RECORD}, '2', '[]'))",
    "no-label": "DELETE FROM facts WHERE name = 'label'",
    "levels-without-separator": """INSERT OR REPLACE INTO facts VALUES ('lower', '["b"]')""",
    "columns-of-numbers": "INSERT OR REPLACE INTO facts VALUES ('columns', '[1]')",
    "trigger": "CREATE TRIGGER x AFTER INSERT ON decisions BEGIN UPDATE decisions SET label = 'bad'; END",
    "view-for-a-table": "DROP TABLE classes\nCREATE VIEW classes AS SELECT 1 AS name",
    "doubts-of-numbers": "INSERT OR REPLACE INTO facts VALUES ('doubts', '[1]')",
}


@pytest.mark.mended
@pytest.mark.parametrize("name", ODD_CELLS)
def test_cells_that_no_desk_writes_are_refused_at_the_start(name: str, tmp_path: Path) -> None:
    opened = project_of(tmp_path, some_texts(4))
    label(opened, [1], "praise")
    opened.store.close()
    edited(*ODD_CELLS[name].splitlines())(opened.folder / "desk.sqlite")
    with nothing_lost(opened.folder / "tables"):
        answered(glassformer("desk", "--project", opened.folder, "--export", tmp_path / "out"), "desk.sqlite cannot")
    assert not (tmp_path / "out").exists()


@pytest.mark.mended
@pytest.mark.parametrize("version", [VERSION, VERSION - 1])
def test_views_that_say_something_else_are_not_used(version: int, tmp_path: Path) -> None:
    opened = project_of(tmp_path, some_texts(4))
    label(opened, [1], "praise")
    opened.store.close()
    before = [] if version == VERSION else ["ALTER TABLE texts DROP COLUMN row", "ALTER TABLE renames DROP COLUMN who"]
    before += ["ALTER TABLE renames DROP COLUMN is_new"] * (version < VERSION)
    edited(
        "DROP VIEW current",
        "CREATE VIEW current AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 9) "
        "SELECT d.id, d.text, d.kind, 'blame' AS label, d.way, d.batch FROM decisions d, c",
        *before,
        f"PRAGMA user_version = {version}",
    )(opened.folder / "desk.sqlite")
    assert glassformer("desk", "--project", opened.folder, "--export", tmp_path / "out").code == 0
    assert (tmp_path / "out" / "labels.csv").read_text().splitlines() == [
        "text,label,way,id", f"{some_texts(1)[0]},praise,random,1"
    ]  # fmt: skip


@pytest.mark.mended
@pytest.mark.parametrize("name", ["tables", "models", "tables/texts.csv", "models/round-0001"])
def test_nothing_is_removed_or_shown_where_a_link_of_a_project_leads(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.serving.listening.answer_requests", _closed)
    opened, mine = project_of(tmp_path, some_texts(4)), tmp_path / "mine"
    opened.store.close()
    (mine / "sub").mkdir(parents=True)
    for thesis in (mine / "thesis.txt", mine / "sub" / "thesis.txt"):
        thesis.write_text("mine")
    is_folder = (opened.folder / name).is_dir()
    if (opened.folder / name).exists():
        (opened.folder / name).rename(tmp_path / "away")
    (opened.folder / name).symlink_to(mine if is_folder else mine / "thesis.txt")
    table = write_csv(tmp_path / "t.csv", [(text,) for text in some_texts(4)], ("text",))
    with nothing_lost(mine):
        answered(glassformer("desk", table, "--project", opened.folder, "--no-open"), f"{name} is a link", code=2)


NAMELESS: dict[str, Callable[[Path], object]] = {
    "no-table": edited("DELETE FROM facts WHERE name = 'table'"),
    "table-null": edited("UPDATE facts SET value = 'null' WHERE name = 'table'"),
    "empty": written(b""),
}


@pytest.mark.mended
@pytest.mark.parametrize("name", NAMELESS)
def test_a_project_that_does_not_name_its_table_is_not_removed(name: str, tmp_path: Path) -> None:
    """It was taken for a new one, whose files are removed at the end."""
    opened = project_of(tmp_path, some_texts(4))
    opened.store.close()
    file = opened.folder / "desk.sqlite"
    NAMELESS[name](file)
    (opened.folder / "models" / "round-0001").mkdir()
    with nothing_lost(opened.folder / "tables"):
        answered(glassformer("desk", "--project", opened.folder, "--export", tmp_path / "out"), str(opened.folder))
    assert file.is_file()
    assert (opened.folder / "models" / "round-0001").is_dir()


@pytest.mark.mended
def test_labels_that_are_damaged_where_they_are_read_late_are_refused(tmp_path: Path) -> None:
    """Only the pages of the texts are: what is read first is whole."""
    opened = project_of(tmp_path, [f"{text} {'long ' * 200}" for text in some_texts(200)])
    of_texts = opened.store.value("SELECT rootpage FROM sqlite_master WHERE name = 'texts'")
    size = opened.store.value("PRAGMA page_size")
    opened.store.close()
    file = opened.folder / "desk.sqlite"
    content = file.read_bytes()
    file.write_bytes(content[: (of_texts - 1) * size] + b"\xff" * size + content[of_texts * size :])
    outcome = glassformer("desk", "--project", opened.folder, "--export", tmp_path / "out")
    answered(outcome, "desk.sqlite cannot be read", "malformed", code=outcome.code)
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.mended
@pytest.mark.parametrize("arguments", [
    ("--project", "desk", "--export", "loop"),
    ("loop", "--project", "desk", "--no-open"),
    ("loop/t.csv", "--project", "desk", "--no-open"),
])  # fmt: skip
def test_a_link_to_itself_is_refused(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project_of(tmp_path, some_texts(4)).store.close()
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    with nothing_lost(tmp_path / "desk" / "tables", tmp_path / "desk" / "desk.sqlite"):
        answered(glassformer("desk", *arguments), "loop")


def moved(file: Path) -> None:
    file.rename(file.with_suffix(".old"))


def replaced(file: Path) -> None:
    """As a program that copies folders between machines does."""
    shutil.copy(file, other := file.with_suffix(".new"))
    other.replace(file)


@pytest.mark.mended
@pytest.mark.parametrize("change", [Path.unlink, moved, replaced, lambda file: shutil.rmtree(file.parent)],
                         ids=["deleted", "moved", "replaced", "gone-with-its-folder"])  # fmt: skip
def test_no_decision_is_taken_that_would_be_lost(change: Callable[[Path], object], tmp_path: Path) -> None:
    with opened_desk(tmp_path) as (client, file):
        change(file)
        answer = client.post("/desk/decisions", json=DECISION)
        assert (answer.status_code, answer.json()["reason"][:48]) == (
            500,
            "nothing was kept: desk.sqlite was moved, deleted",
        )
        if file.with_suffix(".old").exists():
            file.with_suffix(".old").rename(file)
            assert client.post("/desk/decisions", json=DECISION).status_code == 200


@pytest.mark.mended
def test_labels_that_another_program_holds_are_said_to_be_held(tmp_path: Path) -> None:
    with opened_desk(tmp_path) as (client, file), closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = client.post("/desk/decisions", json=DECISION)
    assert (answer.status_code, "another program holds the labels" in answer.text) == (503, True)


@pytest.mark.mended
def test_labels_that_another_program_damages_are_not_said_to_need_space(tmp_path: Path) -> None:
    with opened_desk(tmp_path) as (client, file), closing(sqlite3.connect(file)) as other:
        other.execute("DROP TABLE texts")
        answer = client.post("/desk/decisions", json=DECISION)
    assert (answer.status_code, "no such table" in answer.text, "space" in answer.text) == (500, True, False)


@contextmanager
def opened_desk(folder: Path) -> Iterator[tuple[TestClient, Path]]:
    """The page of a project, and the file of its labels. SQLite waits for no other program."""
    project = project_of(folder, some_texts(4))
    project.store.rows("PRAGMA busy_timeout = 0")
    desk = create_desk(project, learn, hosts=["127.0.0.1"])
    with TestClient(desk.app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        client.get(f"/{desk.app.query}")
        yield client, project.folder / "desk.sqlite"
