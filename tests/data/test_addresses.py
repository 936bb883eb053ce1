import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassformer.data import addresses
from glassformer.data.addresses import beside, local_path, name_in, watch, without_password
from glassformer.data.documents import read_documents
from glassformer.data.known import check_source, resolve
from glassformer.data.sources import SourceConfig, read_sources
from glassformer.data.splits import ValidationConfig
from glassformer.errors import GlassformerError, UsageError, as_named
from tests.data.fetched import nothing_fetched  # noqa: F401
from tests.data.object_store import OBJECTS, environment, serving

Seen = list[tuple[str, str | None]]


@pytest.fixture
def server() -> Iterator[tuple[str, Seen]]:
    with serving() as running:
        yield running


@pytest.fixture
def bucket(server: tuple[str, Seen], monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip("obstore")
    for name, value in environment(server[0]).items():
        monkeypatch.setenv(name, value)
    return "s3://bucket"


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("postgresql://me:s3cret@host:5432/shop#tickets", "postgresql://me@host:5432/shop#tickets"),
        ("postgres://me:s3c%40ret@host/shop", "postgres://me@host/shop"),
        ("postgresql://me:s3c@ret@host/shop", "postgresql://me@host/shop"),
        (
            "postgresql://host/shop?user=me&password=s3cret&sslmode=require",
            "postgresql://host/shop?user=me&sslmode=require",
        ),
        ("postgresql:///shop#SELECT '@' AS a", "postgresql:///shop#SELECT '@' AS a"),
        ("https://me:s3cret@host/a.csv", "https://me@host/a.csv"),
        ("https://host/a.csv?X-Amz-Signature=s3cret", "https://host/a.csv"),
        ("s3://bucket/a b?c.csv", "s3://bucket/a b?c.csv"),
        ("tickets.csv", "tickets.csv"),
        ("C:\\tickets.csv", "C:\\tickets.csv"),
    ],
)
def test_what_is_secret_leaves_an_address(source: str, kept: str) -> None:
    assert without_password(source) == kept
    assert without_password(kept) == kept
    assert as_named(f"reading {source}: done") == f"reading {kept}: done"


@pytest.mark.parametrize(
    "source",
    [
        "postgresql://me:s3c#ret@host/shop",
        "postgresql://me:12#34@host/shop",
        "postgresql://me:12/34@host/shop",
        "postgresql://me:12?34@host/shop",
        "s3://s3cret:12@bucket/a.csv",
        "mysql://me:s3cret@host/shop",
        "postgresql://host/shop?sslpassword=s3cret",
    ],
)
def test_an_address_that_is_refused_is_not_quoted(source: str) -> None:
    with pytest.raises(UsageError) as raised:
        local_path(source)
    assert not any(part in str(raised.value) for part in ("s3c", "ret", "12", "34"))


def test_two_addresses_that_differ_by_a_secret_alone_are_not_confused() -> None:
    without_password("https://host/two.csv?split=train")
    with pytest.raises(UsageError, match="cannot be told apart"):
        without_password("https://host/two.csv?split=test")


@pytest.mark.parametrize(
    ("source", "name", "file"),
    [
        ("data/tickets.v2.csv", "tickets", "data/tickets-x.csv"),
        ("postgresql://host/shop#old.tickets", "old.tickets", "old.tickets-x.csv"),
        ("postgresql://host/shop#SELECT 1 / 2", "shop", "shop-x.csv"),
        ("s3://bucket/shards/", "shards", "shards-x.csv"),
        ("https://host/..%2f..%2fa.csv", "a", "a-x.csv"),
        ("https://host/", "table", "table-x.csv"),
    ],
)
def test_names_of_files_made_of_an_address(source: str, name: str, file: str) -> None:
    assert name_in(source) == name
    assert beside(source, "-x.csv") == Path(file)


def test_the_folder_here_has_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert beside(".", "-x") == tmp_path.with_name(f"{tmp_path.name}-x")


def test_an_object_is_read_like_a_file_once(bucket: str, server: tuple[str, Seen]) -> None:
    source = f"{bucket}/tickets.csv"
    table = resolve(source, "train")
    assert table.source == source
    assert table.frame["text"].to_list() == ["hello", "bye"]
    check_source(source)
    assert len(server[1]) == 1
    folder = local_path(source).parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with pytest.raises(UsageError, match=f"{source} has no column 'words'"):
        resolve(source, "train", text="words")


