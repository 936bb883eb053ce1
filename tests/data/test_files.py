import errno
import os
import platform
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.cli.writers import check_folder
from glassformer.data.files import aside_of, folder_written_aside, put_back_folder, written_aside
from glassformer.data.locks import LOCK_FILE
from glassformer.errors import UsageError
from glassformer.experiments.search.search import check_out
from glassformer.experiments.variants.comparison import prepare_folder
from glassformer.words.new_words import check_new


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_there_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with written_aside(path) as aside:
        aside.write_text("after")
        assert path.read_text() == "before"
    assert [file.read_text() for file in tmp_path.iterdir()] == ["after"]


def test_nothing_changes_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError), written_aside(path) as aside:
        aside.write_text("half, then \ud800", encoding="utf-8")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["before"]


def test_an_error_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "a.txt"
    with pytest.raises(FileNotFoundError) as caught, written_aside(path):
        pass
    assert caught.value.filename == str(path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("write", [pl.DataFrame.write_parquet, pl.DataFrame.write_csv, pl.DataFrame.write_ndjson])
def test_a_full_disk_is_an_error_of_the_system_whichever_library_meets_it(
    tmp_path: Path, write: Callable[[pl.DataFrame, Any], object]
) -> None:
    def fill() -> None:
        with written_aside(tmp_path / "a") as aside:
            aside.unlink()
            aside.symlink_to("/dev/full")
            with aside.open("wb") as file:
                write(pl.DataFrame({"a": [1]}), file)

    with pytest.raises(OSError, match=re.escape(f"No space left on device: '{tmp_path / 'a'}'")) as raised:
        fill()
    assert raised.value.errno == errno.ENOSPC
    assert [*tmp_path.iterdir()] == []


def test_a_new_file_is_private_and_an_old_one_stays_as_it_was(tmp_path: Path) -> None:
    with written_aside(tmp_path / "new") as aside:
        assert permissions(aside) == 0o600  # before the first byte is written
        aside.write_text("texts")
    assert permissions(tmp_path / "new") == 0o600
    (tmp_path / "new").chmod(0o640)
    with written_aside(tmp_path / "new") as aside:
        aside.write_text("other texts")
    assert permissions(tmp_path / "new") == 0o640


def test_what_a_killed_process_left_goes_and_what_a_running_one_writes_stays(tmp_path: Path) -> None:
    killed = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from glassformer.data.files import folder_written_aside, written_aside\n"
        "with written_aside(Path(sys.argv[1]) / 'a.txt') as file, folder_written_aside(Path(sys.argv[1]) / 'out'):\n"
        "    file.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", killed, tmp_path], check=False)
    running = tmp_path / f".a.txt.writing-{platform.node()}-{os.getppid()}"
    elsewhere = tmp_path / f".a.txt.writing-{platform.node()}-elsewhere-1"
    running.write_text("half")
    elsewhere.write_text("half")
    assert len(list(tmp_path.iterdir())) == 4
    with written_aside(tmp_path / "a.txt") as file, folder_written_aside(tmp_path / "out") as folder:
        file.write_text("whole")
        (folder / "b.txt").write_text("whole")
    assert set(tmp_path.iterdir()) == {running, elsewhere, tmp_path / "a.txt", tmp_path / "out"}


def test_no_process_gets_a_signal_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("it got a Ctrl-C"))
    left = tmp_path / f".a.txt.writing-{platform.node()}-{os.getppid()}"
    left.write_text("half")
    with written_aside(tmp_path / "a.txt") as file:
        file.write_text("whole")
    assert left.exists()


@pytest.mark.parametrize(
    "check",
    [
        check_new,
        prepare_folder,
        partial(check_folder, ours="findings.json"),
        partial(check_out, resume=False, overwrite=False),
    ],
    ids=["learn-word", "compare-variants", "doctor", "search"],
)
def test_what_a_killed_process_left_in_a_folder_does_not_fill_it(check: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).touch()
    aside_of(tmp_path / "model").mkdir()
    check(tmp_path)
    (tmp_path / "mine").touch()
    if check != prepare_folder:  # it has made its folder
        with pytest.raises(UsageError):
            check(tmp_path)


@pytest.mark.parametrize("moves", [1, 2])
def test_a_folder_that_a_killed_process_was_replacing_is_back_or_gone(tmp_path: Path, moves: int) -> None:
    killed = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom glassformer.data.files import folder_written_aside\n"
        "replace, moves = Path.replace, int(sys.argv[2])\n"
        "def stopped(path, other):\n    global moves\n    replace(path, other)\n    moves -= 1\n"
        "    if not moves:\n        os.kill(os.getpid(), signal.SIGKILL)\nPath.replace = stopped\n"
        "with folder_written_aside(Path(sys.argv[1]) / 'out') as folder:\n    (folder / 'new').touch()"
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    subprocess.run([sys.executable, "-c", killed, tmp_path, str(moves)], check=False)
    with pytest.raises(ZeroDivisionError), folder_written_aside(tmp_path / "out"):
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.rglob("*")] == ["out", ("old", "new")[moves - 1]]


def test_a_folder_is_put_back_where_a_link_leads(tmp_path: Path) -> None:
    aside_of(tmp_path / "out", ".replaced-").mkdir()
    for link, other in (("best", "out"), ("loop", "loop")):
        (tmp_path / link).symlink_to(other)
        put_back_folder(tmp_path / link)
    assert (tmp_path / "best").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "loop", "out"]


@pytest.mark.parametrize("moves", [1, 2])
def test_a_folder_whose_replacing_is_stopped_is_the_old_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    replace, left = Path.replace, [moves]

    def stopped(path: Path, other: Path) -> None:
        replace(path, other)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt), folder_written_aside(tmp_path / "out") as folder:
        (folder / "new").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", ("old", "new")[moves - 1]]


@pytest.mark.parametrize("name", ["a" * 255, "é" * 127, "a" * 230, "a" * 151])
def test_names_as_long_as_they_may_be(tmp_path: Path, name: str) -> None:
    """The hidden name is longer than the one that it stands for."""
    for written in ("before", "after"):
        with written_aside(tmp_path / name) as file:
            file.write_text(written)
        assert [path.read_text() for path in tmp_path.iterdir()] == [written]
    (tmp_path / name).unlink()
    for written in ("before", "after"):
        with folder_written_aside(tmp_path / name) as folder:
            (folder / written).touch()
        assert [path.name for path in tmp_path.rglob("*")] == [name, written]
    assert len({aside_of(tmp_path / (name[:-1] + last)) for last in "xyz"}) == 3


def test_folders_above_one_that_was_not_written_go_again(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for place in ("a/b/c", "mine/b/c"):
        with pytest.raises(ZeroDivisionError), folder_written_aside(tmp_path / place) as folder:
            (folder / "half").write_text(str(1 // 0))
    assert [*tmp_path.rglob("*")] == [tmp_path / "mine"]
    with folder_written_aside(tmp_path / "a/b/c") as folder:
        (folder / "whole").touch()
    assert (tmp_path / "a/b/c/whole").exists()


def test_a_link_in_the_place_of_the_hidden_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    aside_of(tmp_path / "a.txt").symlink_to(tmp_path / "mine")
    with written_aside(tmp_path / "a.txt") as aside:
        aside.write_text("texts")
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "a.txt").is_symlink()
