"""Read a table or a query of a database, SQLite, DuckDB or PostgreSQL, into one Parquet file. Nothing is changed there.

All values become text, as in a CSV file, so a database and its export give the same model.
"""

from __future__ import annotations

import importlib
import itertools
import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

import polars as pl
from polars.io.plugins import register_io_source

from glassformer.data.files import megabytes, written_aside
from glassformer.data.formats.compressions import most_of
from glassformer.data.headers import unique_names
from glassformer.data.installed import pip_install
from glassformer.data.lines import LONGEST
from glassformer.data.parts import MOST_LISTED, PartError
from glassformer.data.stopping import StoppedBySignal, stop_requests
from glassformer.data.wording import counted, did_you_mean
from glassformer.errors import UsageError, brief, quoted, words_of

_READING = ("select", "with", "values", "table", "from")  # DuckDB reads `from tickets` too
_CHANGING = ("insert", "update", "delete", "drop", "create", "alter", "truncate", "merge", "copy", "call", "attach")
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(\w*)", re.DOTALL)
_ROWS_AT_ONCE = 10_000
_STEPS_AT_ONCE = 1_000_000  # of SQLite, some milliseconds
_MOST_COUNTED = 100_000  # rows of a table that a list names; to count more may take minutes
_SECONDS_TO_CONNECT = 10
_OF_TIME = ("date", "time", "timetz", "timestamp", "timestamptz", "interval")  # of PostgreSQL
_MOST_OF_A_SERVER = 2**36  # bytes of rows, whose database may have any size
_TABLES_OF_SQLITE = """
    SELECT '', name FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_' ORDER BY 2"""
_TABLES_OF_DUCKDB = """
    SELECT CASE table_schema WHEN current_schema() THEN '' ELSE table_schema END, table_name
    FROM information_schema.tables WHERE table_catalog = current_database() ORDER BY 1, 2"""
_TABLES_OF_POSTGRESQL = """
    SELECT CASE WHEN pg_table_is_visible(pg_class.oid) THEN '' ELSE nspname END, relname
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT relispartition AND nspname !~ '^(pg_|information_schema$)'
    AND has_schema_privilege(relnamespace, 'USAGE') AND has_table_privilege(pg_class.oid, 'SELECT') ORDER BY 1, 2"""


@dataclass(frozen=True, kw_only=True)
class _Database:
    """An open database.

    Attributes:
        listing: a statement whose rows are the schema ("" for the one that needs no name) and the name of each table.
        cursor: runs a statement; the result has `description` and `fetchmany`, as in Python's DB-API.
        most: the bytes of memory that all rows of a result may take. A view may have rows without end.
    """

    listing: str
    cursor: Callable[[str], Any]
    errors: type[Exception]
    most: int

    def tables(self) -> dict[str, str]:
        """Return each table that can be read: its name, and how a statement names it."""
        found = (
            [schema, table] if schema else [table] for schema, table in self.cursor(self.listing).fetchmany(1_000_000)
        )
        return {".".join(names): ".".join('"' + name.replace('"', '""') + '"' for name in names) for names in found}

    def size(self, identifier: str) -> str:
        """Return how many rows a table has, in words. A view that fails has none."""
        counting = f"SELECT count(*) FROM (SELECT 1 FROM {identifier} LIMIT {_MOST_COUNTED + 1}) AS counted"
        try:
            rows = self.cursor(counting).fetchmany(1)[0][0]
        except self.errors:
            return "cannot be read"
        return counted(rows, "row") if rows <= _MOST_COUNTED else f"more than {_MOST_COUNTED:,} rows"


def check_reading(statement: str) -> None:
    """Raise `UsageError` if a statement does not begin as one that reads."""
    if _first_word(statement) not in _READING:
        raise UsageError(
            f"{brief(statement)!r} is not a statement that reads; begin it with SELECT, WITH, VALUES or TABLE"
        )


def read_file(path: Path, part: str | None, target: Path) -> None:
    """Read a table of a SQLite or DuckDB file into a Parquet file (see `_read`). The first bytes say which it is."""
    with path.open("rb") as file:
        first = file.read(16)
    if first.startswith(b"SQLite format 3\0") or not first:  # SQLite makes an empty file before its first table
        opened = _sqlite(path)
    elif first[8:12] == b"DUCK":
        opened = _duckdb(path)
    else:
        raise UsageError(f"{path}: its first bytes are neither those of a SQLite file nor of a DuckDB file.")
    with opened as database:
        _read(database, part, target, str(path))