def test_a_folder_is_read_as_one_table(bucket: str) -> None:
    table = resolve(f"{bucket}/shards/", "train")
    assert table.frame["text"].to_list() == ["one", "two"]
    assert table.source == f"{bucket}/shards/"
    for key, message in {
        "deep/": "holds the folder 'er'",
        "nothing/": "nothing is there",
        "none.csv": "no such object",
        "shards": "A folder ends with /",
    }.items():
        with pytest.raises(UsageError, match=f"{bucket}/{key}.*{message}"):
            local_path(f"{bucket}/{key}")


def test_a_large_object_arrives_in_pieces(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(addresses, "_watchers", [])
    watch(told.append)
    path = local_path(f"{bucket}/large.csv")
    assert path.stat().st_size == len(OBJECTS["large.csv"])
    assert len(told) > 1
    assert told[-1] == f"reading {bucket}/large.csv: 24.0 of 24.0 MB"


def test_a_bucket_without_credentials(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    with pytest.raises(GlassformerError, match=r"tickets2\.csv could not be fetched: .*403"):
        local_path(f"{bucket}/tickets2.csv")
    for name in ("AWS_SKIP_SIGNATURE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(GlassformerError, match=r"No credentials are set: set AWS_ACCESS_KEY_ID"):
        local_path(f"{bucket}/tickets3.csv")


def test_a_web_address_with_a_login(server: tuple[str, Seen]) -> None:
    root, seen = server
    address = root.replace("//", "//me:s3cret%2Fpw@")
    bare = root.replace("//", "//me@")
    assert resolve(f"{address}/private/tickets.csv", "train").source == f"{bare}/private/tickets.csv"
    assert resolve(f"{root}/signed/tickets.csv?signature=abc", "train").source == f"{root}/signed/tickets.csv"
    assert read_documents(f"{bare}/private/tickets.csv", text="text").texts.to_list() == ["hello", "bye"]
    with pytest.raises(GlassformerError, match=r"moved/.* could not be downloaded: .*not safe"):
        local_path(f"{address}/moved/http://example.org/a.csv")
    elsewhere = root.replace("127.0.0.1", "localhost")
    with pytest.raises(GlassformerError, match="403"):
        local_path(f"{address}/moved/{elsewhere}/private/tickets.csv")
    assert seen[-1][1] is None, "a login is sent to its own server alone"


def test_a_web_address_may_hold_any_letter(server: tuple[str, Seen]) -> None:
    root, seen = server
    for written in ("t\u00e9st 1.csv", "t%C3%A9st%201.csv"):
        assert resolve(f"{root}/open/{written}", "train").frame["text"].to_list() == ["hello", "bye"]
        assert seen[-1][0] == "/open/t%C3%A9st%201.csv"


def test_a_table_with_a_named_encoding_is_fetched_when_it_is_read(server: tuple[str, Seen]) -> None:
    root, seen = server
    source = SourceConfig(train=f"{root}/open/cyrillic.csv", encoding="koi8-r")  # as each model folder holds it
    assert seen == []
    assert read_sources(source, ValidationConfig(), None).train.frame["text"].to_list() == ["привет", "пока"]


def test_what_is_not_fetched() -> None:
    for source, message in {
        "http://example.org/a.csv": "anybody on the way can read the table and change it",
        "https://example.org/a": "its format is not known",
        "gs://bucket/a.csv": "gs:// is not read",
    }.items():
        with pytest.raises(UsageError, match=message):
            local_path(source)
    with pytest.raises(UsageError, match="given as a string, not as a path"):
        local_path(Path("s3://bucket/a.csv"))


def test_the_private_folder_is_removed_at_exit(tmp_path: Path) -> None:
    make = "import sqlite3; c = sqlite3.connect('a.db'); c.execute('CREATE TABLE t AS SELECT 1 AS text'); c.commit()"
    read = "from glassformer.data.addresses import local_path; path = local_path('a.db'); print(path, path.is_file())"
    done = subprocess.run([sys.executable, "-c", f"{make}; {read}"], cwd=tmp_path, capture_output=True, check=True)
    place, there = done.stdout.decode().split()
    assert there == "True"
    assert not Path(place).parent.exists()
