import os
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.data import databases
from glassformer.data.addresses import local_path, with_query
from glassformer.data.known import resolve
from glassformer.data.parts import PartError
from glassformer.data.rows import read_batches
from glassformer.data.sources import SourceConfig
from glassformer.data.stopping import StoppedBySignal
from glassformer.errors import UsageError
from tests.data.fetched import nothing_fetched  # noqa: F401
from tests.data.postgresql import PASSWORD, TYPED, Server

ROWS = [(f"text {number}", "ab"[number % 2], number) for number in range(20)]


def read(source: str) -> pl.DataFrame:
    return pl.concat(read_batches(local_path(source), rows_per_batch=10_000))


def written(path: Path, **tables: list[tuple[Any, ...]]) -> str:
    with sqlite3.connect(path) as connection:
        for table, rows in tables.items():
            connection.execute(f'CREATE TABLE "{table}" (text, label, number)')
            connection.executemany(f'INSERT INTO "{table}" VALUES (?, ?, ?)', rows)
    connection.close()
    return str(path)


@pytest.fixture
def shop(tmp_path: Path) -> str:
    return written(tmp_path / "shop.sqlite", tickets=ROWS, **{"Old ones": ROWS[:3], "none": []})


def test_the_only_table_is_taken_and_named_as_typed(tmp_path: Path) -> None:
    source = written(tmp_path / "tickets.db", tickets=ROWS)
    table = resolve(source, "train")
    assert table.source == source
    assert table.frame["text"].to_list() == [text for text, _, _ in ROWS]
    assert table.frame["label"].to_list() == [label for _, label, _ in ROWS]
    assert local_path(source) == local_path(source), "it is read once"


def test_tables_are_listed_with_their_rows_and_what_to_type(shop: str) -> None:
    with pytest.raises(UsageError, match=r"holds 3 tables\. Name one, or give `query=`") as raised:
        local_path(shop)
    assert [line.split() for line in raised.value.listing][2] == [f"{shop}#tickets", "20", "rows"]
    assert read(f"{shop}#TICKETS").height == read(f"{shop}#tickets").height == 20
    assert read(f"{shop}#Old ones").height == 3
    with pytest.raises(UsageError, match=r"has no table 'tickts'\. Did you mean 'tickets'\?"):
        local_path(f"{shop}#tickts")


ODD_NAMES = ("Table 1", "values", "From tickets", "with label", "select", "drop it")


def test_a_table_may_be_named_as_a_query_begins(tmp_path: Path) -> None:
    source = written(tmp_path / "odd.sqlite", tickets=ROWS, **dict.fromkeys(ODD_NAMES, ROWS[:3]))
    assert [read(f"{source}#{name}").height for name in (*ODD_NAMES, "table 1")] == [3] * 7
    assert read(f"{source}#VALUES (1)").item() == "1"
    with pytest.raises(PartError, match="holds 7 tables") as raised:
        local_path(source)
    assert sorted(read(line.split("  ")[1]).height for line in raised.value.listing) == [3] * 6 + [20]


def test_all_tables_can_be_chosen_from_and_the_first_are_listed(tmp_path: Path) -> None:
    names = [f"t{number:03}" for number in range(45)]
    source = written(tmp_path / "many.db", **dict.fromkeys(names, ROWS[:2]))
    with pytest.raises(PartError, match="holds 45 tables") as raised:
        local_path(source)
    assert [*raised.value.parts] == names
    assert [raised.value.parts[name] for name in ("t000", "t019", "t020")] == ["2 rows", "2 rows", ""]
    assert len(raised.value.listing) == 21
    assert raised.value.listing[-2:] == (f"  {source}#t019  2 rows", "  and 25 more")
    with pytest.raises(PartError, match="has no table 't1'") as raised:
        local_path(f"{source}#t1")
    assert [*raised.value.parts] == names