def read_postgresql(settings: Mapping[str, str], part: str | None, target: Path, name: str) -> None:
    """Read a table of a PostgreSQL database into a Parquet file (see `_read`).

    Args:
        settings: those of the connection, as libpq names them: host, user, password, dbname and others.
    """
    with _postgresql(settings, name) as database:
        _read(database, part, target, name)


def _read(database: _Database, part: str | None, target: Path, name: str) -> None:
    """Read into a Parquet file, in bounded memory.

    Raises:
        UsageError: there is no such table, or several and none is named; the statement fails or does not read; there
            are no rows, or far too many.
    """
    asked = name if part is None else f"{name}: {brief(part)!r}"
    try:
        cursor = database.cursor(_statement(database, part, name))
        columns = [column[0] for column in cursor.description or ()]
        if not columns:
            raise UsageError(f"{asked} gives no columns; name some, or * for all")
        if twice := [column for column, times in Counter(columns).items() if times > 1]:
            raise UsageError(
                f"{asked} gives two columns of the name {quoted(twice[0])}. Rename one in it: … AS other_name"
            )
        columns = unique_names(columns)
        frames = _frames(cursor, columns, database.most, asked)
        if (first := next(frames, None)) is None:
            raise UsageError(f"{asked} has no rows.")
        _write(columns, itertools.chain([first], frames), target)
    except database.errors as error:
        raise UsageError(f"{asked} cannot be read. The database says: {words_of(error)}") from error


def _statement(database: _Database, part: str | None, name: str) -> str:
    """Return the statement that reads a table, or the one that was given. Raises what `_read` raises.

    The names of tables come first: one may begin as a statement does, such as `Table 1`.
    """
    tables = database.tables()
    if (table := _named(part, [*tables])) is not None:
        return f"SELECT * FROM {tables[table]}"
    if part is not None and _first_word(part) in _READING:
        return part
    if not tables:
        raise UsageError(f"{name} holds no table that can be read.")
    if part is not None and _first_word(part) in _CHANGING and " " in part:
        check_reading(part)
    sizes = {
        each: database.size(identifier) if number < MOST_LISTED else ""
        for number, (each, identifier) in enumerate(tables.items())
    }
    if part is None:
        raise PartError(f"{name} holds {len(tables):,} tables. Name one, or give `query=`:", name, sizes)
    raise PartError(f"{name} has no table {quoted(part)}.{did_you_mean(part, tables)} It holds:", name, sizes)


def _named(part: str | None, tables: Sequence[str]) -> str | None:
    """Return the table of that name, or the only one that differs in case alone. Without a name, the only table."""
    if part in tables:
        return part
    alike = [each for each in tables if part is None or each.casefold() == part.casefold()]
    return alike[0] if len(alike) == 1 else None


def _frames(cursor: Any, columns: Sequence[str], most: int, asked: str) -> Iterator[pl.DataFrame]:
    """Yield the rows of a result as text. Raises `UsageError` if they take more memory than `most`."""
    taken = 0
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        if taken > most:
            raise UsageError(
                f"{asked} gives more than {megabytes(most)} of rows; ask for fewer, or export them as Parquet, and "
                "name that file"
            )
        texts = zip(columns, zip(*rows, strict=True), strict=True)
        frame = pl.DataFrame([pl.Series(name, map(_as_text, each), pl.String) for name, each in texts])
        taken += int(frame.estimated_size())
        yield frame


def _write(columns: Sequence[str], frames: Iterator[pl.DataFrame], target: Path) -> None:
    failed: list[Exception] = []

    def given(*_asked: object) -> Iterator[pl.DataFrame]:
        try:
            yield from frames
        except Exception as error:  # Polars would wrap it in one of its own
            failed.append(error)
            raise

    with written_aside(target) as aside:
        try:
            table = register_io_source(given, schema=dict.fromkeys(columns, pl.String))
            with ThreadPoolExecutor(1) as pool:  # Python handles no signal while Polars runs
                pool.submit(table.sink_parquet, aside).result()
        except Exception as error:
            raise (failed[0] if failed else error) from None


