import hashlib
import io
import tarfile
import zipfile
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import polars as pl
import pytest

from glassformer.data import unpacking
from glassformer.data.download import fetch
from glassformer.data.known import KNOWN, download, resolve
from glassformer.errors import GlassformerError, UsageError

TWEETS = '"0","11","Mon Apr 06","NO_QUERY","someone","caf\xe9, ""no"""\n"4","12","Tue","q","other","yes"\n'.encode(
    "latin-1"
)
MANUAL = b'"4","3","Mon","kindle2","a","love it"\n"2","4","Mon","jquery","b","so so"\n"0","5","Mon","x","c","hate it"\n'


def silent(_done: int, _total: int | None) -> None:
    """No progress is shown."""


def imdb_archive(path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:

        def add(name: str, content: str) -> None:
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            archive.addfile(member, io.BytesIO(content.encode()))

        add("../outside.txt", "never written")
        for split in ("test", "train"):
            for kind, rating in {"pos": 9, "neg": 2}.items():
                for number in (10, 2, *range(2), *range(3, 10)):
                    add(f"aclImdb/{split}/{kind}/{number}_{rating}.txt", f"{split} {kind} {number} é")
                addresses = (f"http://www.imdb.com/title/tt{number:03}/usercomments\n" for number in range(11))
                add(f"aclImdb/{split}/urls_{kind}.txt", "".join(addresses))
        add("aclImdb/train/unsup/0_0.txt", "unrated")
        add("aclImdb/train/urls_unsup.txt", "http://www.imdb.com/title/tt777/usercomments\n")


def tweets_archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../outside.txt", "never written")
        archive.writestr("training.1600000.processed.noemoticon.csv", TWEETS)
        archive.writestr("testdata.manual.2009.06.14.csv", MANUAL)


def publish(monkeypatch: pytest.MonkeyPatch, name: str, path: Path) -> None:
    checksum = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    monkeypatch.setitem(KNOWN, name, replace(KNOWN[name], source_url=path.as_uri(), checksum=checksum))


def test_imdb_is_laid_out_in_the_order_of_its_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imdb_archive(tmp_path / "a.tar.gz")
    publish(monkeypatch, "imdb", tmp_path / "a.tar.gz")
    folder = download("imdb", tmp_path / "data", progress=silent)
    assert folder == tmp_path / "data" / "imdb"
    assert sorted(path.name for path in folder.iterdir()) == ["test.parquet", "train.parquet", "unsup.parquet"]
    train = pl.read_parquet(folder / "train.parquet")
    assert train.row(2) == ("train neg 2 é", 0, 2, "tt002", "train/neg/2_2.txt")
    assert train.row(-1) == ("train pos 10 é", 1, 9, "tt010", "train/pos/10_9.txt")
    assert pl.read_parquet(folder / "unsup.parquet").rows() == [("unrated", -1, 0, "tt777", "train/unsup/0_0.txt")]
    assert resolve("imdb", "test", tmp_path / "data").frame["label"].to_list() == ["negative"] * 11 + ["positive"] * 11
    assert not list(tmp_path.rglob("outside.txt"))


def test_sentiment140_is_laid_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tweets_archive(tmp_path / "a.zip")
    publish(monkeypatch, "sentiment140", tmp_path / "a.zip")
    folder = download("sentiment140", tmp_path, progress=silent)
    train = pl.read_parquet(folder / "train.parquet")
    assert train.rows() == [('café, "no"', 0, 11, "Mon Apr 06"), ("yes", 1, 12, "Tue")]
    assert pl.read_parquet(folder / "manual498.parquet")["label"].to_list() == [1, -1, 0]
    assert resolve("sentiment140", "test", tmp_path).frame["label"].to_list() == ["positive", "negative"]
    assert not list(tmp_path.rglob("outside.txt"))


def test_zhou_is_read_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "data.py"
    source.write_text("train_data = {'good': True}\nraise SystemExit\ntest_data = {'not good': False}\n")
    unpack = partial(download, "zhou", tmp_path, progress=silent, from_file=source)
    with pytest.raises(GlassformerError, match="58 training and 20 test rows"):
        unpack()
    rows = b'[{"good": true}, {"not good": false}]'
    monkeypatch.setattr(unpacking, "ZHOU_ROWS", hashlib.sha256(rows).hexdigest())
    assert pl.read_parquet(unpack() / "test.parquet").rows() == [("not good", 0)]
    source.write_text("train_data = {__import__('os').getcwd(): True}\n")
    with pytest.raises(GlassformerError, match="malformed"):
        unpack()


def test_disaster_tweets_come_from_a_file_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "train.csv"
    source.write_text('id,keyword,location,text,target\n1,,,"fire, there",1\n4,a,b,a fire of love,0\n')
    with pytest.raises(UsageError, match=r"account.*`from_file='train\.csv'`"):
        download("disaster-tweets", tmp_path, progress=silent)
    with pytest.raises(GlassformerError, match=r"train\.csv is not the published file.*sha256"):
        download("disaster-tweets", tmp_path, progress=silent, from_file=source)
    assert source.exists()
    checksum = f"sha256:{hashlib.sha256(source.read_bytes()).hexdigest()}"
    monkeypatch.setitem(KNOWN, "disaster-tweets", replace(KNOWN["disaster-tweets"], checksum=checksum))
    folder = download("disaster-tweets", tmp_path, progress=silent, from_file=source)
    assert pl.read_parquet(folder / "train.parquet").row(0) == ("1", "", "", "fire, there", "1", 1)
    assert source.exists()


def test_another_file_is_refused_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tweets_archive(tmp_path / "a.zip")
    publish(monkeypatch, "sentiment140", tmp_path / "a.zip")
    (tmp_path / "a.zip").write_bytes(b"something else")
    with pytest.raises(GlassformerError, match="not the published file, or it is damaged"):
        download("sentiment140", tmp_path / "data", progress=silent)
    assert not list((tmp_path / "data" / "sentiment140").iterdir())


@pytest.mark.parametrize(
    ("name", "from_file", "message"),
    [
        ("imbd", None, "not a known data set.*Did you mean 'imdb'"),
        ("polarity", None, "generated when it is used"),
        ("imdb", Path("nowhere.tar.gz"), r"No such file: nowhere\.tar\.gz"),
    ],
)
def test_what_cannot_be_got(tmp_path: Path, name: str, from_file: Path | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        download(name, tmp_path, progress=silent, from_file=from_file)


class Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/missing" else 200)
        self.send_header("Content-Length", "600000")
        self.end_headers()
        self.wfile.write(b"x" * (600_000 if self.path == "/whole" else 7))

    def log_message(self, *args: object) -> None:
        pass


def test_fetching_reports_progress_and_failures(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}"
        target = tmp_path / "a.part"
        seen: list[tuple[int, int | None]] = []
        fetch(f"{root}/whole", target, lambda done, total: seen.append((done, total)), otherwise="Try again.")
        assert target.stat().st_size == 600_000
        assert seen[-1] == (600_000, 600_000)
        assert len(seen) > 1
        for path, message in {"missing": "404", "short": "after 7 of 600,000 bytes"}.items():
            with pytest.raises(GlassformerError, match=f"{path} could not be downloaded: .*{message}.*Try again"):
                fetch(f"{root}/{path}", target, silent, otherwise="Try again.")
            assert not target.exists()
        server.shutdown()
    with pytest.raises(GlassformerError, match="could not be downloaded"):
        fetch(f"{root}/whole", target, silent, otherwise="Try again.")