def test_a_query_is_stored_as_a_part_of_the_address(shop: str) -> None:
    query = "SELECT text, label FROM tickets WHERE number >= 15 -- the last"
    source = SourceConfig(train=shop, query=query)
    assert source.model_dump(mode="json")["train"] == f"{shop}#{query}"
    assert SourceConfig.model_validate(source.model_dump(mode="json")) == source
    assert read(source.train).rows() == [row[:2] for row in ROWS[15:]]
    assert read(f"{shop}#SELECT './a//#b' AS text").item() == "./a//#b", "a query is no path"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1; DROP TABLE tickets", "one statement at a time"),
        ("WITH old AS (SELECT 1) DELETE FROM tickets", "readonly"),
        ("DROP TABLE tickets", "not a statement that reads"),
        ("SELECT * FROM tickts", "The database says: no such table: tickts"),
        ("SELECT text, text FROM tickets", "two columns of the name 'text'"),
        ("SELECT * FROM tickets WHERE number > 99", "number > 99' has no rows"),
        ("none", "'none' has no rows"),
    ],
)
def test_what_cannot_be_read_changes_nothing(shop: str, query: str, message: str) -> None:
    before = Path(shop).read_bytes()
    with pytest.raises(UsageError, match=message) as raised:
        local_path(f"{shop}#{query}")
    assert "\n" not in raised.value.message
    assert Path(shop).read_bytes() == before


ENDLESS = f"WITH RECURSIVE n(text) AS (SELECT '{'a' * 900}' UNION ALL SELECT text FROM n) SELECT * FROM n"


@pytest.mark.parametrize("module", ["sqlite3", "duckdb"])
def test_rows_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    database = pytest.importorskip(module).connect(tmp_path / "shop.db")
    database.execute(f"CREATE VIEW endless AS {ENDLESS}")
    database.commit()
    database.close()
    monkeypatch.setattr(databases, "most_of", lambda size: size + 10**6)
    for part, named in (("#endless", "'endless'"), (f"#{ENDLESS}", '"WITH'), ("", "")):
        with pytest.raises(UsageError, match=rf"shop\.db(: {named}.*)? gives more than 1\.\d MB of rows; ask for"):
            local_path(f"{tmp_path / 'shop.db'}{part}")


def test_a_query_needs_a_database_without_a_table(shop: str) -> None:
    for source, query, message in (
        ("tickets.csv", "SELECT 1", "not a database"),
        (f"{shop}#tickets", "SELECT 1", "names a table"),
        (shop, "DELETE FROM tickets", "not a statement that reads"),
    ):
        with pytest.raises(UsageError, match=message):
            with_query(source, query)


def test_values_are_text_as_in_a_csv_file(tmp_path: Path) -> None:
    values = [("ö", None, 1), (b"caf\xc3\xa9", float("inf"), 1.5), (b"\xff", "", 2**53)]
    source = written(tmp_path / "values.sqlite3", t=values)
    assert read(source).rows() == [("ö", None, "1"), ("café", "inf", "1.5"), ("ff", "", "9007199254740992")]


def test_files_that_are_no_database(tmp_path: Path) -> None:
    odd, empty = tmp_path / "odd.db", tmp_path / "empty.sqlite"
    odd.write_bytes(b"text,label\n")
    empty.touch()
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    for path, message in ((odd, "neither"), (empty, "no table"), (damaged, "says")):
        with pytest.raises(UsageError, match=message):
            local_path(str(path))


def test_a_duckdb_file_is_read_and_no_other_file(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path, other = tmp_path / "shop.duckdb", tmp_path / "other.csv"
    other.write_text("text\nsecret\n")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE tickets (text VARCHAR, labels VARCHAR[], day DATE)")
        connection.execute("INSERT INTO tickets VALUES ('a', ['x', 'y'], DATE '2024-05-01'), ('b', NULL, NULL)")
        connection.execute("CREATE SCHEMA old")
        connection.execute("CREATE TABLE old.tickets AS SELECT 'c' AS text")
        for name in ODD_NAMES:
            connection.execute(f"CREATE TABLE \"{name}\" AS SELECT 'd' AS text")
    assert read(f"{path}#tickets").rows() == [("a", '["x", "y"]', "2024-05-01"), ("b", None, None)]
    assert read(f"{path}#old.tickets").rows() == [("c",)]
    assert [read(f"{path}#{name}").rows() for name in ODD_NAMES] == [[("d",)]] * len(ODD_NAMES)
    assert read(f"{path}#FROM tickets LIMIT 1").height == 1
    within = "MAP {DATE '2024-05-01': ['\\xAA'::BLOB], DATE '2024-05-02': NULL}, ['nan'::DOUBLE, 1.5]"
    assert read(f"{path}#SELECT {within}").rows() == [
        ('{"2024-05-01": ["aa"], "2024-05-02": null}', "[null, 1.5]"),
    ]
    for query, message in (
        (f"SELECT * FROM read_csv('{other}')", "Permission"),
        ("SELECT 1 AS a; DROP TABLE tickets", "one statement"),
        ("SELECT nothing FROM tickets", "nothing"),
        ("WITH a AS (SELECT 1) INSERT INTO tickets SELECT '1', NULL, NULL FROM a", "that reads"),
    ):
        with pytest.raises(UsageError, match=message):
            local_path(f"{path}#{query}")


@pytest.mark.parametrize("ends", ["count(*) AS x FROM r", "x FROM r WHERE x < 20000"], ids=["at once", "after rows"])
def test_a_query_without_end_can_be_stopped(ends: str, shop: str) -> None:
    ctrl_c = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])
    ctrl_c.start()
    with pytest.raises(StoppedBySignal):
        local_path(f"{shop}#WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT {ends}")


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    file = tmp_path / "shop.duckdb"
    file.write_bytes(b"12345678DUCK")
    for source in (str(file), "postgresql://localhost/nowhere"):
        with pytest.raises(UsageError, match=r"needs an extra: pip install .*\[databases\]'"):
            local_path(source)