def _as_text(value: object) -> str | None:
    """Return a value as text. Lists and objects are JSON; NaN counts as missing; bytes that are no text are hex."""
    if value is None or value != value:
        return None
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bool | list | tuple | dict):
        return json.dumps(_as_json(value), ensure_ascii=False)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    return str(value)


def _as_json(value: Any) -> Any:
    """Return a value that JSON has. What it lacks is text, also as a key: that of a map may be a date.

    A map with two keys of the same text becomes a list of pairs.
    """
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    if isinstance(value, dict):
        texts = [_as_text(key) or "" for key in value]
        if len(set(texts)) < len(texts):
            return [[_as_json(key), _as_json(each)] for key, each in value.items()]
        return {text: _as_json(each) for text, each in zip(texts, value.values(), strict=True)}
    is_of_json = isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_of_json else _as_text(value)


@contextmanager
def _sqlite(path: Path) -> Iterator[_Database]:
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as connection, stop_requests() as asked:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)  # a view makes values of any length
        # A view may never end, and Python handles no signal while SQLite runs.
        connection.set_progress_handler(lambda: asked.number is not None, _STEPS_AT_ONCE)
        most = most_of(path.stat().st_size)
        try:
            yield _Database(listing=_TABLES_OF_SQLITE, cursor=connection.execute, errors=sqlite3.Error, most=most)
        finally:
            if asked.number is not None:
                raise StoppedBySignal(asked.number)


@contextmanager
def _duckdb(path: Path) -> Iterator[_Database]:
    duckdb = _library("duckdb", f"{path} is a DuckDB file, which")
    closed = {"enable_external_access": "false", "autoinstall_known_extensions": "false"}  # a query may name files
    try:
        opened = duckdb.connect(str(path), read_only=True, config=closed)
    except duckdb.Error as error:
        _cannot_open(str(path), error)

    def run(statement: str) -> Any:
        found = duckdb.extract_statements(statement)
        if len(found) != 1 or found[0].type != duckdb.StatementType.SELECT:
            raise UsageError(f"{path}: {brief(statement)!r} should be one statement, and one that reads.")
        return connection.execute(statement)

    with closing(opened) as connection:
        most = most_of(path.stat().st_size)
        yield _Database(listing=_TABLES_OF_DUCKDB, cursor=run, errors=duckdb.Error, most=most)


@contextmanager
def _postgresql(settings: Mapping[str, str], name: str) -> Iterator[_Database]:
    psycopg = _library("psycopg", f"{name} is read by a package that")
    try:
        opened = psycopg.connect(**{"connect_timeout": str(_SECONDS_TO_CONNECT), **settings})
    except psycopg.Error as error:
        _cannot_open(name, error)
    numbers = itertools.count()
    with closing(opened) as connection, ExitStack() as cursors:
        for kind in _OF_TIME:  # as the server writes them: Python's lack 'infinity', and years beyond 9999
            connection.adapters.register_loader(kind, psycopg.types.string.TextLoader)
        connection.autocommit = True
        # A large table may else be read from its middle on, beside another reader. Rows should keep their order.
        connection.execute("SET synchronize_seqscans = off")
        # Whatever the server or a variable says: dates are read in this style alone.
        connection.execute("SET datestyle = ISO")
        connection.execute("SET intervalstyle = postgres")
        connection.autocommit, connection.read_only = False, True

        def run(statement: str) -> Any:
            # A cursor on the server sends rows as they are asked for, and takes one statement alone, which must read.
            named = connection.cursor(name=f"glassformer_{next(numbers)}", scrollable=False)
            cursor = cursors.enter_context(named)
            try:
                return cursor.execute(statement)
            except psycopg.Error:
                connection.rollback()
                raise

        yield _Database(listing=_TABLES_OF_POSTGRESQL, cursor=run, errors=psycopg.Error, most=_MOST_OF_A_SERVER)


def _library(package: str, needed_by: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise UsageError(f"{needed_by} needs an extra: {pip_install('databases')}") from error


def _cannot_open(name: str, error: Exception) -> NoReturn:
    words = words_of(error)
    hint = ""
    if "password" in words:
        hint = ". No password is kept in a model folder; set PGPASSWORD, or write it into the address again"
    raise UsageError(f"{name} cannot be opened: {words}{hint}") from error


def _first_word(statement: str) -> str:
    found = _FIRST_WORD.match(statement)
    return found[1].lower() if found else ""
