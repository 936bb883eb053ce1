"""Where a table is: what the user wrote, as a path on this machine.

A table may be a file, or lie in a database or elsewhere: `tickets.sqlite#tickets`, `postgresql://me@host/shop#tickets`,
`s3://bucket/tickets.parquet`, `https://host/tickets.csv`. What does not lie in a file here is read once, into a private
folder that is removed at exit. All other code reads paths, and messages name what the user wrote.

A password is taken out of an address before anything keeps or shows it, and stays in memory.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Annotated
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from pydantic import AfterValidator

from glassformer.data.download import fetch, is_safe
from glassformer.data.parts import MARK, exists, split_part
from glassformer.errors import UsageError, brief, name_as, quoted

_FILES = (".sqlite", ".sqlite3", ".db", ".db3", ".duckdb")  # of databases
_DATABASES = ("postgresql", "postgres")
_REMOTE = ("s3", "https", "http")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_LOST_A_SLASH = re.compile(rf"({'|'.join((*_DATABASES, *_REMOTE))}):/[^/]")
_TABLE = re.compile(r"\w[\w.-]{,60}")  # a table whose name may be that of a file
_AGAIN = "Try again, or download it by other means and name the file."

_passwords: dict[tuple[str, str], str] = {}
"""By scheme, and user and server."""
_queries: dict[str, str] = {}
"""What stood behind the ? of a web address, by the address without it."""
_fetched: dict[str, Path] = {}
"""Where each source lies that was read, by what the user wrote."""
_watchers: list[Callable[[str], None]] = []


def watch(on_progress: Callable[[str], None]) -> None:
    """From now on, call this with how far the reading of an address is, in words."""
    if on_progress not in _watchers:
        _watchers.append(on_progress)


def without_password(source: str) -> str:
    """Return an address without what is secret in it, which is remembered for `local_path`. Other sources stay.

    Raises:
        UsageError: the address cannot be taken apart, so its secret cannot be found.
    """
    if scheme_of(source) not in (*_DATABASES, *_REMOTE):
        return source
    parts = _split(source)
    user, _, server = parts.netloc.rpartition("@")
    name, colon, password = user.partition(":")
    if parts.scheme == "s3":  # it has no query, and a key may hold any character
        if user:
            raise UsageError(
                "s3://…@…: an address holds no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead"
            )
        return source
    kept = parts._replace(netloc=f"{name}@{server}" if user else server)
    if colon:
        _passwords[parts.scheme, kept.netloc] = unquote(password)
    if parts.scheme in _DATABASES:
        settings = dict(parse_qsl(parts.query))
        if "sslpassword" in settings:
            raise UsageError(
                "postgresql://…: sslpassword= is not read from an address; put it into a service file, and name that "
                "service with ?service="
            )
        if (given := settings.pop("password", None)) is not None:
            _passwords[parts.scheme, kept.netloc] = given
        kept = kept._replace(query=urlencode(settings))
    else:
        kept = kept._replace(query="")
    address = _joined(kept)
    if address != source:
        name_as(source, address)
    if parts.scheme not in _DATABASES and parts.query and _queries.setdefault(address, parts.query) != parts.query:
        raise UsageError(
            f"{address} is named twice, with different words behind the ?. They may be secret, so nothing keeps them, "
            "and the two cannot be told apart. Download one, and name the file."
        )
    return address


Source = Annotated[str, AfterValidator(without_password)]
"""What names a table, in a record that is stored."""


def with_query(source: str, query: str | None) -> str:
    """Return a database with the statement to read from it.

    Raises:
        UsageError: the source is not a database, or names a table already, or the statement does not read.
    """
    if query is None:
        return source
    from glassformer.data.databases import check_reading

    file, part = _file_and_part(source)
    if scheme_of(source) in _DATABASES:
        file, _, part = source.partition("#")
    elif scheme_of(source) is not None or Path(file).suffix.lower() not in _FILES:
        raise UsageError(f"`query=`: {without_password(source)} is not a database; leave it out")
    if part:
        raise UsageError(f"{without_password(file)}#{part} names a table, and `query=` names another; leave one out")
    check_reading(query)
    return f"{file}#{query}"


def local_path(source: str | Path) -> Path:
    """Return the path of a table. What lies in a database or elsewhere is read first, once in a process.

    Raises:
        UsageError: the address is wrong, or a database cannot be read. The message says what to do.
        GlassformerError: a server cannot be reached.
    """
    if isinstance(source, Path):
        if _LOST_A_SLASH.match(str(source)):
            raise UsageError(f"{brief(str(source))}: an address is given as a string, not as a path")
        source = str(source)
    scheme = scheme_of(source)
    if scheme is None and not _is_in_database(source):
        return Path(source)
    source = without_password(source)
    if source not in _fetched:
        folder = Path(tempfile.mkdtemp(prefix="glassformer-"))  # only its owner may enter it
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        place = folder / f"{name_in(source)}{_suffix(source)}"
        name_as(str(place), source.rstrip("/"))
        if scheme in (None, *_DATABASES):
            _read_database(source, place)
        else:
            _fetch(source, place)
        _fetched[source] = place
    return _fetched[source]


def is_elsewhere(source: str) -> bool:
    """Whether a table does not lie in a file of its own on this machine."""
    return scheme_of(source) is not None or _is_in_database(source)


def beside(source: str, ending: str) -> Path:
    """Return a path beside a table, named after it; of an address, in the folder where the command runs."""
    if scheme_of(source) is not None:
        return Path(f"{name_in(source)}{ending}")
    source = source if Path(source).name.strip(".") else str(Path(source).resolve())  # "." says no name
    return Path(_file_and_part(source)[0]).parent / f"{name_in(source)}{ending}"


def name_in(source: str) -> str:
    """Return a short name of what an address names: the file, without extension, and its part; or the table."""
    if scheme_of(source) is None:
        file, part = _file_and_part(source)
        whole = Path(file).name
        if part and _TABLE.fullmatch(part) and part != (stem := whole.partition(".")[0]):
            part = f"{stem}-{part}"
    else:
        parts = _split(source)
        part, whole = parts.fragment, re.sub(r"[^\w.-]", "_", PurePosixPath(unquote(parts.path)).name)
    return (part if part and _TABLE.fullmatch(part) else whole.partition(".")[0]) or "table"


def scheme_of(source: str) -> str | None:
    """Return what stands before :// in an address, or None if this is none."""
    found = _SCHEME.match(source)
    return found[1].lower() if found else None


