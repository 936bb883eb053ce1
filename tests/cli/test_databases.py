"""Commands that read a table from a database or an address. No password is kept or shown."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.data import addresses
from glassformer.data.addresses import local_path
from tests.cli.terminal import OF_FEW_ROWS, Outcome, ctrl_c, glassformer, misused
from tests.data.fetched import forget, nothing_fetched  # noqa: F401
from tests.data.object_store import environment, serving
from tests.data.postgresql import PASSWORD, TYPED, Server
from tests.fits import quick

__all__ = ["quick"]

WORDS = {"good": ("fine", "great", "lovely"), "bad": ("awful", "poor", "slow")}
ROWS = [
    (f"the {thing} was {word} today, number {number}", label)
    for number in range(4)
    for thing in ("phone", "book", "lamp", "train", "soup")
    for label, words in WORDS.items()
    for word in words
]
QUICK = (*OF_FEW_ROWS, "--set", "validation.min_rows=10")


@pytest.fixture
def shop(postgresql: Server) -> Server:
    values = ", ".join(f"('{text}', '{label}')" for text, label in ROWS)
    statements = [
        f"DROP TABLE IF EXISTS {table}; CREATE TABLE {table} AS SELECT * FROM (VALUES {values}) AS rows(text, label)"
        for table in ("tickets", "later")
    ]
    postgresql.run(*[part for statement in statements for part in statement.split("; ")])
    return postgresql


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        for table in ("tickets", "later"):
            connection.execute(f"CREATE TABLE {table} (text, label)")
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", ROWS)
        connection.execute("INSERT INTO later VALUES ('a new and fine text', NULL)")
    connection.close()
    return path


def test_dates_that_python_lacks_are_read_and_no_columns_refused(
    postgresql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    within = "'infinity'::timestamp AS a, '-infinity'::date AS b, '12345-01-01'::timestamptz AS c, '24:00'::time AS d"
    values = f"SELECT {within}, '2024-05-01 12:30'::timestamp AS e FROM generate_series(1, 3)"
    found = pl.read_parquet(local_path(f"{postgresql.with_password}#{values}"))
    assert found.rows() == [("infinity", "-infinity", found["c"][0], "24:00:00", "2024-05-01 12:30:00")] * 3
    assert found["c"][0].startswith("12345-01-01 ")
    for address, said in (
        (f"{postgresql.with_password}#SELECT FROM generate_series(1, 3)", "gives no columns; name some, or * for all"),
        (postgresql.with_password.replace(str(postgresql.port), "99999"), "A port is a number up to 65535"),
    ):
        refused = glassformer("train", address, "--out", tmp_path / "m")
        misused(refused, said)
        assert "s3cret" not in refused.err
    assert not (tmp_path / "m").exists()


def check_nothing_is_told(folder: Path, *outcomes: Outcome) -> None:
    said = "".join(outcome.out + outcome.err for outcome in outcomes).encode()
    kept = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert kept
    for secret in (PASSWORD, TYPED, "s3cret"):
        assert not any(secret.encode() in whole for whole in (said, *kept))
    assert not any(b"/glassformer-" in whole for whole in (said, *kept)), "nor where a table was copied to"


def test_a_password_is_neither_kept_nor_shown(shop: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.chdir(tmp_path)
    forget(monkeypatch)
    out, typed = tmp_path / "model", shop.with_password
    query = ("--query", "SELECT text, label FROM tickets ORDER BY text")
    tables = ("--test", f"{typed}#later", "--validation", f"{typed}#later", "--unlabelled", f"{typed}#later")
    train = ("train", typed, *query, "--validation", f"{typed}#SELECT * FROM later LIMIT 30", "--out", out, *QUICK)
    with ctrl_c(2):
        stopped = glassformer(*train)
    assert stopped.code == 130
    assert "--resume" in stopped.err
    resumed = glassformer(*train, "--resume")
    assert resumed.code == 0, resumed.err
    asked = glassformer("evaluate", out, f"{typed}#later", "--json")
    assert asked.document["data"]["source"] == f"{shop.address}#later"
    labels = glassformer("labels", f"{typed}#tickets", "--json")
    assert labels.document["out"] == "tickets-to-check.csv"
    refused = glassformer("train", f"{typed}#tickts", *tables, "--out", tmp_path / "other", *QUICK)
    assert refused.code == 2
    check_nothing_is_told(tmp_path, stopped, resumed, asked, labels, refused)

    forget(monkeypatch)
    without = glassformer("evaluate", out, f"{shop.address}#later", "--out", tmp_path / "again")
    assert without.code == 2
    assert "set PGPASSWORD" in without.err
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    again = glassformer("evaluate", out, f"{shop.address}#later", "--out", tmp_path / "again")
    assert again.code == 0, again.err
    assert f"The training rows are at {shop.address}#" in again.err, "the folder may be a stranger's"
    assert "TF-IDF" not in again.out
    learned = f"{shop.address}#{query[1]}"
    named = glassformer("evaluate", out, f"{shop.address}#later", "--train", learned, "--out", tmp_path / "named")
    assert "TF-IDF" in named.out, "the training rows were read again, for the baseline"
    check_nothing_is_told(tmp_path, without, again, named)


def test_each_command_reads_a_table_of_a_file(file: Path, tmp_path: Path) -> None:
    out, answers, tickets = tmp_path / "model", tmp_path / "answers.csv", f"{file}#tickets"
    several = glassformer("train", file, "--out", out, *QUICK)
    assert several.code == 2
    assert f"'{tickets}' " in several.err
    assert not out.exists()
    query: tuple[Any, ...] = ("--query", "SELECT * FROM later LIMIT 40")
    for command in (
        ("train", tickets, "--out", out, *QUICK),
        ("evaluate", out, file, *query),
        ("compare", out, tmp_path / "copy", file, *query),
        ("predict", out, "--file", file, *query, "--out", answers),
        ("explain", out, "--file", f"{file}#SELECT * FROM later LIMIT 2"),
        ("labels", tickets, "--next", 5, f"{file}#later"),
        ("labels", file, *query),
    ):
        done = glassformer(*command)
        assert done.code == 0, done.err
        if command[0] == "train":
            shutil.copytree(out, tmp_path / "copy")
    assert len(answers.read_text().splitlines()) == 41
    assert {path.name for path in tmp_path.glob("*-to-*")} == {"shop-later-to-label.csv", "shop-to-check.csv"}
    mend = glassformer("labels", tickets, "--apply", tmp_path / "shop-to-check.csv")
    assert mend.code == 2
    assert "--apply mends a table in one file" in mend.err
    no_table = glassformer("predict", out, "a text", *query)
    assert "--query goes with --file" in no_table.err


def test_a_presigned_address_is_neither_kept_nor_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch)
    with serving() as (root, _):
        done = glassformer("labels", f"{root}/none.csv?signature=s3cret", "--out", tmp_path / "a.csv")
        assert done.code == 1
        assert f"{root}/none.csv could not be downloaded" in done.err
        assert "s3cret" not in done.err


def test_an_object_is_answered_like_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore")
    with serving() as (root, _):
        for name, value in environment(root).items():
            monkeypatch.setenv(name, value)
        told: list[str] = []
        monkeypatch.setattr(addresses, "_watchers", [])
        monkeypatch.setattr("glassformer.cli.main.doing", told.append)
        answered = glassformer("predict", "sentiment-en", "--file", "s3://bucket/tickets.csv", "--jsonl")
        assert answered.code == 0, answered.err
        assert told[-1].startswith("reading s3://bucket/tickets.csv: "), "how far it is"
        assert len(answered.out.splitlines()) == 2
        shards = ("--file", "s3://bucket/shards/", "--text", "text", "--out", tmp_path / "out")
        folder = glassformer("predict", "sentiment-en", *shards)
        assert folder.code == 0, folder.err
        assert sorted(path.name for path in (tmp_path / "out").glob("*.csv")) == ["1.csv", "2.csv"]