def test_postgresql(postgresql: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    rows = "SELECT 'text ' || i AS text, 1.50 AS price, ARRAY['a', 'b'] AS labels, i % 2 = 0 AS even, NULL AS none"
    postgresql.run(f"CREATE TABLE tickets AS {rows} FROM generate_series(1, 25000) AS i")
    postgresql.run("CREATE SCHEMA old", f"CREATE TABLE old.tickets AS {rows} FROM generate_series(1, 3) AS i")
    address = postgresql.address

    with pytest.raises(UsageError, match=r"no password supplied\. No password is kept.*PGPASSWORD"):
        local_path(f"{address}#tickets")
    frame = read(f"{postgresql.with_password}#tickets")
    assert frame.height == 25_000
    assert frame.row(1) == ("text 2", "1.50", '["a", "b"]', "true", None)
    assert read(f"{address}#old.tickets").height == 3, "the password is known from now on"
    assert resolve(f"{address}#tickets", "train", text="text", label="even").source == f"{address}#tickets"

    with pytest.raises(UsageError, match="holds 2 tables") as raised:
        local_path(address)
    assert raised.value.listing[0].split() == [f"{address}#tickets", "25,000", "rows"]
    assert PASSWORD not in str(raised.value)
    assert TYPED not in str(raised.value)
    for query, message in (
        ("SELECT 1; COMMIT; DROP TABLE tickets", "multiple commands"),
        ("WITH old AS (DELETE FROM tickets RETURNING *) SELECT * FROM old", "data-modifying"),
        ("SELECT setval('s', 1)", "does not exist"),
        ("SELECT 1 / (25000 - row_number() OVER ()) AS text FROM tickets", "division by zero"),
        ("tickts", "Did you mean 'tickets'"),
    ):
        with pytest.raises(UsageError, match=message):
            local_path(f"{address}#{query}")
    assert read(f"{address}#SELECT count(*) AS text FROM tickets").item() == "25000"
    postgresql.run('CREATE TABLE "Table 1" AS SELECT 1 AS text')
    assert read(f"{address}#Table 1").item() == "1"


def test_dates_of_postgresql_are_read_in_one_style(postgresql: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGDATESTYLE", "German")
    monkeypatch.setenv("PGOPTIONS", "-c intervalstyle=iso_8601 -c timezone=UTC")
    values = "'2024-05-01 12:30+00'::timestamptz, '2024-05-01'::date, '1 day 02:00'::interval"
    found = read(f"{postgresql.with_password}#SELECT * FROM (VALUES ({values})) AS times(a, b, c)")
    assert found.rows() == [("2024-05-01 12:30:00+00", "2024-05-01", "1 day 02:00:00")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([float("inf"), -float("inf"), float("nan"), 1.5, 10**400], f'["inf", "-inf", null, 1.5, {10**400}]'),
        ({None: 1, "": 2}, '[[null, 1], ["", 2]]'),
        ({b"aa": 1, b"\xaa": 2}, '[["aa", 1], ["aa", 2]]'),
        ({None: 1, "null": 2}, '{"": 1, "null": 2}'),
    ],
)
def test_what_json_lacks_is_text(value: Any, text: str) -> None:
    assert databases._as_text(value) == text


def test_a_server_that_is_not_there(postgresql: Server) -> None:
    for address, message in (
        ("postgresql://me@127.0.0.1:1/shop", "cannot be opened: .*refused"),
        (postgresql.with_password.replace("/postgres", "/nowhere"), 'database "nowhere" does not exist'),
        (postgresql.address.replace("@", ":wrong@"), "password authentication failed"),
    ):
        with pytest.raises(UsageError, match=message) as raised:
            local_path(address)
        assert ":wrong@" not in str(raised.value)