def _split(source: str) -> SplitResult:
    """Take an address apart. Raises `UsageError` without quoting it, as a part of a password may be anywhere in it."""
    try:
        parts = urlsplit(source)
        behind = parts.path or f"{parts.query}{parts.fragment}"
        if parts.port is not None and "@" not in parts.netloc and "@" in behind:
            raise ValueError("a password with a /, ? or # in it")
    except ValueError as error:
        raise UsageError(
            f"{scheme_of(source)}://…: the address cannot be read. In a password, write /, ?, #, @ and : as %2F, %3F, "
            "%23, %40 and %3A; or set PGPASSWORD. A port is a number up to 65535."
        ) from error
    if not parts.netloc and parts.scheme not in _DATABASES:
        raise UsageError(f"{quoted(source)} names no server")
    return parts


def _joined(parts: SplitResult) -> str:
    """Return the address; `urlunsplit` would drop the slashes of one without a server."""
    query, fragment = (f"{mark}{part}" if part else "" for mark, part in (("?", parts.query), ("#", parts.fragment)))
    return f"{parts.scheme}://{parts.netloc}{parts.path}{query}{fragment}"


def _file_and_part(source: str) -> tuple[str, str | None]:
    """Split `FILE#PART` (see `split_part`). The part may be a statement, so it stays as it was typed."""
    file, part = split_part(Path(source))
    if part is None:
        return source, None
    end = next(place for place, character in enumerate(source) if character == MARK and Path(source[:place]) == file)
    return source[:end], source[end + 1 :]


def _is_in_database(source: str) -> bool:
    file = Path(_file_and_part(source)[0])
    return file.suffix.lower() in _FILES and exists(file) and file.is_file()


def _suffix(source: str) -> str:
    """Return the extension of the local file. A database is read into Parquet; a folder has none."""
    if scheme_of(source) not in _REMOTE:
        return ".parquet"
    path = PurePosixPath(unquote(_split(source).path))
    if source.endswith("/"):
        return ""
    if not path.suffix:
        raise UsageError(
            f"{source}: the address ends without the name of a file, such as tickets.csv, so its format is not known. "
            "Download it, and name the file." + (f" A folder ends with /: {source}/" if source[:2] == "s3" else "")
        )
    return re.sub(r"[^\w.]", "_", "".join(path.suffixes))


def _read_database(source: str, place: Path) -> None:
    from glassformer.data.databases import read_file, read_postgresql

    if scheme_of(source) is None:
        file, part = _file_and_part(source)
        read_file(Path(file), part, place)
        return
    parts = _split(source)
    name = _joined(parts._replace(fragment=""))
    given = {"host": parts.hostname, "port": parts.port, "user": parts.username, "dbname": parts.path.lstrip("/")}
    settings = dict(parse_qsl(parts.query))
    settings |= {setting: unquote(str(value)) for setting, value in given.items() if value}
    if (password := _passwords.get((parts.scheme, parts.netloc))) is not None:
        settings["password"] = password
    read_postgresql(settings, parts.fragment or None, place, name)


def _fetch(source: str, place: Path) -> None:

    def progress(done: int, total: int | None) -> None:
        of = f" of {total / 1e6:,.1f}" if total else ""
        for tell in _watchers:
            tell(f"reading {source}: {done / 1e6:,.1f}{of} MB")

    if scheme_of(source) == "s3":
        from glassformer.data.objects import fetch_object

        fetch_object(source, place, progress)
        return
    parts = _split(source)
    if scheme_of(source) not in _REMOTE:
        raise UsageError(
            f"{scheme_of(source)}:// is not read; a table is a file, or an address that begins with "
            "postgresql://, s3:// or https://"
        )
    if not is_safe(source):
        raise UsageError(
            f"{source}: over http:// anybody on the way can read the table and change it; write https://, or download "
            "it and name the file"
        )
    login = (unquote(parts.username), _passwords.get((parts.scheme, parts.netloc), "")) if parts.username else None
    url = _joined(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=_queries.get(source, ""), fragment=""))
    fetch(url, place, progress, otherwise=_AGAIN, login=login)
